//! Blocks on request, and transactions that are to get into none.

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use alloy_primitives::B256;
use esker_evm::control::{Controls, MAX_BLOCKS};
use esker_go_json::{Document, Kind};
use esker_primitives::clock::Clock;
use esker_rpc::RpcError;
use esker_rpc::args::{Argument, ArgumentError, decode_struct};

use super::numbers::Number;
use super::{DevelopmentNode, refused};
use crate::wire::Hash;

/// What `evm_mine` takes: a timestamp, or an object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MineOptions {
    timestamp: Option<Number>,
    blocks: Option<Number>,
}

esker_rpc::schema!(MineOptions, "MineOptions", {
    "title": "time or options",
    "description": "The time of the first block, Unix seconds; or an object with it and with the number of blocks.",
    "anyOf": [
        { "type": "integer", "minimum": 0 },
        { "type": "string", "pattern": "^([0-9]+|0x[0-9a-fA-F]+)$" },
        {
            "type": "object",
            "properties": { "timestamp": { "type": ["integer", "string"] }, "blocks": { "type": ["integer", "string"] } },
        },
    ],
});

impl Argument for MineOptions {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("MineOptions")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if value.kind() != Kind::Object {
            return Ok(Self { timestamp: Some(Number::decode(value)?), blocks: None });
        }
        let mut options = Self::default();
        decode_struct(
            value,
            "MineOptions",
            &mut [("timestamp", &mut options.timestamp), ("blocks", &mut options.blocks)],
        )?;
        Ok(options)
    }
}

/// Makes blocks, the first of them at a time of its own. `0x0`, as anvil replies.
pub(super) async fn evm_mine(
    node: Arc<DevelopmentNode>,
    (options,): (Option<MineOptions>,),
) -> Result<&'static str, RpcError> {
    let MineOptions { timestamp, blocks } = options.unwrap_or_default();
    let blocks = blocks.map_or(Ok(1), |blocks| blocks.to_u64("number of blocks"))?;
    if blocks > MAX_BLOCKS {
        return Err(refused(esker_evm::control::ControlError::Blocks(blocks)));
    }
    let controls = node.controls_to_write()?;
    if let Some(time) = timestamp.filter(|_| blocks > 0) {
        let (time_s, last_s) = (time.to_u64("timestamp")?, node.last_time_s()?);
        controls.set_next_time(time_s, last_s).map_err(refused)?;
    }
    controls.mine(blocks, 0).await.map_err(refused)?;
    Ok("0x0")
}

/// Makes blocks, each so many seconds later than it would be.
pub(super) async fn mine(
    node: Arc<DevelopmentNode>,
    (blocks, interval): (Option<Number>, Option<Number>),
) -> Result<(), RpcError> {
    let blocks = blocks.map_or(Ok(1), |blocks| blocks.to_u64("number of blocks"))?;
    let interval = interval.map_or(Ok(0), |interval| interval.to_u64("interval"))?;
    node.controls_to_write()?.mine(blocks, interval).await.map_err(refused)
}

pub(super) fn get_automine(node: &DevelopmentNode, (): ()) -> Result<bool, RpcError> {
    Ok(node.controls()?.automine())
}

pub(super) fn set_automine(node: &DevelopmentNode, (automine,): (bool,)) -> Result<(), RpcError> {
    if automine {
        node.interval.stop();
    }
    node.controls()?.set_automine(automine);
    Ok(())
}

/// Blocks at regular times.
#[derive(Debug)]
pub struct IntervalMining {
    /// The node's clock, which controls do not move.
    clock: Arc<dyn Clock>,
    running: esker_primitives::sync::Mutex<Option<(u64, tokio::task::AbortHandle)>>,
}

impl IntervalMining {
    /// None yet. `clock` is the node's, which controls do not move.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let running = esker_primitives::sync::Mutex::new_named("evm.interval-mining", None);
        Self { clock, running }
    }

    pub(super) fn stop(&self) {
        if let Some((_, task)) = self.running.lock().take() {
            task.abort();
        }
    }

    fn start(&self, seconds: u64, controls: &Arc<Controls>) {
        let (clock, controls) = (Arc::clone(&self.clock), Arc::downgrade(controls));
        let task = tokio::spawn(mine_at_intervals(clock, seconds.saturating_mul(1000), controls));
        let old = self.running.lock().replace((seconds, task.abort_handle()));
        if let Some((_, old)) = old {
            old.abort();
        }
    }
}

impl Drop for IntervalMining {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn mine_at_intervals(clock: Arc<dyn Clock>, interval_ms: u64, controls: Weak<Controls>) {
    let mut next_ms = clock.now_ms();
    loop {
        // Ticks that were missed are not made up for.
        next_ms = next_ms.max(clock.now_ms()).saturating_add(interval_ms);
        clock.sleep_until(next_ms).await;
        let Some(controls) = controls.upgrade() else { return };
        if let Err(error) = controls.mine(1, 0).await {
            tracing::warn!(%error, "no block was made at its time");
        }
    }
}

/// Longest interval, s: a year.
const MAX_INTERVAL_S: u64 = 366 * 24 * 3600;

/// Makes a block every so many seconds, also an empty one, and none in between; 0 ends it.
pub(super) async fn set_interval_mining(
    node: Arc<DevelopmentNode>,
    (seconds,): (Number,),
) -> Result<(), RpcError> {
    match seconds.to_u64("interval")? {
        0 => node.interval.stop(),
        seconds if seconds > MAX_INTERVAL_S => {
            return Err(refused(format!(
                "an interval of {seconds} s is too long: at most {MAX_INTERVAL_S}"
            )));
        }
        seconds => {
            node.controls()?.set_automine(false);
            node.interval.start(seconds, node.controls()?);
        }
    }
    Ok(())
}

/// The interval in seconds; null if there is none.
pub(super) fn get_interval_mining(node: &DevelopmentNode, (): ()) -> Result<Option<u64>, RpcError> {
    Ok(node.interval.running.lock().as_ref().map(|(seconds, _)| *seconds))
}

/// Removes a waiting transaction; null if it does not wait.
pub(super) fn anvil_drop(
    node: &DevelopmentNode,
    (Hash(hash),): (Hash,),
) -> Result<Option<Hash>, RpcError> {
    Ok(node.chain.drop_transaction(&hash).then_some(Hash(hash)))
}

/// Removes a waiting transaction; false if it is unknown.
pub(super) fn hardhat_drop(
    node: &DevelopmentNode,
    (Hash(hash),): (Hash,),
) -> Result<bool, RpcError> {
    if !node.chain.drop_transaction(&hash) {
        refuse_mined(node, hash)?;
        return Ok(false);
    }
    Ok(true)
}

/// As Hardhat words it.
fn refuse_mined(node: &DevelopmentNode, hash: B256) -> Result<(), RpcError> {
    let reads = &node.transact.reads;
    match reads.chain.location(hash).map_err(crate::read_error)? {
        Some(_) => {
            Err(refused(format!("Transaction {hash} cannot be dropped because it's already mined")))
        }
        None => Ok(()),
    }
}

pub(super) fn drop_all(node: &DevelopmentNode, (): ()) -> Result<(), RpcError> {
    node.chain.drop_all_transactions();
    Ok(())
}
