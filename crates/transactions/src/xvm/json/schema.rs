//! How transactions and blocks look as JSON, for documents.

use esker_primitives::Id;
use esker_utxo::json::schema::{
    InputSchema, OperationSchema, OutputSchema, OwnedSchema, SignedSchema,
};
use schemars::JsonSchema;

/// A transaction with its credentials.
pub type TxSchema = SignedSchema<UnsignedSchema>;

/// What is signed of a transaction; its kind decides which of the last members are there.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "UnsignedTx", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct UnsignedSchema {
    #[schemars(rename = "networkID")]
    network_id: u32,
    #[schemars(rename = "blockchainID")]
    blockchain_id: Id,
    outputs: Vec<OutputSchema>,
    inputs: Vec<InputSchema>,
    /// Hex.
    memo: String,
    #[schemars(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    symbol: Option<String>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    denomination: Option<u8>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    initial_states: Option<Vec<StateSchema>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    operations: Option<Vec<OperationSchema>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    source_chain: Option<Id>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    imported_inputs: Option<Vec<InputSchema>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    destination_chain: Option<Id>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    exported_outputs: Option<Vec<OutputSchema>>,
}

/// What an asset begins with, of one extension.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "AssetInitialState", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
struct StateSchema {
    fx_index: u32,
    #[schemars(rename = "fxID")]
    fx_id: Id,
    outputs: Vec<OwnedSchema>,
}

/// A block.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Block", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct BlockSchema {
    #[schemars(rename = "parentID")]
    parent_id: Id,
    height: u64,
    /// Unix s.
    time: u64,
    merkle_root: Id,
    txs: Vec<TxSchema>,
    id: Id,
}
