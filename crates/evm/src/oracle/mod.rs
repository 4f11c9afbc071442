//! Suggests fees (docs/protocol/c-chain-fees.md, "Suggested fees").
//!
//! [`FeeOracle::suggest`] reads the tips and base fees of the last blocks, and the base fee of the next block.
//! [`price_options`] makes three offers of them. [`fee_history`] returns the base fees and tips of past blocks.
//!
//! It reads headers through [`HeaderSource`], uses no store and no clock, and keeps only its last answer.

mod history;
mod options;

use std::sync::Arc;

use alloy_primitives::{B256, U256};
use esker_evm_execution::rules::{Revision, Rules};
use esker_evm_state::types::{Header, SealedHeader};
use esker_primitives::sync::Mutex;

use crate::view::{ChainReader, ViewError};

pub use history::{
    FeeHistory, HistoryError, HistoryLimits, MAX_REWARDS, NewestBlock, PaidFee, fee_history,
};
pub use options::{PriceOption, PriceOptions, PriceOptionsConfig, price_options};

/// Accepted blocks for the oracle. Every [`ChainReader`] is a source.
pub trait HeaderSource {
    /// The error of reading.
    type Error;

    /// The last accepted block.
    fn head(&self) -> Arc<SealedHeader>;

    /// Height of the oldest block that can be read, apart from genesis.
    fn first_block(&self) -> u64 {
        0
    }

    /// The header at a height; `None` if there is no block.
    fn header(&self, height: u64) -> Result<Option<Arc<SealedHeader>>, Self::Error>;

    /// The fees of the transactions of the block at a height, in their order.
    fn paid_fees(&self, height: u64) -> Result<Vec<PaidFee>, Self::Error>;
}

impl<T: ChainReader + ?Sized> HeaderSource for T {
    type Error = ViewError;

    fn head(&self) -> Arc<SealedHeader> {
        ChainReader::head(self)
    }

    fn first_block(&self) -> u64 {
        ChainReader::first_block(self)
    }

    fn header(&self, height: u64) -> Result<Option<Arc<SealedHeader>>, ViewError> {
        self.header_at(height)
    }

    fn paid_fees(&self, height: u64) -> Result<Vec<PaidFee>, ViewError> {
        let Some(block) = self.block_at(height)? else { return Ok(Vec::new()) };
        let receipts = self.receipts_of(height, block.hash)?;
        let paid = block.block.transactions.iter().zip(receipts.iter());
        Ok(paid.map(|(tx, receipt)| PaidFee::new(tx, receipt.gas_used)).collect())
    }
}

/// Settings of the oracle; the defaults are the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OracleConfig {
    /// Number of blocks to read, back from the head.
    pub blocks: u64,
    /// Percentile of the sorted values.
    pub percentile: usize,
    /// Greatest age of a block, s.
    pub max_look_back_s: u64,
    /// A block that used less gas counts as requiring no tip.
    pub min_gas_used: u64,
    /// Least tip that is suggested, wei.
    pub min_tip: U256,
    /// Highest tip that is suggested, wei.
    pub max_tip: U256,
}

impl Default for OracleConfig {
    fn default() -> Self {
        Self {
            blocks: 40,
            percentile: 60,
            max_look_back_s: 80,
            min_gas_used: 6_000_000,
            min_tip: U256::from(1),
            max_tip: U256::from(150_000_000_000_u64),
        }
    }
}

/// The suggested fees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuggestedFees {
    /// Wei a gas above the base fee.
    pub tip: U256,
    /// A sufficient base fee, wei: the lower of the last blocks' and the next block's. `None` if blocks have no base
    /// fee.
    pub base_fee: Option<U256>,
    /// Base fee of the next block, wei, by the fee rules.
    pub next_base_fee: Option<U256>,
}

impl SuggestedFees {
    /// Gas price of a transaction with a single price, wei a gas.
    pub fn gas_price(&self) -> U256 {
        self.tip.saturating_add(self.base_fee.unwrap_or_default())
    }
}

/// The last answer. It is valid until there is a new head, and also if there are no blocks to read.
#[derive(Clone, Copy, Debug)]
struct Last {
    head: Option<B256>,
    tip: U256,
    base_fee: U256,
}

/// Suggests fees; see the module.
#[derive(Debug)]
pub struct FeeOracle {
    config: OracleConfig,
    rules: Arc<dyn Rules>,
    last: Mutex<Last>,
}

impl FeeOracle {
    /// An oracle for a chain with these rules.
    pub fn new(config: OracleConfig, rules: Arc<dyn Rules>) -> Self {
        let last = Last { head: None, tip: config.min_tip, base_fee: rules.initial_base_fee() };
        Self { config, rules, last: Mutex::new_named("evm.oracle", last) }
    }

    /// Sufficient fees for a transaction that is sent now (Unix s).
    pub fn suggest<S: HeaderSource + ?Sized>(
        &self,
        source: &S,
        now_s: u64,
    ) -> Result<SuggestedFees, S::Error> {
        let head = source.head();
        let Last { tip, base_fee, .. } = self.look_back(source, &head, now_s)?;
        let next_base_fee = next_base_fee(self.rules.as_ref(), &head.header, now_s);
        Ok(SuggestedFees {
            tip,
            base_fee: match self.rules.sets_next_base_fee() {
                true => next_base_fee,
                false => next_base_fee.map(|next| next.min(base_fee)),
            },
            next_base_fee,
        })
    }

    fn look_back<S: HeaderSource + ?Sized>(
        &self,
        source: &S,
        head: &Arc<SealedHeader>,
        now_s: u64,
    ) -> Result<Last, S::Error> {
        let before = *self.last.lock();
        if before.head == Some(head.hash) {
            return Ok(before);
        }
        let OracleConfig { blocks, percentile, max_look_back_s, min_gas_used, min_tip, max_tip } =
            self.config;
        let (mut tips, mut base_fees) = (Vec::new(), Vec::new());
        let newest = head.header.number;
        // Genesis is left out, since it has no transactions.
        let oldest = (newest.saturating_sub(blocks) + 1).max(source.first_block());
        for height in (oldest..=newest).rev() {
            let header = match height == newest {
                true => Some(Arc::clone(head)),
                false => source.header(height)?,
            };
            let Some(sealed) = header else { break };
            let header = &sealed.header;
            if header.time.saturating_add(max_look_back_s) < now_s {
                break;
            }
            let busy = header.gas_used >= min_gas_used;
            tips.push(if busy { required_tip(header) } else { U256::ZERO });
            base_fees.push(header.base_fee.unwrap_or_default());
        }
        let tip = at_percentile(tips, percentile).unwrap_or(before.tip);
        let base_fee = at_percentile(base_fees, percentile).unwrap_or(before.base_fee);
        let answer = Last { head: Some(head.hash), tip: tip.clamp(min_tip, max_tip), base_fee };
        *self.last.lock() = answer;
        Ok(answer)
    }
}

/// Base fee of a child of `parent` that is made now (Unix s), or at the parent's time if that is later; `None` if it
/// has none, and for a time without rules in this software.
pub fn next_base_fee(rules: &dyn Rules, parent: &Header, now_s: u64) -> Option<U256> {
    let terms = rules.next_terms(parent, rules.child_time(parent, now_s)).ok()?;
    (terms.execution.revision >= Revision::London).then_some(terms.base_fee)
}

/// The tip at which every gas of a block pays its share of the block gas cost.
fn required_tip(header: &Header) -> U256 {
    let base_fee = header.base_fee.unwrap_or_default();
    let cost = header.block_gas_cost.unwrap_or_default();
    let ext_gas = header.ext_data_gas_used.unwrap_or_default();
    let gas = U256::from(header.gas_used).saturating_add(ext_gas);
    cost.saturating_mul(base_fee).checked_div(gas).unwrap_or_default()
}

fn at_percentile(mut values: Vec<U256>, percentile: usize) -> Option<U256> {
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    values.get(last * percentile / 100).copied()
}
