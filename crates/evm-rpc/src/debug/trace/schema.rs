//! Schemas of traces, for documents. Tracers write traces piece by piece.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::wire::{Hash, Uint64};

/// A trace: struct logs, or what the tracer that was named returns.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "for documents")]
pub(super) enum Trace {
    Logs(StructLogs),
    Other(serde_json::Value),
}

/// Every instruction of a transaction.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub(super) struct StructLogs {
    gas: u64,
    failed: bool,
    /// Hex digits without prefix.
    return_value: String,
    struct_logs: Vec<StructLog>,
}

/// An instruction.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
struct StructLog {
    pc: u64,
    op: String,
    gas: u64,
    gas_cost: u64,
    depth: u64,
    #[schemars(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    stack: Option<Vec<String>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    return_data: Option<String>,
    /// Words of 32 bytes as hex digits.
    #[schemars(skip_serializing_if = "Option::is_none")]
    memory: Option<Vec<String>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    storage: Option<BTreeMap<String, String>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    refund: Option<u64>,
}

/// The trace of one transaction of a block.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub(super) struct TxTrace {
    tx_hash: Hash,
    #[schemars(skip_serializing_if = "Option::is_none")]
    result: Option<Trace>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The traces of a block, as a subscription has them.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for documents")]
pub(super) struct BlockTrace {
    block: Uint64,
    #[schemars(skip_serializing_if = "Option::is_none")]
    hash: Option<Hash>,
    /// Null for a transaction after one that can't be traced.
    #[schemars(skip_serializing_if = "Option::is_none")]
    traces: Option<Vec<Option<TxTrace>>>,
    /// The reason why there are no further notifications.
    #[schemars(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}
