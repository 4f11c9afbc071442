//! Typed calls of an asset-VM chain.

use std::net::SocketAddr;

use esker_primitives::codec::Decode;
use esker_primitives::{AssetId, BlockId, Id, ShortId, TxId, hexfmt};
use esker_transactions::xvm::{Block, Tx};
use esker_utxo::Utxo;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::rpc::{CallError, RpcClient};

pub mod reply;

use reply::{
    AddressTxs, AllBalances, AssetDescription, Balance, BlockReply, Height, PageIndex, Status,
    TxFee, TxIdReply, TxReply, UtxoPage, UtxosReply,
};

/// Most UTXOs of a walk.
const MAX_UTXOS: usize = 1 << 20;

/// Calls of one chain, by the specification's names.
#[derive(Debug)]
pub struct XvmClient {
    rpc: RpcClient,
    path: String,
}

impl XvmClient {
    /// A client of the chain with that alias or blockchain ID; nothing is sent yet.
    pub fn new(address: SocketAddr, alias_or_id: &str) -> Self {
        Self::over(RpcClient::new(address), alias_or_id)
    }

    /// A client of that chain over another client.
    pub fn over(rpc: RpcClient, alias_or_id: &str) -> Self {
        Self { rpc, path: format!("/ext/bc/{alias_or_id}") }
    }

    /// Calls any method of the chain's endpoint.
    pub fn call<R: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<R, CallError> {
        self.rpc.call(&self.path, &format!("xvm.{method}"), params)
    }

    /// Height of the last accepted block.
    pub fn get_height(&mut self) -> Result<u64, CallError> {
        Ok(self.call::<Height>("getHeight", json!({}))?.height)
    }

    /// Submits a signed transaction; it is in the mempool when this returns.
    pub fn issue_tx(&mut self, tx: &Tx) -> Result<TxId, CallError> {
        let params = json!({ "tx": hexfmt::encode_checked(tx.bytes()), "encoding": "hex" });
        Ok(self.call::<TxIdReply>("issueTx", params)?.tx_id)
    }

    /// Submits a signed transaction through the wallet endpoint, which assumes that it will be accepted.
    pub fn wallet_issue_tx(&mut self, tx: &Tx) -> Result<TxId, CallError> {
        let path = format!("{}/wallet", self.path);
        let params = json!({ "tx": hexfmt::encode_checked(tx.bytes()), "encoding": "hex" });
        Ok(self.rpc.call::<TxIdReply>(&path, "wallet.issueTx", params)?.tx_id)
    }

    /// Status of a transaction, with the reason where there is one.
    pub fn get_tx_status(&mut self, id: &TxId) -> Result<Status, CallError> {
        self.call("getTxStatus", json!({ "txID": id, "includeReason": true }))
    }

    /// An accepted transaction.
    pub fn get_tx(&mut self, id: &TxId) -> Result<Tx, CallError> {
        let reply: TxReply = self.call("getTx", json!({ "txID": id }))?;
        let bytes = decode_hex(&reply.tx)?;
        Tx::parse_stored(&bytes).map_err(|e| CallError::Unexpected(e.to_string()))
    }

    /// An accepted transaction in JSON.
    pub fn get_tx_json(&mut self, id: &TxId) -> Result<Value, CallError> {
        self.call("getTx", json!({ "txID": id, "encoding": "json" }))
            .map(|reply: Value| reply["tx"].clone())
    }

    /// A block by its ID.
    pub fn get_block(&mut self, id: &BlockId) -> Result<Block, CallError> {
        parse_block(self.call("getBlock", json!({ "blockID": id }))?)
    }

    /// The accepted block at a height.
    pub fn get_block_by_height(&mut self, height: u64) -> Result<Block, CallError> {
        parse_block(self.call("getBlockByHeight", json!({ "height": height.to_string() }))?)
    }

    /// Fees.
    pub fn get_tx_fee(&mut self) -> Result<TxFee, CallError> {
        self.call("getTxFee", json!({}))
    }

    /// Description of an asset, named by ID or alias.
    pub fn get_asset_description(&mut self, asset: &str) -> Result<AssetDescription, CallError> {
        self.call("getAssetDescription", json!({ "assetID": asset }))
    }

    /// Units of an asset that an address alone holds.
    pub fn get_balance(&mut self, address: &str, asset: &str) -> Result<Balance, CallError> {
        self.call("getBalance", json!({ "address": address, "assetID": asset }))
    }

    /// Units of every asset that an address alone holds.
    pub fn get_all_balances(&mut self, address: &str) -> Result<AllBalances, CallError> {
        self.call("getAllBalances", json!({ "address": address }))
    }

    /// Transactions that changed an address' holding of an asset, from position `cursor` on.
    pub fn get_address_txs(
        &mut self,
        address: &str,
        asset: &AssetId,
        cursor: u64,
        page_size: u64,
    ) -> Result<AddressTxs, CallError> {
        let params = json!({
            "address": address, "assetID": asset, "cursor": cursor, "pageSize": page_size,
        });
        self.call("getAddressTxs", params)
    }

    /// One page of UTXOs; those exported by `source_chain` where it is given.
    pub fn get_utxos(
        &mut self,
        addresses: &[String],
        limit: u32,
        start: Option<&PageIndex>,
        source_chain: Option<&str>,
    ) -> Result<UtxoPage, CallError> {
        let mut params = json!({ "addresses": addresses, "limit": limit });
        if let Some(start) = start {
            params["startIndex"] = json!({ "address": start.address, "utxo": start.utxo });
        }
        if let Some(source) = source_chain {
            params["sourceChain"] = json!(source);
        }
        let reply: UtxosReply = self.call("getUTXOs", params)?;
        let utxos = reply.utxos.iter().map(|text| parse_utxo(text)).collect::<Result<_, _>>()?;
        Ok(UtxoPage { utxos, end: reply.end_index })
    }

    /// All pages of `limit`, one after the other, until one is not full. More than 2^20 UTXOs, or a page that begins where
    /// the one before it did, are [`CallError::Unexpected`]: the node could go on without end.
    pub fn walk_utxos(
        &mut self,
        addresses: &[String],
        limit: u32,
        source_chain: Option<&str>,
    ) -> Result<Vec<Utxo>, CallError> {
        let mut all = Vec::new();
        let mut start: Option<PageIndex> = None;
        loop {
            let page = self.get_utxos(addresses, limit, start.as_ref(), source_chain)?;
            let count = page.utxos.len();
            all.extend(page.utxos);
            if u32::try_from(count).is_ok_and(|count| count < limit) {
                return Ok(all);
            }
            if all.len() > MAX_UTXOS || start.as_ref() == Some(&page.end) {
                return Err(CallError::Unexpected("pages of UTXOs without end".to_owned()));
            }
            start = Some(page.end);
        }
    }
}

fn parse_block(reply: BlockReply) -> Result<Block, CallError> {
    Block::parse(&decode_hex(&reply.block)?).map_err(|e| CallError::Unexpected(e.to_string()))
}

/// A UTXO in the form that getUTXOs returns.
fn parse_utxo(text: &str) -> Result<Utxo, CallError> {
    let bytes = decode_hex(text)?;
    Utxo::from_versioned_bytes(&bytes, bytes.len())
        .map_err(|e| CallError::Unexpected(e.to_string()))
}

fn decode_hex(text: &str) -> Result<Vec<u8>, CallError> {
    hexfmt::decode_checked(text).map_err(|e| CallError::Unexpected(e.to_string()))
}

/// The ID by which pages and imports name a UTXO.
pub fn utxo_key(utxo: &Utxo) -> Id {
    utxo.utxo_id.input_id()
}

/// Names an address that is no bech32 text: its bytes in cb58, which every method takes too.
pub fn raw_address(address: &ShortId) -> String {
    address.to_string()
}
