//! Blocks that the screen does not show one by one.

use esker_chain::BlockFigures;

/// Blocks without a text of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockSummary {
    pub(super) blocks: u64,
    /// Height of the first.
    pub(super) first: u64,
    /// Height of the last.
    pub(super) last: u64,
    pub(super) txs: u64,
    /// Their gas, if the chain has gas.
    pub(super) gas: Option<u64>,
}

impl BlockSummary {
    pub(super) fn add(&mut self, height: u64, figures: &BlockFigures) {
        if self.blocks == 0 {
            self.first = height;
        }
        self.last = height;
        self.blocks += 1;
        self.txs = self.txs.saturating_add(figures.txs);
        if let Some(gas) = figures.gas {
            self.gas = Some(self.gas.unwrap_or(0).saturating_add(gas));
        }
    }
}
