//! The figures that a chain reports to metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// Figures of a running chain, for metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChainStats {
    /// Height of the last accepted block.
    pub height: u64,
    /// Height of the first stored block besides genesis, if the node joined from a snapshot; else 0.
    pub first_block: u64,
    /// The last accepted block's own timestamp, Unix seconds.
    pub last_block_s: u64,
    /// Transactions waiting for a block.
    pub mempool_txs: u64,
    /// Bytes of the transactions waiting for a block.
    pub mempool_bytes: u64,
    /// Transactions accepted since the start of the process.
    pub accepted_txs: u64,
    /// Gas of a chain that has it.
    pub gas: Option<GasFigures>,
}

/// Gas of a running chain, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GasFigures {
    /// Gas used by the blocks accepted since the start of the process.
    pub used: u64,
    /// Gas used by the last accepted block.
    pub last_used: u64,
    /// Gas limit of the last accepted block.
    pub last_limit: u64,
    /// Base fee of the last accepted block, wei a gas; `None` before base fees. A larger one is shown as the largest
    /// number.
    pub base_fee: Option<u64>,
}

/// Counts of a chain's pool since the start of the process, by reason, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolFigures {
    /// Pooled transactions that left the pool without being accepted.
    pub dropped: Vec<(&'static str, u64)>,
    /// Transactions that the pool refused.
    pub refused: Vec<(&'static str, u64)>,
}

/// Counters of a fixed list of reasons.
#[derive(Debug)]
pub struct ReasonCounters<const N: usize> {
    labels: &'static [&'static str; N],
    counts: [AtomicU64; N],
}

impl<const N: usize> ReasonCounters<N> {
    /// All at zero.
    pub const fn new(labels: &'static [&'static str; N]) -> Self {
        Self { labels, counts: [const { AtomicU64::new(0) }; N] }
    }

    /// Counts one of the reason at this place of the list. A place outside of the list counts nothing.
    pub fn count(&self, reason: usize) {
        if let Some(count) = self.counts.get(reason) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counts, in the order of the list.
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        self.labels.iter().copied().zip(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_by_their_places() {
        let counters = ReasonCounters::new(&["full", "conflict"]);
        counters.count(1);
        counters.count(1);
        counters.count(2);
        assert_eq!(counters.figures(), [("full", 0), ("conflict", 2)]);
    }
}
