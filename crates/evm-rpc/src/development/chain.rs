//! Facts about the chain that anvil serves.

use esker_rpc::RpcError;

use super::{DevelopmentNode, refused};
use crate::net::net_version;
use crate::wire::{BlockNumber, Uint64};

/// The version of the protocol that anvil reports.
const PROTOCOL_VERSION: u64 = 1;

pub(super) fn protocol_version(_: &DevelopmentNode, (): ()) -> Result<u64, RpcError> {
    Ok(PROTOCOL_VERSION)
}

/// Hashes per second: the node doesn't compute any.
pub(super) fn hashrate(_: &DevelopmentNode, (): ()) -> Result<Uint64, RpcError> {
    Ok(Uint64(0))
}

/// Whether a waiting transaction causes a block by itself, as anvil's. Ape waits for receipts only then. Hardhat's node always
/// says false.
pub(super) fn mining(node: &DevelopmentNode, (): ()) -> Result<bool, RpcError> {
    Ok(!node.has_hardhat_answers() && node.controls()?.automine())
}

/// Stack traces that Hardhat's node could not make: this node makes none.
pub(super) fn stack_trace_failures(_: &DevelopmentNode, (): ()) -> Result<u64, RpcError> {
    Ok(0)
}

/// Time of the first block, Unix s.
pub(super) fn genesis_time(node: &DevelopmentNode, (): ()) -> Result<u64, RpcError> {
    let first = node.transact.reads.header_by_number(BlockNumber::Earliest)?;
    first.map(|first| first.header.time).ok_or_else(|| refused("header not found"))
}

/// The ID of the network, as `net_version` shows it.
pub(super) fn network_id(node: &DevelopmentNode, (): ()) -> Result<String, RpcError> {
    net_version(&node.transact.reads)
}
