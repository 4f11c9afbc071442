//! Proofs of state (docs/protocol/c-chain-rpc.md, "Proofs").

use alloy_primitives::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Addr, Big, Data, Hash, StorageKey, Uint64};

/// An account with its proof.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProofReply {
    /// The account.
    pub address: Addr,
    /// Nodes of the state trie on the way to the account, from the root down.
    pub account_proof: Vec<Data>,
    /// Wei.
    pub balance: Big,
    /// Hash of the code; zero for an account that is not there.
    pub code_hash: Hash,
    /// Transactions sent.
    pub nonce: Uint64,
    /// Root of the storage trie; zero for an account that is not there.
    pub storage_hash: Hash,
    /// One for each requested key.
    pub storage_proof: Vec<StorageProofReply>,
}

/// A slot with its proof.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StorageProofReply {
    /// The key.
    pub key: StorageKey,
    /// The value that contract code reads at the key.
    pub value: Big,
    /// Nodes of the storage trie on the way to the key as it was given, from the root down.
    pub proof: Vec<Data>,
}

/// Nodes of a proof.
pub(crate) fn nodes(nodes: Vec<Bytes>) -> Vec<Data> {
    nodes.into_iter().map(Data).collect()
}
