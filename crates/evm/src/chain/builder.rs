//! Builds blocks from the pool.

use std::collections::HashSet;

use alloy_primitives::{B256, Bytes, U256};
use esker_chain::ChainError;
use esker_evm_execution::executor::{
    BlockExecutionOutput, BlockExecutor, ExtOutcome, SenderError, TxError,
};
use esker_evm_execution::rules::{
    BlockAttributes, BlockStepError, ChildTerms, HeaderTerms, RuleError,
};
use esker_evm_state::not_fetched::NotFetched;
use esker_evm_state::state::StateError;
use esker_evm_state::types::{Block, Transaction};
use esker_storage::{PendingWrites, WriteSet};

use super::error::state_failed;
use crate::control::Plan;
use crate::extension::{ExtBlock, ExtError};
use crate::pool::{DropReason, Pool};
use crate::verify::{ParentContext, VerifyError, assemble, child_executor};

/// Most bytes of a block's transactions.
const MAX_BLOCK_TX_BYTES: usize = 1_835_008;

/// Least gas of a transaction.
pub(super) const MIN_TX_GAS: u64 = 21_000;

/// Most transactions of a block that may lack state of the fork. What they lack is fetched together.
const MAX_LACKING_TXS: usize = 1024;

/// Seconds to look ahead for a time at which the base fee is low enough: after ten minutes without a block it is at
/// its minimum.
const MAX_FEE_WAIT_S: u64 = 600;

/// Which transactions of the pool a block may take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Selection<'a> {
    /// Only those with these hashes.
    pub(super) only: Option<&'a HashSet<B256>>,
    /// Most of them; `None`: as many as fit.
    pub(super) most: Option<usize>,
}

/// What a block takes of the pool.
pub(super) struct Taken {
    transactions: Vec<Transaction>,
    /// Those that no later block can have, either.
    refused: Vec<(B256, DropReason)>,
    /// What others lacked of the state on which the chain began.
    lacking: Option<NotFetched>,
}

impl Taken {
    /// The transactions, if none lacked anything.
    pub(super) fn all(self) -> Result<Vec<Transaction>, BuildError> {
        match self.lacking {
            Some(lacking) => Err(TxError::State(StateError::from(lacking)).into()),
            None => Ok(self.transactions),
        }
    }
}

/// The result of building.
#[derive(Debug)]
pub(super) enum BuildOutcome {
    /// A block, its execution's output, and all rows except those of the block itself.
    Block(Box<(Block, BlockExecutionOutput, WriteSet)>),
    /// No transaction can be included.
    Nothing,
    /// No pooled transaction can be included before this time, Unix s.
    NotBefore(u64),
}

/// Why building failed: a fault of the node, never of a transaction.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error("running a transaction failed: {0}")]
    Execution(#[from] TxError),
    #[error("ext data: {0}")]
    Extension(#[from] ExtError),
    #[error("the block that was made is invalid: {0}")]
    Invalid(Box<VerifyError>),
}

impl BuildError {
    /// What was lacking of the state on which the chain began. Once it is fetched the block can be built.
    pub(super) fn not_fetched(&self) -> Option<&NotFetched> {
        match self {
            Self::Execution(TxError::State(error)) | Self::Extension(ExtError::State(error)) => {
                error.not_fetched()
            }
            Self::Invalid(error) => error.not_fetched(),
            Self::Rules(_) | Self::Execution(_) | Self::Extension(_) => None,
        }
    }
}

impl From<BlockStepError> for BuildError {
    fn from(error: BlockStepError) -> Self {
        match error {
            BlockStepError::Rule(error) => error.into(),
            BlockStepError::State(error) => TxError::State(error).into(),
        }
    }
}

impl From<BuildError> for ChainError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Execution(TxError::State(error))
            | BuildError::Extension(ExtError::State(error)) => state_failed(error),
            BuildError::Invalid(error) => match error.internal() {
                Ok(error) => state_failed(error),
                Err(error) => Self::Corrupted(BuildError::Invalid(Box::new(error)).to_string()),
            },
            other => Self::Corrupted(other.to_string()),
        }
    }
}

/// Builds a block at `time` (Unix s) on its parent. A block of the pool leaves out transactions that lack state of the fork, and
/// adds it to `left_out`, if there are others. `refused` gets those that the pool should drop.
pub(super) fn fill(
    ctx: &ParentContext<'_>,
    pool: &Pool,
    time: u64,
    (plan, selection): (Plan, Selection<'_>),
    (left_out, refused): (&mut Option<NotFetched>, &mut Vec<(B256, DropReason)>),
) -> Result<BuildOutcome, BuildError> {
    let set = ctx.extension.next_header_terms();
    let attributes = attributes(ctx, &set);
    let ctx = &ParentContext { attributes: &attributes, ..*ctx };
    let terms = ctx.child_terms(time)?.with(&set);
    let mut executor = child_executor(ctx, &terms, time)?;
    let transactions = match plan {
        Plan::Change | Plan::Nothing => Vec::new(),
        Plan::Pool => {
            let mut taken = take_transactions(&mut executor, pool, &terms, selection)?;
            if !taken.transactions.is_empty() {
                *left_out = taken.lacking.take();
            }
            refused.append(&mut taken.refused);
            taken.all()?
        }
        Plan::Mine | Plan::Only => {
            let selection = Selection { most: None, ..selection };
            let mut taken = take_transactions(&mut executor, pool, &terms, selection)?;
            refused.append(&mut taken.refused);
            taken.all()?
        }
    };
    let mut rows = PendingWrites::new(ctx.reader);
    let (ext_data, outcome) = take_ext_data(ctx, &mut executor, &terms, &mut rows, time)?;
    if transactions.is_empty() && ext_data.is_empty() {
        // The capacity grows every second, up to more than a transaction may use.
        let is_short = max_ext_gas(&executor, &terms) < ctx.extension.max_tx_gas();
        if is_short && ctx.extension.has_work() {
            return Ok(BuildOutcome::NotBefore(time + 1));
        }
        return Ok(match affordable_at(ctx, pool, &terms, time) {
            Some(at) => BuildOutcome::NotBefore(at),
            None => BuildOutcome::Nothing,
        });
    }
    let ext_data = ctx.extension.with_header(ext_data)?;
    let processed = executor.finish(outcome)?;
    let mut out = rows.into_writes();
    match assemble(ctx, &terms, time, transactions, ext_data, &processed, &mut out) {
        Ok(block) => Ok(BuildOutcome::Block(Box::new((block, processed, out)))),
        Err(VerifyError::Rules(error)) if error.is_unpaid() => {
            let (rules, fee) = (&ctx.chain.rules, processed.block_fee);
            Ok(BuildOutcome::NotBefore(rules.paid_at(ctx.parent, &terms, time, fee)))
        }
        Err(error) => Err(BuildError::Invalid(Box::new(error))),
    }
}

/// The block that the pool's transactions make at `time` (Unix s), without ext data, and the rows of its state.
/// Transactions of the other pool and blocks on request are left out.
pub(super) fn preview(
    ctx: &ParentContext<'_>,
    pool: &Pool,
    time: u64,
    set: &HeaderTerms,
) -> Result<(Block, BlockExecutionOutput, WriteSet), BuildError> {
    let attributes = attributes(ctx, set);
    let ctx = &ParentContext { attributes: &attributes, ..*ctx };
    let terms = ctx.child_terms(time)?.with(set);
    let mut executor = child_executor(ctx, &terms, time)?;
    let transactions =
        take_transactions(&mut executor, pool, &terms, Selection::default())?.all()?;
    // The tips need not pay for the block yet: it may be built some seconds later.
    let outcome = ExtOutcome { contribution: U256::MAX, ..ExtOutcome::default() };
    let processed = executor.finish(outcome)?;
    let mut out = WriteSet::default();
    let block = assemble(ctx, &terms, time, transactions, Bytes::new(), &processed, &mut out)
        .map_err(|error| BuildError::Invalid(Box::new(error)))?;
    Ok((block, processed, out))
}

/// What a block that sets these header fields is asked for.
fn attributes(ctx: &ParentContext<'_>, set: &HeaderTerms) -> BlockAttributes {
    let beacon_root = set.beacon_root.or(ctx.attributes.beacon_root);
    BlockAttributes { beacon_root, ..ctx.attributes.clone() }
}

/// Takes transactions of the pool. Those that lack state of the fork stay there, with the later ones of their senders.
pub(super) fn take_transactions(
    executor: &mut BlockExecutor<'_>,
    pool: &Pool,
    terms: &ChildTerms,
    Selection { only, most }: Selection<'_>,
) -> Result<Taken, BuildError> {
    let mut best = pool.best(terms.base_fee.saturating_to());
    let most_blobs = terms.execution.blobs.map_or(0, |limits| limits.max);
    let (mut taken, mut lacking, mut lack) = (Vec::new(), None, 0);
    let mut refused = Vec::new();
    let (mut bytes, mut blobs) = (0, 0);
    while executor.gas_left() >= MIN_TX_GAS
        && most.is_none_or(|most| taken.len() < most)
        && let Some(next) = best.peek().cloned()
    {
        let is_wanted = only.is_none_or(|only| only.contains(&next.hash()));
        let is_full = bytes + next.size_in_block() > MAX_BLOCK_TX_BYTES
            || blobs + next.blobs() as u64 > most_blobs;
        if !is_wanted || is_full {
            best.pop();
            continue;
        }
        match executor.execute(next.tx(), Some(next.sender())) {
            Ok(_) => {
                bytes += next.size_in_block();
                blobs += next.blobs() as u64;
                taken.push(next.tx().clone());
                best.shift();
            }
            Err(TxError::State(error))
                if error.not_fetched().is_some() && lack < MAX_LACKING_TXS =>
            {
                add_lacking(&mut lacking, &error);
                lack += 1;
                best.pop();
            }
            Err(error) if error.is_internal() => return Err(error.into()),
            // An undecided ancestor already has the transaction.
            Err(TxError::NonceTooLow { .. }) => best.shift(),
            Err(TxError::GasLimitReached | TxError::NonceTooHigh { .. }) => best.pop(),
            Err(error) => {
                tracing::debug!(hash = %next.hash(), %error, "a pooled transaction can't run");
                refused.extend(drop_reason(pool, &error).map(|reason| (next.hash(), reason)));
                best.pop();
            }
        }
    }
    Ok(Taken { transactions: taken, refused, lacking })
}

/// Why the pool should drop a transaction that can't run; `None` if it may run later, or if the pool finds out itself.
fn drop_reason(pool: &Pool, error: &TxError) -> Option<DropReason> {
    match *error {
        TxError::InsufficientFunds { have: balance, want: cost, .. }
            if !pool.config().checks_balance =>
        {
            Some(DropReason::Funds { balance, cost })
        }
        TxError::Sender(SenderError::ChainId { have, want }) => {
            Some(DropReason::ChainId { have, want })
        }
        _ => None,
    }
}

fn add_lacking(lacking: &mut Option<NotFetched>, error: &StateError) {
    match (lacking, error.not_fetched()) {
        (Some(all), Some(more)) => all.add(more),
        (none, more) => *none = more.cloned(),
    }
}

fn take_ext_data(
    ctx: &ParentContext<'_>,
    executor: &mut BlockExecutor<'_>,
    terms: &ChildTerms,
    rows: &mut PendingWrites<'_>,
    time: u64,
) -> Result<(Bytes, ExtOutcome), BuildError> {
    let block = ExtBlock {
        number: ctx.parent.number + 1,
        time,
        base_fee: terms.base_fee,
        hash: B256::ZERO,
        ext_data: &[],
        undecided: ctx.undecided,
        has_undecided: ctx.has_undecided,
    };
    let max_gas = max_ext_gas(executor, terms);
    Ok(ctx.extension.build(&block, max_gas, executor.state(), rows)?.unwrap_or_default())
}

/// Gas that ext data may use besides the block's own transactions.
fn max_ext_gas(executor: &BlockExecutor<'_>, terms: &ChildTerms) -> u64 {
    let left = terms.gas_available().saturating_sub(executor.gas_used());
    terms.ext_gas_limit.unwrap_or(left)
}

/// The first second after `time` at which a pooled transaction of either kind pays the base fee.
fn affordable_at(
    ctx: &ParentContext<'_>,
    pool: &Pool,
    terms: &ChildTerms,
    time: u64,
) -> Option<u64> {
    let in_pool = pool.payable_base_fee().map(U256::from);
    // Transactions that pay the present base fee wait for something else.
    let in_extension =
        ctx.extension.highest_payable_base_fee().filter(|most| *most < terms.base_fee);
    let most = in_pool.max(in_extension)?;
    let set = ctx.extension.next_header_terms();
    let fee_at = |at| Some(ctx.child_terms(at).ok()?.with(&set));
    (time + 1..=time + MAX_FEE_WAIT_S)
        .find(|at| fee_at(*at).is_some_and(|terms| terms.base_fee <= most))
}
