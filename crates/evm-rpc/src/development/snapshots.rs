//! Snapshots of all chains, and the way back.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_rpc::RpcError;

use super::numbers::Number;
use super::{DevelopmentNode, refused};
use crate::wire::{Hash, Uint64};

/// Takes a snapshot; its ID.
pub(super) async fn take(node: Arc<DevelopmentNode>, (): ()) -> Result<Uint64, RpcError> {
    node.controls()?;
    node.snapshots.take().await.map(Uint64).map_err(refused)
}

/// Goes back to a snapshot; false if there is none of this ID.
pub(super) async fn revert(
    node: Arc<DevelopmentNode>,
    (Number(id),): (Number,),
) -> Result<bool, RpcError> {
    match u64::try_from(id) {
        // A task of its own: a client that goes away leaves nothing half-done.
        Ok(id) => tokio::spawn(async move { node.snapshots.revert(id).await })
            .await
            .map_err(refused)?
            .map_err(refused),
        Err(_) => Ok(false),
    }
}

/// The snapshots by their IDs: height and hash of the last block.
pub(super) fn list(node: &DevelopmentNode) -> BTreeMap<String, (u64, Hash)> {
    let of_chain = node.snapshots.list(&node.chain);
    let shown = |(id, (height, hash))| (format!("{id:#x}"), (height, Hash(hash)));
    of_chain.into_iter().map(shown).collect()
}
