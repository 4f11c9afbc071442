//! Blocks on request, and the removal of waiting transactions.

use std::borrow::Cow;
use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm::control::{ControlError, Interval, MAX_BLOCKS};
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_go_json::{Document, Kind};
use esker_rpc::{CallNotes, RpcError, off_thread};

use super::numbers::Number;
use super::{DevelopmentNode, Done, refused};
use crate::evm::full_blocks;
use crate::wire::{Addr, BlockReply, Hash};

/// Most blocks of a reply that shows their transactions.
const MAX_DETAILED_BLOCKS: u64 = 256;

/// The argument of `evm_mine`: a timestamp, or an object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MineOptions {
    timestamp: Option<Number>,
    blocks: Option<Number>,
}

impl MineOptions {
    /// One if it is not given.
    fn number_of_blocks(&self, most: u64) -> Result<u64, RpcError> {
        let blocks = self.blocks.map_or(Ok(1), |blocks| blocks.to_u64("number of blocks"))?;
        if blocks > most {
            return Err(refused(ControlError::Blocks { blocks, most }));
        }
        Ok(blocks)
    }
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

/// The argument of `evm_setIntervalMining`: a number, or the least and the greatest of a choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntervalNumbers(Number, Number);

impl IntervalNumbers {
    /// The interval for numbers of so many milliseconds; `None` for 0.
    fn to_interval(self, unit_ms: u64) -> Result<Option<Interval>, RpcError> {
        let ms =
            |number: Number| number.to_u64("interval").map(|number| number.saturating_mul(unit_ms));
        let (least_ms, most_ms) = (ms(self.0)?, ms(self.1)?);
        if most_ms == 0 {
            return Ok(None);
        }
        let interval = Interval::between_ms(least_ms, most_ms);
        interval.map(Some).ok_or_else(|| {
            RpcError::new(format!(
                "the least interval {} is greater than the greatest {}",
                self.0.0, self.1.0
            ))
        })
    }
}

esker_rpc::schema!(IntervalNumbers, "IntervalNumbers", {
    "title": "interval or interval bounds",
    "description": "The interval of blocks, 0 for none; or the least and the greatest. In seconds, or with the setting \
                    `interval-in-ms` in milliseconds.",
    "anyOf": [
        { "type": "integer", "minimum": 0 },
        { "type": "string", "pattern": "^([0-9]+|0x[0-9a-fA-F]+)$" },
        { "type": "array", "items": { "type": ["integer", "string"] }, "minItems": 2, "maxItems": 2 },
    ],
});

impl Argument for IntervalNumbers {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("interval")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if value.kind() != Kind::Array {
            return Number::decode(value).map(|number| Self(number, number));
        }
        match Vec::<Number>::decode(value)?[..] {
            [least, most] => Ok(Self(least, most)),
            _ => Err(ArgumentError::text(
                "expected two numbers: the least and the greatest".to_owned(),
            )),
        }
    }
}

/// Makes blocks, the first of them at a time of its own. `0x0`, as anvil replies, or Hardhat's `0`.
pub(super) async fn evm_mine(
    node: Arc<DevelopmentNode>,
    (options,): (Option<MineOptions>,),
    notes: CallNotes,
) -> Result<&'static str, RpcError> {
    let options = options.unwrap_or_default();
    let blocks = options.number_of_blocks(MAX_BLOCKS)?;
    make_blocks(&node, options.timestamp, blocks, &notes).await?;
    Ok(if node.has_hardhat_answers() { "0" } else { "0x0" })
}

/// Like [`evm_mine`], but replies with the blocks and their transactions.
pub(super) async fn mine_detailed(
    node: Arc<DevelopmentNode>,
    (options,): (Option<MineOptions>,),
    notes: CallNotes,
) -> Result<Vec<BlockReply>, RpcError> {
    let options = options.unwrap_or_default();
    let blocks = options.number_of_blocks(MAX_DETAILED_BLOCKS)?;
    let first = make_blocks(&node, options.timestamp, blocks, &notes).await?;
    let shown = move || full_blocks(&node.transact.reads, first..first.saturating_add(blocks));
    off_thread(shown).await.map_err(refused)?
}

/// Makes blocks, the first of them at this time. Returns the height of the first one.
async fn make_blocks(
    node: &DevelopmentNode,
    timestamp: Option<Number>,
    blocks: u64,
    notes: &CallNotes,
) -> Result<u64, RpcError> {
    let controls = node.controls_to_write()?;
    let mut turn = controls.turn().await.map_err(refused)?;
    if let Some(time) = timestamp.filter(|_| blocks > 0) {
        let (time_s, last_s) = (time.to_u64("timestamp")?, node.last_time_s()?);
        controls.set_next_time(time_s, last_s).map_err(refused)?;
    }
    let first = node.transact.reads.chain.head().header.number.saturating_add(1);
    let mined = turn.mine(blocks, 0, Some(node.mining_patience)).await;
    node.note_blocks(notes);
    mined.map_err(refused)?;
    Ok(first)
}

/// Makes blocks, the first one so many seconds later than it would be, each further one so many later than the one before.
pub(super) async fn mine(
    node: Arc<DevelopmentNode>,
    (blocks, interval): (Option<Number>, Option<Number>),
    notes: CallNotes,
) -> Result<(), RpcError> {
    let blocks = blocks.map_or(Ok(1), |blocks| blocks.to_u64("number of blocks"))?;
    let interval = interval.map_or(Ok(0), |interval| interval.to_u64("interval"))?;
    let controls = node.controls_to_write()?;
    let mut turn = controls.turn().await.map_err(refused)?;
    if interval > 0 {
        // The clock is behind blocks that were made in less than a second each: the interval follows the last of them.
        controls.increase_time(0, node.last_time_s()?).map_err(refused)?;
    }
    let mined = turn.mine(blocks, interval, Some(node.mining_patience)).await;
    node.note_blocks(&notes);
    mined.map_err(refused)
}

/// Like [`mine`], with Hardhat's reply.
pub(super) async fn hardhat_mine(
    node: Arc<DevelopmentNode>,
    arguments: (Option<Number>, Option<Number>),
    notes: CallNotes,
) -> Result<bool, RpcError> {
    mine(node, arguments, notes).await.map(|()| true)
}

pub(super) fn get_automine(node: &DevelopmentNode, (): ()) -> Result<bool, RpcError> {
    Ok(node.controls()?.automine())
}

pub(super) fn set_automine(node: &DevelopmentNode, (automine,): (bool,)) -> Result<Done, RpcError> {
    node.controls()?.set_automine(automine);
    Ok(node.done())
}

/// Makes a block at this interval, also an empty one, and none in between; 0 ends it.
pub(super) async fn set_interval_mining(
    node: Arc<DevelopmentNode>,
    (interval,): (IntervalNumbers,),
) -> Result<Done, RpcError> {
    let interval = interval.to_interval(if node.interval_in_ms { 1 } else { 1000 })?;
    node.controls()?.set_interval(interval, false).map_err(refused)?;
    Ok(node.done())
}

/// The interval in whole seconds; null if there is none.
pub(super) fn get_interval_mining(node: &DevelopmentNode, (): ()) -> Result<Option<u64>, RpcError> {
    Ok(node.controls()?.interval().map(|interval| interval.bounds_ms().0 / 1000))
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

/// Hardhat's text.
fn refuse_mined(node: &DevelopmentNode, hash: B256) -> Result<(), RpcError> {
    let reads = &node.transact.reads;
    match reads.chain.location(hash).map_err(crate::error::read_error)? {
        Some(_) => {
            let text = format!("Transaction {hash} cannot be dropped because it's already mined");
            Err(RpcError::with_code(RpcError::INVALID_PARAMS, text))
        }
        None => Ok(()),
    }
}

/// Removes the waiting transactions of an account.
pub(super) fn remove_pool_transactions(
    node: &DevelopmentNode,
    (Addr(account),): (Addr,),
) -> Result<(), RpcError> {
    node.chain.drop_transactions_from(&account);
    Ok(())
}

pub(super) fn drop_all(node: &DevelopmentNode, (): ()) -> Result<(), RpcError> {
    node.chain.drop_all_transactions();
    Ok(())
}
