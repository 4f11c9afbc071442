//! The JSON form of state tests. Numbers and bytes stay text here ([`crate::text`]).

use std::collections::BTreeMap;

use serde::Deserialize;

/// One test: a state, a block, a transaction with alternatives, and what comes out for each fork.
#[derive(Debug, Deserialize)]
pub(crate) struct Test {
    pub(crate) env: Env,
    pub(crate) pre: BTreeMap<String, PreAccount>,
    pub(crate) transaction: TransactionForm,
    pub(crate) post: BTreeMap<String, Vec<Post>>,
    #[serde(default)]
    pub(crate) config: Config,
}

/// The block.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Env {
    pub(crate) current_coinbase: String,
    pub(crate) current_gas_limit: String,
    pub(crate) current_number: String,
    pub(crate) current_timestamp: String,
    pub(crate) current_difficulty: Option<String>,
    pub(crate) current_random: Option<String>,
    pub(crate) current_base_fee: Option<String>,
    pub(crate) current_excess_blob_gas: Option<String>,
}

/// An account before the transaction.
#[derive(Debug, Deserialize)]
pub(crate) struct PreAccount {
    pub(crate) balance: String,
    pub(crate) code: String,
    pub(crate) nonce: String,
    #[serde(default)]
    pub(crate) storage: BTreeMap<String, String>,
}

/// The transaction. A case selects one of each list by [`Indexes`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TransactionForm {
    pub(crate) data: Vec<String>,
    pub(crate) gas_limit: Vec<String>,
    pub(crate) value: Vec<String>,
    #[serde(default)]
    pub(crate) to: String,
    pub(crate) nonce: String,
    pub(crate) gas_price: Option<String>,
    pub(crate) max_fee_per_gas: Option<String>,
    pub(crate) max_priority_fee_per_gas: Option<String>,
    pub(crate) secret_key: Option<String>,
    pub(crate) sender: Option<String>,
    pub(crate) access_lists: Option<Vec<Option<Vec<AccessItem>>>>,
    pub(crate) blob_versioned_hashes: Option<Vec<String>>,
    pub(crate) max_fee_per_blob_gas: Option<String>,
    pub(crate) authorization_list: Option<Vec<Authorization>>,
}

/// An item of an access list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccessItem {
    pub(crate) address: String,
    #[serde(default)]
    pub(crate) storage_keys: Vec<String>,
}

/// An authorization (EIP-7702).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Authorization {
    pub(crate) chain_id: String,
    pub(crate) address: String,
    pub(crate) nonce: String,
    pub(crate) v: Option<String>,
    pub(crate) y_parity: Option<String>,
    pub(crate) r: String,
    pub(crate) s: String,
}

/// A case of a fork.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Post {
    pub(crate) hash: String,
    pub(crate) logs: String,
    pub(crate) indexes: Indexes,
    pub(crate) txbytes: Option<String>,
    pub(crate) expect_exception: Option<String>,
}

/// Places in the lists of the transaction.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Indexes {
    pub(crate) data: usize,
    pub(crate) gas: usize,
    pub(crate) value: usize,
}

/// The chain.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Config {
    #[serde(alias = "chainId")]
    pub(crate) chainid: Option<String>,
    #[serde(default, rename = "blobSchedule")]
    pub(crate) blob_schedule: BTreeMap<String, BlobSchedule>,
}

/// Limits of blobs of a fork.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlobSchedule {
    pub(crate) target: String,
    pub(crate) max: String,
    pub(crate) base_fee_update_fraction: String,
}
