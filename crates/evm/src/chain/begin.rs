//! The first rows of a chain: those of its genesis, or of the block of another node on which it begins.

use std::sync::atomic::Ordering;
use std::time::Duration;

use alloy_primitives::{B256, Bytes};
use esker_chain::tables::{HISTORY_START, HistoryStart};
use esker_chain::{BuildContext, ChainError, ChainVm as _};
use esker_evm_execution::executor::{BlockExecutor, TxError, impersonated};
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::BlockStepError;
use esker_evm_state::blocks::write_block;
use esker_evm_state::not_fetched::NotFetched;
use esker_evm_state::state::tables::STATE_START;
use esker_evm_state::state::{ApplyOptions, StateError};
use esker_evm_state::types::{Block, Header, Transaction};
use esker_storage::{Scope, Store, WriteSet};

use super::SubmitError;
use super::vm::Evm;
use crate::control::Plan;
use crate::fork_point::ForkPoint;
use crate::total_difficulty;
use crate::verify::child_executor;

/// After a fetch for a block failed, the next one begins this much later.
const RETRY: Duration = Duration::from_secs(5);

impl Evm {
    /// Writes the first rows of a chain that begins with its genesis. The machine wants a block 0: if the genesis has another number,
    /// that block is written too, and the history begins at the genesis.
    pub(super) fn begin(&self, out: &mut WriteSet) -> Result<(), ChainError> {
        let genesis = self.genesis.definition()?;
        if genesis.number > 0 {
            let of_machine = Genesis { number: 0, ..Genesis::clone(&genesis) };
            let block = self.genesis_block(&of_machine, &mut WriteSet::default())?;
            self.write_first(&block, out)?;
            self.begin_history(genesis.number, out);
        }
        let block = self.genesis_block(&genesis, out)?;
        self.write_first(&block, out)
    }

    /// The block of a genesis. Its accounts are added to `accounts`.
    fn genesis_block(
        &self,
        genesis: &Genesis,
        accounts: &mut WriteSet,
    ) -> Result<Block, ChainError> {
        let (rules, scope) = (self.params.rules.as_ref(), self.context.scope);
        let options = ApplyOptions { preimages: self.config.preimages };
        let built = genesis.build(rules, scope, options, accounts);
        built.map_err(|error| ChainError::Genesis(error.to_string()))
    }

    /// The history, and the states, begin at a block.
    fn begin_history(&self, number: u64, out: &mut WriteSet) {
        STATE_START.put(out, self.context.scope, &(), &number);
        let history = HistoryStart { bundle: 0, blocks: vec![(self.context().chain_id, number)] };
        HISTORY_START.put(out, Scope::NODE, &(), &history);
    }

    /// Writes the first rows of a chain that begins on a block of another node: its own genesis block, which the machine
    /// wants, and that block, without its transactions. The history begins there.
    pub(super) fn begin_on(&self, fork: &ForkPoint, out: &mut WriteSet) -> Result<(), ChainError> {
        let genesis = self.genesis.definition()?;
        let genesis = self.genesis_block(&genesis, &mut WriteSet::default())?;
        self.write_first(&genesis, out)?;
        let header = &fork.header.header;
        self.write_block(&without_body(header), fork.header.hash, out)?;
        self.begin_history(header.number, out);
        Ok(())
    }

    /// Writes a block without a parent.
    fn write_first(&self, block: &Block, out: &mut WriteSet) -> Result<(), ChainError> {
        let rules = self.params.rules.as_ref();
        self.write_block(block, rules.block_hash(&block.header), out)?;
        total_difficulty::put_first(rules, self.context.scope, &block.header, out);
        Ok(())
    }

    fn write_block(&self, block: &Block, hash: B256, out: &mut WriteSet) -> Result<(), ChainError> {
        let bytes = self.params.rules.encode_block(block);
        let empty = Store::memory()?;
        let below = empty.snapshot()?;
        let (scope, history) = (self.context.scope, self.config.history);
        let rows = (hash, bytes.as_slice());
        write_block(below.as_ref(), scope, history, block, rows, Vec::new(), out)?;
        Ok(())
    }

    /// Fails if a transaction needs state of the fork that is not fetched yet. So builds seldom lack something.
    pub(super) fn check_fetched(&self, tx: &Transaction) -> Result<(), SubmitError> {
        if self.fork().is_none() {
            return Ok(());
        }
        let reader = self.context.store.snapshot()?;
        let at = BuildContext::default();
        let parent = self.parent(reader.as_ref(), &at)?;
        let wanted = self.planned_time_s().unwrap_or_else(|| self.context.clock.now_s());
        let time = self.params.rules.child_time(&parent.header, wanted);
        self.with_parent_context(reader.as_ref(), &parent, &at, |ctx| {
            let lacking = |error: &StateError| error.not_fetched().cloned();
            let terms = ctx.child_terms(time);
            let begun = terms.and_then(|terms| child_executor(ctx, &terms, time));
            let lacking = match begun {
                Ok(mut executor) => match run(&mut executor, tx) {
                    Err(TxError::State(error)) => lacking(&error),
                    _ => None,
                },
                Err(BlockStepError::State(error)) => lacking(&error),
                Err(BlockStepError::Rule(_)) => None,
            };
            lacking.map_or(Ok(()), |lacking| Err(StateError::from(lacking).into()))
        })
    }

    /// Fetches what a build lacked, and wakes the machine afterwards. A block that was asked for is refused if it can't be
    /// fetched; the pool's transactions wait, and the fetch is repeated.
    pub(super) fn fetch_for_build(&self, plan: Plan, lacking: &NotFetched) {
        let controls = self.controls().cloned();
        let controls = controls.filter(|_| matches!(plan, Plan::Change | Plan::Mine | Plan::Only));
        let (work, chain) = (self.context.work.clone(), self.name());
        self.has_lacked_state.store(true, Ordering::Relaxed);
        // What is being fetched already is not asked for twice, and the machine is woken once more.
        lacking.begin(Box::new(move |fetched| match (fetched, controls) {
            (Ok(()), _) => work.notify_one(),
            (Err(error), Some(controls)) => {
                controls.refuse(error);
                work.notify_one();
            }
            (Err(error), None) => {
                tracing::error!(chain, error, "no block is built: the forked state can't be read");
                tokio::spawn(async move {
                    tokio::time::sleep(RETRY).await;
                    work.notify_one();
                });
            }
        }));
    }
}

/// Executes a transaction, also before the earlier ones of its sender are in a block.
fn run(executor: &mut BlockExecutor<'_>, tx: &Transaction) -> Result<(), TxError> {
    let sender = impersonated(tx.signature());
    match executor.execute(tx, sender) {
        Err(TxError::NonceTooHigh { .. }) => executor.probe(tx, sender),
        ended => ended.map(drop),
    }
}

fn without_body(header: &Header) -> Block {
    Block {
        header: header.clone(),
        transactions: Vec::new(),
        uncles: Vec::new(),
        withdrawals: header.withdrawals_root.map(|_| Vec::new()),
        ext_data: Bytes::new(),
        ..Block::default()
    }
}
