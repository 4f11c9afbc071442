//! Blocks with a log line of their own, and the summary of the others.

use esker_chain::BlockFigures;

use crate::throttle::Throttle;

/// Most lines of blocks of one chain in a window. A summary follows for the others.
pub(super) const MAX_LINES: u32 = 4;

/// An accepted block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Its height.
    pub(super) height: u64,
    /// The figures of the block.
    pub(super) figures: BlockFigures,
    /// Time since the chain's previous block, ms; `None` for the first one since the start.
    pub(super) since_last_ms: Option<u64>,
    /// Time that building or verifying the blocks of its bundle took, ms.
    pub(super) execute_ms: u64,
    /// Time of its commit, ms.
    pub(super) commit_ms: u64,
}

/// Blocks without a line of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// Their number.
    pub(super) blocks: u64,
    /// Height of the first.
    pub(super) first: u64,
    /// Height of the last.
    pub(super) last: u64,
    /// Their transactions.
    pub(super) txs: u64,
    /// Their gas, if the chain has gas.
    pub(super) gas: Option<u64>,
    /// The longest execution of a block's bundle, ms.
    pub(super) max_execute_ms: u64,
    /// The longest commit, ms.
    pub(super) max_commit_ms: u64,
}

impl Summary {
    fn add(&mut self, block: &Block) {
        let Block { height, figures, execute_ms, commit_ms, .. } = block;
        if self.blocks == 0 {
            self.first = *height;
        }
        self.last = *height;
        self.blocks += 1;
        self.txs = self.txs.saturating_add(figures.txs);
        if let Some(gas) = figures.gas {
            self.gas = Some(self.gas.unwrap_or(0).saturating_add(gas));
        }
        self.max_execute_ms = self.max_execute_ms.max(*execute_ms);
        self.max_commit_ms = self.max_commit_ms.max(*commit_ms);
    }
}

impl Throttle<Summary, MAX_LINES> {
    /// The block, if it gets its own line. Otherwise it is added to the summary.
    pub(super) fn accept(&mut self, block: Block, now_ms: u64) -> Option<Block> {
        if self.take(now_ms) {
            return Some(block);
        }
        self.summary().add(&block);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throttle::WINDOW_MS;

    fn block(height: u64, gas: Option<u64>) -> Block {
        let figures = BlockFigures { txs: 2, gas, ..BlockFigures::default() };
        Block { height, figures, since_last_ms: None, execute_ms: height, commit_ms: 1 }
    }

    #[test]
    fn a_few_lines_a_window_and_a_summary_of_the_others() {
        let mut throttle = Throttle::<Summary, MAX_LINES>::default();
        let shown =
            |throttle: &mut Throttle<Summary, MAX_LINES>, from: u64, to: u64, now_ms| -> Vec<u64> {
                let lines = (from..=to).filter_map(|n| throttle.accept(block(n, Some(10)), now_ms));
                lines.map(|line| line.height).collect()
            };
        assert_eq!(shown(&mut throttle, 1, 10, 5_000), [1, 2, 3, 4]);
        assert_eq!(throttle.due_ms(), Some(6_000));
        assert_eq!(throttle.take_summary(Some(5_999)), None);
        let summary = Summary {
            blocks: 6,
            first: 5,
            last: 10,
            txs: 12,
            gas: Some(60),
            max_execute_ms: 10,
            max_commit_ms: 1,
        };
        assert_eq!(throttle.take_summary(Some(6_000)), Some(summary));
        assert_eq!((throttle.take_summary(Some(6_000)), throttle.due_ms()), (None, None));
        // The next window.
        assert_eq!(shown(&mut throttle, 11, 15, 6_000), [11, 12, 13, 14]);
        assert_eq!(throttle.take_summary(None).map(|summary| summary.first), Some(15));
    }

    #[test]
    fn slow_blocks_all_have_their_line_and_a_chain_without_gas_has_none() {
        let mut throttle = Throttle::<Summary, MAX_LINES>::default();
        for height in 1..100 {
            let now_ms = 10_000 + height * WINDOW_MS / u64::from(MAX_LINES);
            assert_eq!(throttle.take_summary(Some(now_ms)), None);
            assert!(throttle.accept(block(height, None), now_ms).is_some(), "{height}");
        }
        let now_ms = 1_000_000;
        for height in 100..106 {
            throttle.accept(block(height, None), now_ms);
        }
        assert_eq!(throttle.take_summary(None).map(|summary| summary.gas), Some(None));
    }

    #[test]
    fn a_clock_that_is_set_back_silences_nothing() {
        let mut throttle = Throttle::<Summary, MAX_LINES>::default();
        for height in 1..6 {
            throttle.accept(block(height, None), 1_000_000);
        }
        assert_eq!(throttle.take_summary(Some(10)).map(|summary| summary.blocks), Some(1));
        assert!(throttle.accept(block(6, None), 10).is_some());
        assert_eq!(throttle.take_summary(Some(1_010)), None);
    }
}
