//! Schemas of traces, for documents. Tracers write traces piece by piece.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::Value;

use crate::wire::{Data, Hash};

/// A call.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub(super) struct CallTrace {
    /// What was called, created or destroyed, with which gas, value and data.
    action: Value,
    /// Why it failed.
    #[schemars(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Gas used, and what was returned; null for a call that failed without returning anything.
    result: Option<Value>,
    /// Number of calls that it made.
    subtraces: u64,
    /// The index of each call on the way to it.
    trace_address: Vec<u64>,
    /// `call`, `create` or `suicide`.
    #[serde(rename = "type")]
    kind: String,
}

/// A call of a transaction in a block.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub(super) struct LocatedTrace {
    #[schemars(flatten)]
    call: CallTrace,
    block_hash: Option<Hash>,
    block_number: u64,
    transaction_hash: Option<Hash>,
    transaction_position: u64,
}

/// The parts of a trace that were asked for.
#[derive(JsonSchema)]
#[schemars(rename = "TraceReplay", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub(super) struct Replay {
    /// What was returned, the code of a new contract, or the data of a revert.
    output: Data,
    /// The changes of accounts.
    state_diff: Option<BTreeMap<String, Value>>,
    trace: Vec<CallTrace>,
    /// The code with its instructions.
    vm_trace: Option<Value>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    transaction_hash: Option<Hash>,
}
