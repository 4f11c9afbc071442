//! The blocks of a query, and the errors of its range.

use std::ops::RangeInclusive;

use esker_rpc::RpcError;

use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::{BlockNumber, BlockPlace, LogBlocks};

fn refused(text: impl Into<String>) -> RpcError {
    RpcError::new(text)
}

fn backwards() -> RpcError {
    refused("invalid block range params")
}

/// The check that getLogs makes before any look-up: it refuses two numbers of which the second is the smaller one.
pub(super) fn check_order(blocks: &LogBlocks) -> Result<(), RpcError> {
    match blocks {
        LogBlocks::Range { from: BlockNumber::Number(from), to: BlockNumber::Number(to) }
            // As in the reference, 0 counts as no number here: an inverted range to 0 is refused with its ends.
            if *to > 0 && from > to =>
        {
            Err(backwards())
        }
        LogBlocks::Range { .. } | LogBlocks::Hash(_) => Ok(()),
    }
}

/// Whether a range has no block, which is no error for Hardhat's node.
fn is_beyond(from: BlockPlace, to: BlockPlace, head: u64) -> bool {
    match (from, to) {
        (BlockPlace::Height(from), BlockPlace::Height(to)) => from > head || from > to,
        (BlockPlace::Height(from), _) => from > head,
        _ => false,
    }
}

/// The heights of the query, up to the head. `None`: no block.
pub(super) fn heights(
    reads: &ReadApi,
    blocks: &LogBlocks,
    max_blocks: u64,
) -> Result<Option<RangeInclusive<u64>>, RpcError> {
    let (from, to) = match blocks {
        LogBlocks::Range { from, to } => (reads.place(*from), reads.place(*to)),
        LogBlocks::Hash(hash) => {
            let height = reads.chain.height_of(*hash).map_err(read_error)?;
            let height = height.ok_or_else(|| refused("unknown block"))?;
            return Ok(Some(height..=height));
        }
    };
    let head = reads.chain.head().header.number;
    if reads.config.hardhat_answers && is_beyond(from, to, head) {
        return Ok(None);
    }
    if !reads.config.allow_unfinalized_queries {
        for (which, end) in [("from", from), ("to", to)] {
            // Tools for development networks ask up to a number that is high enough.
            let is_any = which == "to" && reads.config.is_development;
            if let BlockPlace::Height(height) = end
                && height > head
                && !is_any
            {
                return Err(refused(format!(
                    "requested {which} block {height} after last accepted block {head}"
                )));
            }
        }
    }
    if from == BlockPlace::Pending {
        // There is no pending block, so it has no logs.
        return if to == BlockPlace::Pending { Ok(None) } else { Err(backwards()) };
    }
    let height_of = |end| if let BlockPlace::Height(height) = end { height } else { head };
    let (begin, end) = (height_of(from), height_of(to));
    if begin > end && reads.stands_for_tool() {
        return Ok(None);
    }
    if begin > end {
        return Err(refused(format!("begin block {begin} is greater than end block {end}")));
    }
    // There are no blocks below the genesis, whose number may be high.
    let begin = begin.max(reads.chain.genesis_number());
    if begin > end {
        return Ok(None);
    }
    if max_blocks > 0 && end - begin >= max_blocks {
        return Err(refused(format!(
            "requested too many blocks from {begin} to {end}, maximum is set to {max_blocks}"
        )));
    }
    Ok((begin <= head).then(|| begin..=end.min(head)))
}
