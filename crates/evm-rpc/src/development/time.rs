//! The clock of the chains. It moves after the blocks that were requested before.

use std::sync::Arc;

use esker_evm::control::ControlError;
use esker_evm::runs::LogSwitch;
use esker_primitives::clock::Clock as _;
use esker_rpc::{CallNotes, RpcError};
use schemars::JsonSchema;
use serde::Serialize;

use super::numbers::Number;
use super::{DevelopmentNode, refused};

/// How far the clock is ahead of the node's, s: a number as anvil's, or a text as Hardhat's.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum ClockOffset {
    Number(i64),
    Text(String),
}

/// Moves the clock forward. The reply is how far it is ahead of the node's, s.
pub(super) async fn increase_time(
    node: Arc<DevelopmentNode>,
    (seconds,): (Number,),
) -> Result<ClockOffset, RpcError> {
    let seconds = seconds.to_u64("number of seconds")?;
    let controls = node.controls()?;
    let _turn = controls.turn().await.map_err(refused)?;
    let offset_s = controls.increase_time(seconds, node.last_time_s()?).map_err(refused)?;
    Ok(match node.has_hardhat_answers() {
        true => ClockOffset::Text(offset_s.to_string()),
        false => ClockOffset::Number(offset_s),
    })
}

/// Sets the clock, Unix s. The reply is how far it moved forward, s.
pub(super) async fn set_time(
    node: Arc<DevelopmentNode>,
    (time,): (Number,),
) -> Result<u64, RpcError> {
    let time_s = time.to_u64("timestamp")?;
    let controls = node.controls()?;
    let _turn = controls.turn().await.map_err(refused)?;
    let before_s = controls.clock().now_s();
    controls.set_time(time_s, node.last_time_s()?).map_err(refused)?;
    Ok(time_s.saturating_sub(before_s))
}

/// The time of the next block, Unix s. Null as anvil's reply, or the time as a text as Hardhat's, whose blocks have all their
/// own second.
pub(super) async fn set_next_time(
    node: Arc<DevelopmentNode>,
    (time,): (Number,),
) -> Result<Option<String>, RpcError> {
    let time_s = time.to_u64("timestamp")?;
    let controls = node.controls()?;
    let _turn = controls.turn().await.map_err(refused)?;
    if node.has_hardhat_answers() && time_s == node.chain.head().header.time {
        return Err(refused(format!(
            "Timestamp {time_s} is equal to the previous block's timestamp"
        )));
    }
    let set = controls.set_next_time(time_s, node.last_time_s()?);
    set.map_err(|error| match error {
        ControlError::TimeBefore { time, .. } if node.transact.reads.config.anvil_answers => {
            let text = format!("Timestamp error: {time} is lower than previous block's timestamp");
            RpcError::with_code(RpcError::INVALID_PARAMS, text)
        }
        error => refused(error),
    })?;
    Ok(node.has_hardhat_answers().then(|| time_s.to_string()))
}

/// From now on each block is so many seconds later than its parent.
pub(super) async fn set_interval(
    node: Arc<DevelopmentNode>,
    (seconds,): (Number,),
) -> Result<(), RpcError> {
    let seconds = seconds.to_u64("interval")?;
    let controls = node.controls()?;
    let _turn = controls.turn().await.map_err(refused)?;
    let (parent_s, last_s) = (node.chain.head().header.time, node.last_time_s()?);
    controls.set_timestamp_interval(seconds, parent_s, last_s).map_err(refused)
}

/// Ends the interval; false if there was none.
pub(super) async fn remove_interval(node: Arc<DevelopmentNode>, (): ()) -> Result<bool, RpcError> {
    let controls = node.controls()?;
    let _turn = controls.turn().await.map_err(refused)?;
    Ok(controls.remove_timestamp_interval(node.last_time_s()?))
}

/// Whether blocks and failed calls are shown on the screen.
pub(super) async fn set_logging(
    node: Arc<DevelopmentNode>,
    (is_on,): (bool,),
    notes: CallNotes,
) -> Result<(), RpcError> {
    node.controls()?.set_logging(is_on);
    notes.set(LogSwitch(is_on));
    Ok(())
}

/// Like [`set_logging`], with Hardhat's reply.
pub(super) async fn hardhat_set_logging(
    node: Arc<DevelopmentNode>,
    is_on: (bool,),
    notes: CallNotes,
) -> Result<bool, RpcError> {
    set_logging(node, is_on, notes).await.map(|()| true)
}
