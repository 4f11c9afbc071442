//! `capabilities`: how far back the node can answer.

use esker_rpc::RpcError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::config::ProofWindow;
use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::{Hash, Uint64};

/// What the node can answer questions about.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CapabilitiesReply {
    head: HeadReply,
    state: ResourceReply,
    tx: ResourceReply,
    logs: ResourceReply,
    receipts: ResourceReply,
    blocks: ResourceReply,
    stateproofs: ResourceReply,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HeadReply {
    number: Uint64,
    hash: Hash,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResourceReply {
    disabled: bool,
    oldest_block: Uint64,
    #[serde(skip_serializing_if = "Option::is_none")]
    delete_strategy: Option<DeleteStrategy>,
}

/// How old data is deleted.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DeleteStrategy {
    #[serde(rename = "type")]
    kind: &'static str,
    retention_blocks: Uint64,
}

/// As much as a node keeps whose blocks begin with `oldest`.
fn kept_from(oldest: u64) -> ResourceReply {
    ResourceReply { disabled: false, oldest_block: Uint64(oldest), delete_strategy: None }
}

/// As [`kept_from`]; only so many blocks back from the head.
fn window(head: u64, oldest: u64, blocks: u64) -> ResourceReply {
    let delete_strategy = DeleteStrategy { kind: "window", retention_blocks: Uint64(blocks) };
    let oldest = oldest.max(head.saturating_sub(blocks));
    ResourceReply { delete_strategy: Some(delete_strategy), ..kept_from(oldest) }
}

pub(super) fn capabilities(reads: &ReadApi, (): ()) -> Result<CapabilitiesReply, RpcError> {
    let head = reads.chain.head();
    let number = head.header.number;
    let first = reads.chain.first_block();
    let oldest_state = reads.chain.oldest_state().map_err(read_error)?;
    let state = match number.saturating_sub(oldest_state) {
        // The states of older blocks were deleted.
        blocks if oldest_state > first => window(number, oldest_state, blocks),
        _ => kept_from(oldest_state),
    };
    let stateproofs = match reads.config.proof_window {
        ProofWindow::Any => state,
        ProofWindow::Blocks(blocks) => window(number, oldest_state, blocks),
    };
    let blocks = kept_from(first);
    Ok(CapabilitiesReply {
        head: HeadReply { number: Uint64(number), hash: Hash(head.hash) },
        state,
        tx: blocks,
        logs: blocks,
        receipts: blocks,
        blocks,
        stateproofs,
    })
}
