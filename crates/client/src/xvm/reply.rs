//! Replies of the methods.

use std::fmt::Display;
use std::str::FromStr;

use esker_primitives::{AssetId, ChainId, TxId};
use esker_utxo::Utxo;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A number that travels as decimal text.
fn number<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// The reply of `info.getNetworkID`.
#[derive(Clone, Debug, Deserialize)]
pub struct NetworkId {
    /// Number of the network.
    #[serde(rename = "networkID", deserialize_with = "number")]
    pub network_id: u32,
}

/// The reply of `info.getBlockchainID`.
#[derive(Clone, Debug, Deserialize)]
pub struct BlockchainId {
    /// The chain behind the alias.
    #[serde(rename = "blockchainID")]
    pub blockchain_id: ChainId,
}

/// The reply of getHeight.
#[derive(Clone, Debug, Deserialize)]
pub struct Height {
    /// Height of the last accepted block.
    #[serde(deserialize_with = "number")]
    pub height: u64,
}

/// The reply of issueTx.
#[derive(Clone, Debug, Deserialize)]
pub struct TxIdReply {
    /// The transaction.
    #[serde(rename = "txID")]
    pub tx_id: TxId,
}

/// The reply of getTxStatus.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Status {
    /// Accepted, Processing, Rejected or Unknown.
    pub status: String,
    /// The reason why a transaction was rejected.
    pub reason: Option<String>,
}

impl Status {
    /// Whether it is in an accepted block.
    pub fn is_accepted(&self) -> bool {
        self.status == "Accepted"
    }
}

/// The reply of getTx with a hex encoding.
#[derive(Clone, Debug, Deserialize)]
pub struct TxReply {
    /// Checksummed hex of the signed bytes.
    pub tx: String,
}

/// The reply of getBlock with a hex encoding.
#[derive(Clone, Debug, Deserialize)]
pub struct BlockReply {
    /// Checksummed hex of the block's bytes.
    pub block: String,
}

/// The reply of getTxFee.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TxFee {
    /// Nano-units of the fee asset.
    #[serde(deserialize_with = "number")]
    pub tx_fee: u64,
    /// Fee of creating an asset.
    #[serde(deserialize_with = "number")]
    pub create_asset_tx_fee: u64,
}

/// The reply of getAssetDescription.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AssetDescription {
    /// The asset.
    #[serde(rename = "assetID")]
    pub asset_id: AssetId,
    /// Its name.
    pub name: String,
    /// Its symbol.
    pub symbol: String,
    /// Decimal places.
    #[serde(deserialize_with = "number")]
    pub denomination: u32,
}

/// The reply of getBalance.
#[derive(Clone, Debug, Deserialize)]
pub struct Balance {
    /// Units of the asset.
    #[serde(deserialize_with = "number")]
    pub balance: u64,
    /// The outputs that were counted.
    #[serde(rename = "utxoIDs")]
    pub utxo_ids: Vec<UtxoRef>,
}

/// Names an output by its transaction.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct UtxoRef {
    /// The producing transaction.
    #[serde(rename = "txID")]
    pub tx_id: TxId,
    /// Its position.
    #[serde(rename = "outputIndex")]
    pub output_index: u32,
}

/// The reply of getAllBalances.
#[derive(Clone, Debug, Deserialize)]
pub struct AllBalances {
    /// One for each asset.
    pub balances: Vec<AssetBalance>,
}

/// Holding of one asset.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AssetBalance {
    /// Alias or ID.
    pub asset: String,
    /// Units.
    #[serde(deserialize_with = "number")]
    pub balance: u64,
}

/// The reply of getAddressTxs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AddressTxs {
    /// In the order of acceptance.
    #[serde(rename = "txIDs")]
    pub tx_ids: Vec<TxId>,
    /// The start of the next page.
    #[serde(deserialize_with = "number")]
    pub cursor: u64,
}

/// Position in a walk over UTXOs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PageIndex {
    /// Address under which the UTXO was listed.
    pub address: String,
    /// ID of the UTXO.
    pub utxo: String,
}

/// The reply of getUTXOs, as it travels.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct UtxosReply {
    pub(super) utxos: Vec<String>,
    #[serde(rename = "endIndex")]
    pub(super) end_index: PageIndex,
}

/// A page of UTXOs.
#[derive(Clone, Debug)]
pub struct UtxoPage {
    /// In the order of the walk.
    pub utxos: Vec<Utxo>,
    /// The start of the next page.
    pub end: PageIndex,
}
