//! Snapshots of all chains, and the way back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
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

/// The options of a reset.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResetOptions {
    forks: bool,
}

esker_rpc::schema!(ResetOptions, "ResetOptions", {
    "title": "options",
    "description": "An object without `forking`.",
    "type": "object",
});

impl Argument for ResetOptions {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("ResetOptions")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut options = serde_json::from_slice::<serde_json::Map<_, _>>(value.as_bytes())
            .map_err(|_| ArgumentError::text("expected an object"))?;
        let forking = options.remove("forking").unwrap_or_default();
        // viem sends one without an address and a number.
        let forks = match &forking {
            serde_json::Value::Object(members) => members.values().any(|value| !value.is_null()),
            other => !other.is_null(),
        };
        Ok(Self { forks })
    }
}

/// Goes back to the beginning, and forgets all snapshots.
pub(super) async fn reset(
    node: Arc<DevelopmentNode>,
    (options,): (Option<ResetOptions>,),
) -> Result<(), RpcError> {
    node.controls_to_write()?;
    if options.unwrap_or_default().forks {
        return Err(refused(super::header::NO_FORK));
    }
    let reset = async move { node.snapshots.reset().await };
    tokio::spawn(reset).await.map_err(refused)?.map_err(refused)
}

/// Like [`reset`], with Hardhat's reply.
pub(super) async fn hardhat_reset(
    node: Arc<DevelopmentNode>,
    options: (Option<ResetOptions>,),
) -> Result<bool, RpcError> {
    reset(node, options).await.map(|()| true)
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
