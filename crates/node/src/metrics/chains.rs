//! The chains' metrics, read for each scrape.

use esker_chain::{ChainStats, PoolFigures};
use prometheus::{IntCounterVec, IntGaugeVec};

use super::registry::Registry;
use super::{families as f, to_i64};

/// The figures of a chain for a scrape.
#[derive(Clone, Debug, Default)]
pub struct ChainFigures {
    /// The figures of its blocks and its pool.
    pub stats: ChainStats,
    /// The figures of its pool, by reason.
    pub pool: PoolFigures,
    /// Transactions in its pool of imports and exports, if it has one, and that pool by reason.
    pub atomic: Option<(u64, PoolFigures)>,
}

pub(super) type ChainFn = Box<dyn Fn() -> ChainFigures + Send + Sync>;

/// A chain, and the part of its figures that the counters already include.
pub(super) struct WatchedChain {
    name: String,
    read: ChainFn,
    counted: ChainFigures,
}

/// Counters by chain and reason.
struct Reasons {
    dropped: IntCounterVec,
    refused: IntCounterVec,
}

pub(super) struct ChainMetrics {
    height: IntGaugeVec,
    first_block: IntGaugeVec,
    blocks: IntCounterVec,
    block_time: IntGaugeVec,
    transactions: IntCounterVec,
    mempool_transactions: IntGaugeVec,
    mempool_bytes: IntGaugeVec,
    mempool: Reasons,
    atomic_transactions: IntGaugeVec,
    atomic_mempool: Reasons,
    gas_used: IntCounterVec,
    block_gas_used: IntGaugeVec,
    block_gas_limit: IntGaugeVec,
    base_fee: IntGaugeVec,
}

impl WatchedChain {
    /// Counts from now on. Blocks are counted by the growth of the height.
    pub(super) fn new(name: &str, read: ChainFn) -> Self {
        let stats = ChainStats { height: read().stats.height, ..ChainStats::default() };
        let counted = ChainFigures { stats, ..ChainFigures::default() };
        Self { name: name.to_owned(), read, counted }
    }
}

impl ChainMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            height: f::HEIGHT.int_gauges(registry),
            first_block: f::FIRST_BLOCK.int_gauges(registry),
            blocks: f::BLOCKS.int_counters(registry),
            block_time: f::BLOCK_TIME.int_gauges(registry),
            transactions: f::TRANSACTIONS.int_counters(registry),
            mempool_transactions: f::MEMPOOL_TRANSACTIONS.int_gauges(registry),
            mempool_bytes: f::MEMPOOL_BYTES.int_gauges(registry),
            mempool: Reasons {
                dropped: f::MEMPOOL_DROPPED.int_counters(registry),
                refused: f::MEMPOOL_REFUSED.int_counters(registry),
            },
            atomic_transactions: f::ATOMIC_TRANSACTIONS.int_gauges(registry),
            atomic_mempool: Reasons {
                dropped: f::ATOMIC_DROPPED.int_counters(registry),
                refused: f::ATOMIC_REFUSED.int_counters(registry),
            },
            gas_used: f::GAS_USED.int_counters(registry),
            block_gas_used: f::BLOCK_GAS_USED.int_gauges(registry),
            block_gas_limit: f::BLOCK_GAS_LIMIT.int_gauges(registry),
            base_fee: f::BASE_FEE.int_gauges(registry),
        }
    }

    pub(super) fn collect(&self, chain: &mut WatchedChain) {
        let figures = (chain.read)();
        let before = std::mem::replace(&mut chain.counted, figures);
        let (name, now) = (chain.name.as_str(), &chain.counted);
        let set = |gauges: &IntGaugeVec, value: u64| {
            gauges.with_label_values(&[name]).set(to_i64(value));
        };
        let count = |counters: &IntCounterVec, now: u64, before: u64| {
            counters.with_label_values(&[name]).inc_by(now.saturating_sub(before));
        };
        let (stats, counted) = (&now.stats, &before.stats);
        set(&self.height, stats.height);
        set(&self.first_block, stats.first_block);
        set(&self.block_time, stats.last_block_s);
        set(&self.mempool_transactions, stats.mempool_txs);
        set(&self.mempool_bytes, stats.mempool_bytes);
        count(&self.blocks, stats.height, counted.height);
        count(&self.transactions, stats.accepted_txs, counted.accepted_txs);
        if let Some(gas) = stats.gas {
            set(&self.block_gas_used, gas.last_used);
            set(&self.block_gas_limit, gas.last_limit);
            count(&self.gas_used, gas.used, counted.gas.unwrap_or_default().used);
            // Before blocks have base fees there is no series.
            if let Some(base_fee) = gas.base_fee {
                set(&self.base_fee, base_fee);
            }
        }
        self.mempool.collect(name, &now.pool, &before.pool);
        if let Some((waiting, pool)) = &now.atomic {
            set(&self.atomic_transactions, *waiting);
            let before = before.atomic.map(|(_, pool)| pool).unwrap_or_default();
            self.atomic_mempool.collect(name, pool, &before);
        }
    }
}

impl Reasons {
    fn collect(&self, chain: &str, now: &PoolFigures, before: &PoolFigures) {
        for (counters, now, before) in [
            (&self.dropped, &now.dropped, &before.dropped),
            (&self.refused, &now.refused, &before.refused),
        ] {
            for (place, (reason, count)) in now.iter().enumerate() {
                let counted = before.get(place).map_or(0, |(_, count)| *count);
                let counter = counters.with_label_values(&[chain, reason]);
                counter.inc_by(count.saturating_sub(counted));
            }
        }
    }
}
