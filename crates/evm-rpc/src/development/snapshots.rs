//! Snapshots of all chains, and the way back.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_rpc::RpcError;

use super::numbers::Number;
use super::{DevelopmentNode, refused};
use crate::wire::{Hash, Uint64};

/// Takes a snapshot; its ID.
pub(super) async fn take(node: Arc<DevelopmentNode>, (): ()) -> Result<Uint64, RpcError> {
    node.controls_to_write()?;
    let take = async move { node.snapshots.take().await };
    tokio::spawn(take).await.map_err(refused)?.map(Uint64).map_err(refused)
}

/// Goes back to a snapshot; false if there is none of this ID.
pub(super) async fn revert(
    node: Arc<DevelopmentNode>,
    (Number(id),): (Number,),
) -> Result<bool, RpcError> {
    node.controls_to_write()?;
    match u64::try_from(id) {
        // A separate task, which completes even if the client disconnects.
        Ok(id) => tokio::spawn(async move { node.snapshots.revert(id).await })
            .await
            .map_err(refused)?
            .map_err(refused),
        Err(_) => Ok(false),
    }
}

/// Takes back the last blocks.
pub(super) async fn rollback(
    node: Arc<DevelopmentNode>,
    (blocks,): (Option<Number>,),
) -> Result<(), RpcError> {
    node.controls_to_write()?;
    let blocks = blocks.map_or(Ok(1), |blocks| blocks.to_u64("number of blocks"))?;
    let rollback = async move { node.snapshots.rollback(&node.chain, blocks).await };
    tokio::spawn(rollback).await.map_err(refused)?.map_err(refused)
}

/// Takes back the blocks after one, by go-ethereum's name and in its form: Ape goes back so.
pub(super) async fn set_head(
    node: Arc<DevelopmentNode>,
    (Uint64(number),): (Uint64,),
) -> Result<(), RpcError> {
    node.controls_to_write()?;
    let set_head = async move { node.snapshots.set_head(&node.chain, number).await };
    tokio::spawn(set_head).await.map_err(refused)?.map_err(refused)
}

/// The snapshots by their IDs: height and hash of the last block.
pub(super) fn list(node: &DevelopmentNode) -> BTreeMap<String, (u64, Hash)> {
    let of_chain = node.snapshots.list(&node.chain);
    let shown = |(id, (height, hash))| (format!("{id:#x}"), (height, Hash(hash)));
    of_chain.into_iter().map(shown).collect()
}
