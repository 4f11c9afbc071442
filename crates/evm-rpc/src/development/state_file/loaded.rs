//! Blocks of a loaded state: the chain does not have them, but they are readable by number, hash and transaction.

use std::sync::Arc;

use alloy_consensus::{Header as EthHeader, Signed, TxEip1559, TxEip2930, TxLegacy};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{B256, Log, LogData, Signature, TxKind};
use esker_evm_state::types::{Block, Header, Receipt, SealedBlock, Transaction};
use thiserror::Error;

use super::form::{Quantity, RawBlock, RawBlockTx, RawHeader, RawMined, RawTx, Text};
use crate::loaded_blocks::LoadedBlock;

/// A number of a block does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum LoadedBlockError {
    #[error("a number of a header has more than 64 bits")]
    Header,
    #[error("a number of a receipt has more than 64 bits")]
    Receipt,
}

impl LoadedBlock {
    /// A block as anvil writes it. `mined` takes what became of the transactions of a block. A transaction of a type that
    /// this chain does not have, or whose receipt is missing, is left out.
    pub(super) fn of_raw(
        raw: RawBlock,
        mined: impl FnOnce(&B256) -> Vec<RawMined>,
    ) -> Result<Self, LoadedBlockError> {
        let header = eth_header(&raw.header).ok_or(LoadedBlockError::Header)?;
        let hash = header.hash_slow();
        let mut mined = mined(&hash);
        mined.sort_by_key(|mined| mined.info.transaction_index);
        let (mut transactions, mut receipts) = (Vec::new(), Vec::new());
        for (index, tx) in (0..).zip(raw.transactions) {
            let at = mined.binary_search_by_key(&index, |mined| mined.info.transaction_index);
            let Some(mined) = at.ok().and_then(|at| mined.get(at)) else { continue };
            let RawBlockTx(tx) = tx;
            let Some(tx) = transaction(*tx, mined.info.transaction_hash.0) else { continue };
            receipts.push(receipt(mined, &tx).ok_or(LoadedBlockError::Receipt)?);
            transactions.push(tx);
        }
        let block = Block { header: own_header(header), transactions, ..Block::default() };
        let size = block.to_bytes().len();
        let block = Arc::new(SealedBlock { block, hash, size });
        Ok(Self { block, receipts: receipts.into() })
    }
}

pub(super) fn eth_header(raw: &RawHeader) -> Option<EthHeader> {
    let hash = |text: &Option<Text<B256>>| text.as_ref().map(|text| text.0);
    let number = |quantity: Option<Quantity>| match quantity {
        Some(quantity) => quantity.to_u64().map(Some),
        None => Some(None),
    };
    Some(EthHeader {
        parent_hash: raw.parent_hash.0,
        ommers_hash: raw.sha3_uncles.0,
        beneficiary: raw.miner.0,
        state_root: raw.state_root.0,
        transactions_root: raw.transactions_root.0,
        receipts_root: raw.receipts_root.0,
        logs_bloom: raw.logs_bloom.0,
        difficulty: raw.difficulty.0,
        number: raw.number.to_u64()?,
        gas_limit: raw.gas_limit.to_u64()?,
        gas_used: raw.gas_used.to_u64()?,
        timestamp: raw.timestamp.to_u64()?,
        extra_data: raw.extra_data.0.clone(),
        mix_hash: raw.mix_hash.0,
        nonce: raw.nonce.0,
        base_fee_per_gas: number(raw.base_fee_per_gas)?,
        withdrawals_root: hash(&raw.withdrawals_root),
        blob_gas_used: number(raw.blob_gas_used)?,
        excess_blob_gas: number(raw.excess_blob_gas)?,
        parent_beacon_block_root: hash(&raw.parent_beacon_block_root),
        requests_hash: hash(&raw.requests_hash),
        ..EthHeader::default()
    })
}

/// A header of Ethereum as one of this chain, for readers; its hash is kept apart.
fn own_header(eth: EthHeader) -> Header {
    Header {
        parent_hash: eth.parent_hash,
        ommers_hash: eth.ommers_hash,
        coinbase: eth.beneficiary,
        state_root: eth.state_root,
        transactions_root: eth.transactions_root,
        receipts_root: eth.receipts_root,
        bloom: eth.logs_bloom,
        difficulty: eth.difficulty,
        number: eth.number,
        gas_limit: eth.gas_limit,
        gas_used: eth.gas_used,
        time: eth.timestamp,
        extra: eth.extra_data,
        mix_digest: eth.mix_hash,
        nonce: eth.nonce,
        base_fee: eth.base_fee_per_gas.map(alloy_primitives::U256::from),
        blob_gas_used: eth.blob_gas_used,
        excess_blob_gas: eth.excess_blob_gas,
        parent_beacon_root: eth.parent_beacon_block_root,
        ..Header::default()
    }
}

/// A header of this chain as one of Ethereum: without the members that Ethereum does not have.
pub(super) fn header_without_extras(own: &Header, parent_hash: B256) -> EthHeader {
    EthHeader {
        parent_hash,
        ommers_hash: own.ommers_hash,
        beneficiary: own.coinbase,
        state_root: own.state_root,
        transactions_root: own.transactions_root,
        receipts_root: own.receipts_root,
        logs_bloom: own.bloom,
        difficulty: own.difficulty,
        number: own.number,
        gas_limit: own.gas_limit,
        gas_used: own.gas_used,
        timestamp: own.time,
        extra_data: own.extra.clone(),
        mix_hash: own.mix_digest,
        nonce: own.nonce,
        base_fee_per_gas: own.base_fee.map(|wei| wei.saturating_to()),
        blob_gas_used: own.blob_gas_used,
        excess_blob_gas: own.excess_blob_gas,
        parent_beacon_block_root: own.parent_beacon_root,
        withdrawals_root: own.withdrawals_root,
        requests_hash: own.requests_hash,
        ..EthHeader::default()
    }
}

/// `None`: a type that this chain does not have, or a number that its transactions can't have.
fn transaction(raw: RawTx, hash: B256) -> Option<Transaction> {
    let to = raw.to.map_or(TxKind::Create, |to| TxKind::Call(to.0));
    let (nonce, gas_limit) = (raw.nonce.to_u64()?, raw.gas.to_u64()?);
    let (value, input) = (raw.value.0, raw.input.0);
    let price = |quantity: Option<Quantity>| quantity.unwrap_or_default().to_u128();
    let chain_id = match raw.chain_id {
        Some(id) => Some(id.to_u64()?),
        None => None,
    };
    let item = |access: super::form::RawAccess| AccessListItem {
        address: access.address.0,
        storage_keys: access.storage_keys.into_iter().map(|key| key.0).collect(),
    };
    let list = AccessList(raw.access_list.unwrap_or_default().into_iter().map(item).collect());
    let v = raw.v.unwrap_or_default().to_u64()?;
    // A legacy transaction's v is 27 or 28, or 35 or 36 plus twice the chain's ID.
    let is_legacy_odd = v >= 27 && v % 2 == 0;
    let parity = raw.y_parity.map_or(v == 1 || is_legacy_odd, |parity| !parity.0.is_zero());
    let signature = Signature::new(raw.r.0, raw.s.0, parity);
    Some(match raw.tx_type.unwrap_or_default().to_u64()? {
        0 => {
            let gas_price = price(raw.gas_price)?;
            let tx = TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input };
            Signed::new_unchecked(tx, signature, hash).into()
        }
        1 => {
            let (chain_id, gas_price) = (chain_id?, price(raw.gas_price)?);
            let access_list = list;
            let tx =
                TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input };
            Signed::new_unchecked(tx, signature, hash).into()
        }
        2 => {
            let tx = TxEip1559 {
                chain_id: chain_id?,
                nonce,
                gas_limit,
                max_fee_per_gas: price(raw.max_fee_per_gas)?,
                max_priority_fee_per_gas: price(raw.max_priority_fee_per_gas)?,
                to,
                value,
                access_list: list,
                input,
            };
            Signed::new_unchecked(tx, signature, hash).into()
        }
        _ => return None,
    })
}

fn receipt(mined: &RawMined, tx: &Transaction) -> Option<Receipt> {
    let log = |log: &super::form::RawLog| Log {
        address: log.address.0,
        data: LogData::new_unchecked(
            log.topics.iter().map(|topic| topic.0).collect(),
            log.data.0.clone(),
        ),
    };
    Some(Receipt {
        tx_type: tx.tx_type() as u8,
        success: !mined.receipt.status.0.is_zero(),
        cumulative_gas_used: mined.receipt.cumulative_gas_used.to_u64()?,
        gas_used: mined.info.gas_used.to_u64()?,
        from: mined.info.from.0,
        contract_address: mined.info.contract_address.as_ref().map(|address| address.0),
        logs: mined.receipt.logs.iter().map(log).collect(),
        state_root: None,
    })
}
