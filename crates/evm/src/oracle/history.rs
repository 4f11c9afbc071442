//! The fee history: base fees and tips of past blocks.

use alloy_consensus::Transaction as _;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::U256;
use esker_evm_execution::rules::{BlockPoint, Rules};
use esker_evm_state::types::{Header, Transaction};
use thiserror::Error;

use super::{HeaderSource, next_base_fee};

/// Limits of fee histories. The defaults are the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Most blocks of one answer.
    pub blocks: u64,
    /// How far back from the head an answer may reach, blocks.
    pub depth: u64,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { blocks: 2048, depth: 25_000 }
    }
}

/// Most rewards in one answer. A long list of percentiles over many blocks is refused before it is computed. The
/// reference has no limit. The limit is more than twice a hundred percentiles of 2048 blocks.
pub const MAX_REWARDS: u64 = 500_000;

/// The newest block of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewestBlock {
    /// The last accepted block.
    Latest,
    /// The pending block. It counts as a block, but is not returned.
    Pending,
    /// The block at a height.
    Height(u64),
}

/// The gas and the fees of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaidFee {
    /// Gas that the transaction used.
    pub gas_used: u64,
    /// Most wei a gas.
    pub fee_cap: u128,
    /// Most wei a gas above the base fee.
    pub tip_cap: u128,
}

impl PaidFee {
    /// The fees of a transaction that used this much gas.
    pub fn new(tx: &Transaction, gas_used: u64) -> Self {
        let fee_cap = tx.max_fee_per_gas();
        Self { gas_used, fee_cap, tip_cap: tx.max_priority_fee_per_gas().unwrap_or(fee_cap) }
    }

    /// The tip that it paid above the base fee, wei a gas.
    fn tip(&self, base_fee: U256) -> U256 {
        U256::from(self.fee_cap).saturating_sub(base_fee).min(U256::from(self.tip_cap))
    }
}

/// A fee history. The lists have an entry for each block, oldest first. `base_fees` has one more, for the block after
/// them (docs/decisions.md, "Fee history").
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeeHistory {
    /// Height of the oldest block.
    pub oldest: u64,
    /// Tips at the requested percentiles, wei a gas; empty if none were requested.
    pub rewards: Vec<Vec<U256>>,
    /// Base fees, wei; empty if no block is returned.
    pub base_fees: Vec<U256>,
    /// Used part of the gas limit.
    pub gas_used_ratios: Vec<f64>,
    /// Prices of blob gas, wei, 0 where blocks have none; one more, as with base fees.
    pub blob_base_fees: Vec<U256>,
    /// Used part of the most blob gas.
    pub blob_gas_used_ratios: Vec<f64>,
}

impl FeeHistory {
    /// Adds a block with these tips.
    fn add(&mut self, rules: &dyn Rules, header: &Header, rewards: Option<Vec<U256>>) {
        self.base_fees.push(header.base_fee.unwrap_or_default());
        let (used, limit) = (header.gas_used as f64, header.gas_limit as f64);
        self.gas_used_ratios.push(if limit > 0.0 { used / limit } else { 0.0 });
        self.blob_base_fees.push(blob_base_fee(rules, header));
        self.blob_gas_used_ratios.push(blob_gas_used_ratio(rules, header));
        self.rewards.extend(rewards);
    }

    /// Adds the block that a development node would build now, which follows the others. Its tips count as 0, as with other
    /// tools. `percentiles` is the number of those that were requested, `now_s` as in [`fee_history`].
    pub fn add_pending(
        &mut self,
        rules: &dyn Rules,
        header: &Header,
        percentiles: usize,
        now_s: u64,
    ) {
        if self.base_fees.is_empty() {
            self.oldest = header.number;
        }
        // They were the estimates for this block.
        self.base_fees.pop();
        self.blob_base_fees.pop();
        self.add(rules, header, (percentiles > 0).then(|| vec![U256::ZERO; percentiles]));
        let time_s = now_s.max(header.time);
        self.base_fees.push(next_base_fee(rules, header, time_s).unwrap_or_default());
        self.blob_base_fees.push(next_blob_base_fee(rules, header, time_s));
    }
}

/// Why there is no fee history. `E` is the error of reading the chain.
#[derive(Debug, Error, PartialEq)]
pub enum HistoryError<E> {
    /// A number is not a percentile.
    #[error("invalid reward percentile: {0:.6}")]
    Percentile(f64),
    /// The percentiles are not in ascending order.
    #[error("invalid reward percentile: #{}:{before:.6} >= #{at}:{this:.6}", .at - 1)]
    PercentileOrder {
        /// Index of the wrong percentile.
        at: usize,
        /// The percentile before it.
        before: f64,
        /// The wrong percentile.
        this: f64,
    },
    /// There are too many percentiles for so many blocks; see [`MAX_REWARDS`].
    #[error("invalid reward percentile: over the query limit {0}")]
    TooManyRewards(u64),
    /// There is no such block yet.
    #[error("request beyond head block: requested {requested}, head {head}")]
    BeyondHead {
        /// Requested height.
        requested: u64,
        /// Height of the head.
        head: u64,
    },
    /// The block is too old.
    #[error("request beyond historical limit: requested {requested}, head {head}")]
    BeyondLimit {
        /// Requested height.
        requested: u64,
        /// Height of the head.
        head: u64,
    },
    /// The chain can't be read.
    #[error("{0}")]
    Source(E),
}

/// The fee history of `count` blocks up to `newest`. `now_s` is the time at which the block above the head would be
/// made.
pub fn fee_history<S: HeaderSource + ?Sized>(
    source: &S,
    rules: &dyn Rules,
    limits: &HistoryLimits,
    (count, newest): (u64, NewestBlock),
    percentiles: &[f64],
    now_s: u64,
) -> Result<FeeHistory, HistoryError<S::Error>> {
    if count == 0 {
        return Ok(FeeHistory::default());
    }
    check_percentiles(percentiles)?;
    let head = source.head();
    let Some((oldest, count)) = block_range(count, newest, head.header.number, limits)? else {
        return Ok(FeeHistory::default());
    };
    if count.saturating_mul(percentiles.len() as u64) > MAX_REWARDS {
        return Err(HistoryError::TooManyRewards(MAX_REWARDS / count));
    }
    // Blocks before the stored history are left out, like those before genesis, unless the newest block is one of
    // them.
    let (newest, first) = (oldest + count - 1, source.first_block());
    let oldest = if newest >= first { oldest.max(first) } else { oldest };
    let count = newest + 1 - oldest;
    let mut history = FeeHistory { oldest, ..FeeHistory::default() };
    for height in oldest..oldest + count {
        let header = source.header(height).map_err(HistoryError::Source)?;
        // A block below the head can only be missing if the store lost it.
        let Some(header) = header else { break };
        let header = &header.header;
        let tips = match percentiles {
            [] => None,
            _ => {
                let mut fees = source.paid_fees(height).map_err(HistoryError::Source)?;
                let base_fee = header.base_fee.unwrap_or_default();
                Some(rewards(&mut fees, base_fee, header.gas_used, percentiles))
            }
        };
        history.add(rules, header, tips);
    }
    let next = match source.header(oldest + count).map_err(HistoryError::Source)? {
        Some(next) => (next.header.base_fee, blob_base_fee(rules, &next.header)),
        None => {
            let header = &head.header;
            (next_base_fee(rules, header, now_s), next_blob_base_fee(rules, header, now_s))
        }
    };
    history.base_fees.push(next.0.unwrap_or_default());
    history.blob_base_fees.push(next.1);
    Ok(history)
}

/// The price of blob gas in a block, wei; 0 without blob gas.
fn blob_base_fee(rules: &dyn Rules, header: &Header) -> U256 {
    header.excess_blob_gas.map(|_| rules.blob_base_fee(header)).unwrap_or_default()
}

fn next_blob_base_fee(rules: &dyn Rules, parent: &Header, now_s: u64) -> U256 {
    let terms = rules.next_terms(parent, rules.child_time(parent, now_s)).ok();
    let terms = terms.filter(|terms| terms.excess_blob_gas.is_some());
    terms.map(|terms| terms.blob_base_fee).unwrap_or_default()
}

/// Used part of the most blob gas of a block.
fn blob_gas_used_ratio(rules: &dyn Rules, header: &Header) -> f64 {
    let Some(used) = header.blob_gas_used.filter(|used| *used > 0) else { return 0.0 };
    let limits = rules.call_rules(&BlockPoint::of(header)).blobs;
    let most = limits.map_or(0, |limits| limits.max.saturating_mul(DATA_GAS_PER_BLOB));
    if most > 0 { used as f64 / most as f64 } else { 0.0 }
}

fn check_percentiles<E>(percentiles: &[f64]) -> Result<(), HistoryError<E>> {
    let mut before = None;
    for (at, this) in percentiles.iter().copied().enumerate() {
        if !(0.0..=100.0).contains(&this) {
            return Err(HistoryError::Percentile(this));
        }
        if let Some(before) = before
            && this <= before
        {
            return Err(HistoryError::PercentileOrder { at, before, this });
        }
        before = Some(this);
    }
    Ok(())
}

/// The oldest block and the number of blocks; `None` if there are no blocks.
fn block_range<E>(
    count: u64,
    newest: NewestBlock,
    head: u64,
    limits: &HistoryLimits,
) -> Result<Option<(u64, u64)>, HistoryError<E>> {
    let count = count.min(limits.blocks);
    let (count, newest) = match newest {
        NewestBlock::Latest => (count, head),
        NewestBlock::Pending => (count.saturating_sub(1), head),
        NewestBlock::Height(requested) => {
            if head.saturating_sub(requested) >= limits.depth {
                return Err(HistoryError::BeyondLimit { requested, head });
            }
            if requested > head {
                return Err(HistoryError::BeyondHead { requested, head });
            }
            (count, requested)
        }
    };
    if count == 0 {
        return Ok(None);
    }
    // Blocks before genesis or beyond the depth are left out.
    let deepest = (head + 1).saturating_sub(limits.depth);
    let oldest = (newest + 1).saturating_sub(count).max(deepest);
    Ok(Some((oldest, newest + 1 - oldest)))
}

/// The tip at each percentile of a block's gas, the transactions ordered by their tips.
fn rewards(fees: &mut [PaidFee], base_fee: U256, block_gas: u64, percentiles: &[f64]) -> Vec<U256> {
    fees.sort_by_key(|fee| fee.tip(base_fee));
    let mut rest = fees.iter();
    let Some(mut at) = rest.next() else { return vec![U256::ZERO; percentiles.len()] };
    let mut gas = at.gas_used;
    let reward = |percentile: &f64| {
        // Rounded towards zero, as the reference converts.
        let threshold = (block_gas as f64 * percentile / 100.0) as u64;
        while gas < threshold
            && let Some(next) = rest.next()
        {
            gas = gas.saturating_add(next.gas_used);
            at = next;
        }
        at.tip(base_fee)
    };
    percentiles.iter().map(reward).collect()
}
