//! Accepted blocks that wait for the call that made them.

use std::collections::VecDeque;
use std::sync::Arc;

use esker_chain::{BlockReport, ChainVm, ExecutedBlock};

use super::super::report;

/// Most entries that wait; the oldest are shown without their call then.
const MAX_WAITING: usize = 32;
/// Blocks with transactions that are kept after their first call has shown them.
const MAX_SHOWN: usize = 8;

/// A block with transactions, and what it is shown with.
#[derive(Clone, Debug)]
pub(super) struct FullBlock {
    pub(super) number: u64,
    pub(super) base_fee: Option<u64>,
    pub(super) report: Arc<BlockReport>,
}

impl FullBlock {
    /// The place of a transaction.
    pub(super) fn position(&self, hash: &str) -> Option<usize> {
        self.report.txs.iter().position(|tx| tx.id == hash)
    }
}

/// Consecutive empty blocks, or one with transactions.
#[derive(Clone, Debug)]
pub(super) enum MadeBlock {
    Empty { first: u64, last: u64, base_fee: Option<u64> },
    Full(FullBlock),
}

impl MadeBlock {
    /// The block, with what it did.
    pub(super) fn new(vm: &dyn ChainVm, block: &ExecutedBlock) -> Self {
        let (number, figures) = (block.height, vm.block_figures(block));
        // What controls note in a block is no transaction.
        match figures.txs == 0 {
            true => Self::Empty { first: number, last: number, base_fee: figures.base_fee },
            false => Self::Full(FullBlock {
                number,
                base_fee: figures.base_fee,
                report: Arc::new(report(vm, block)),
            }),
        }
    }

    fn last(&self) -> u64 {
        match self {
            Self::Empty { last, .. } => *last,
            Self::Full(block) => block.number,
        }
    }

    /// Adds the next empty block to empty ones; gives it back if it can't be.
    fn extend(&mut self, next: Self) -> Result<(), Self> {
        match (self, next) {
            (Self::Empty { last, .. }, Self::Empty { first, last: end, .. })
                if first == *last + 1 =>
            {
                *last = end;
                Ok(())
            }
            (_, next) => Err(next),
        }
    }

    /// The part through a height, and the part after it.
    fn split(self, height: u64) -> (Option<Self>, Option<Self>) {
        match self {
            Self::Empty { first, last, base_fee } if first <= height && height < last => (
                Some(Self::Empty { first, last: height, base_fee }),
                Some(Self::Empty { first: height + 1, last, base_fee: None }),
            ),
            block if block.last() <= height => (Some(block), None),
            block => (None, Some(block)),
        }
    }
}

/// The blocks that wait.
#[derive(Debug, Default)]
pub(super) struct WaitingBlocks {
    /// With the times since which they wait, Unix ms.
    waiting: VecDeque<(MadeBlock, u64)>,
    shown: VecDeque<FullBlock>,
    last_height: u64,
}

impl WaitingBlocks {
    /// Adds a block. Returns one for which there is no room. `wait_anew`: empty blocks before it wait as long as it does.
    pub(super) fn push(
        &mut self,
        block: MadeBlock,
        now_ms: u64,
        wait_anew: bool,
    ) -> Option<MadeBlock> {
        self.last_height = block.last();
        let block = match self.waiting.back_mut() {
            None => block,
            Some((last, since_ms)) => match last.extend(block) {
                Ok(()) => {
                    if wait_anew {
                        *since_ms = now_ms;
                    }
                    return None;
                }
                Err(block) => block,
            },
        };
        self.waiting.push_back((block, now_ms));
        (self.waiting.len() > MAX_WAITING).then(|| self.pop()).flatten()
    }

    /// Whether a block of this height has come.
    pub(super) fn has_reached(&self, height: u64) -> bool {
        self.last_height >= height
    }

    /// The block with a transaction, and whether another call has shown it.
    pub(super) fn take_with(&mut self, hash: &str) -> Option<(FullBlock, bool)> {
        if let Some(shown) = self.shown.iter().find(|block| block.position(hash).is_some()) {
            return Some((shown.clone(), true));
        }
        let at = self.waiting.iter().position(|(block, _)| match block {
            MadeBlock::Full(block) => block.position(hash).is_some(),
            MadeBlock::Empty { .. } => false,
        })?;
        match self.waiting.remove(at)?.0 {
            MadeBlock::Full(block) => {
                self.keep_shown(block.clone());
                Some((block, false))
            }
            MadeBlock::Empty { .. } => None,
        }
    }

    /// The blocks through a height.
    pub(super) fn take_through(&mut self, height: u64) -> Vec<MadeBlock> {
        let mut taken = Vec::new();
        for (block, since_ms) in std::mem::take(&mut self.waiting) {
            let (before, after) = block.split(height);
            taken.extend(before);
            self.waiting.extend(after.map(|block| (block, since_ms)));
        }
        taken
    }

    /// Takes the oldest entry if it is of empty blocks before this height.
    pub(super) fn pop_empty_before(&mut self, height: u64) -> Option<MadeBlock> {
        let is_empty = matches!(self.waiting.front(), Some((MadeBlock::Empty { last, .. }, _)) if *last < height);
        is_empty.then(|| self.pop()).flatten()
    }

    /// The height of the block that has a transaction.
    pub(super) fn height_of(&self, hash: &str) -> Option<u64> {
        let full = self.waiting.iter().filter_map(|(block, _)| match block {
            MadeBlock::Full(block) => Some(block),
            MadeBlock::Empty { .. } => None,
        });
        full.chain(&self.shown).find(|block| block.position(hash).is_some()).map(|one| one.number)
    }

    /// The time since which the oldest entry waits, Unix ms.
    pub(super) fn oldest_ms(&self) -> Option<u64> {
        self.waiting.front().map(|(_, since_ms)| *since_ms)
    }

    /// Lets the oldest entry wait from now on.
    pub(super) fn wait_on(&mut self, now_ms: u64) {
        if let Some((_, since_ms)) = self.waiting.front_mut() {
            *since_ms = now_ms;
        }
    }

    /// Takes the oldest entry.
    pub(super) fn pop(&mut self) -> Option<MadeBlock> {
        let (block, _) = self.waiting.pop_front()?;
        if let MadeBlock::Full(block) = &block {
            self.keep_shown(block.clone());
        }
        Some(block)
    }

    /// Blocks were taken back: others come with the same heights.
    pub(super) fn rewind(&mut self) {
        self.last_height = 0;
    }

    fn keep_shown(&mut self, block: FullBlock) {
        self.shown.push_back(block);
        if self.shown.len() > MAX_SHOWN {
            self.shown.pop_front();
        }
    }
}
