//! Executes the calls of simulated blocks, one block after the other.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use esker_evm_state::state::{StateError, StateTries};
use esker_evm_state::types::{Header, Receipt, SealedBlock, Transaction};

use super::assemble::{Parts, assemble};
use super::sequence::NumberedBlock;
use super::transfers::Transfers;
use super::unsigned::unsigned;
use super::{
    HeaderOverrides, MAX_RETURNED_BYTES, SimulateError, SimulatedBlock, SimulationEnv,
    SimulationOptions,
};
use crate::call::{CHANGES_BETWEEN_CHECKS, CallError, CallLimits, CallOutcome, CallRequest};
use crate::executor::{BlockBody, BlockContext, Message, Origin, Runner, StateOverlay, TxError};
use crate::rules::{BlockEnd, BlockPoint, BlockStepError, ChildTerms, Dialect};

/// A simulation between two blocks.
pub(super) struct Simulation<'s, 'a> {
    env: &'s SimulationEnv<'a>,
    options: SimulationOptions,
    limits: &'s CallLimits<'a>,
    /// The state after the blocks so far; `None` while a block runs.
    state: Option<StateOverlay<'a>>,
    /// The tries after the blocks so far.
    tries: StateTries<'a>,
    /// Header and hash of the last block. The header has the extra data that fees depend on.
    parent: (Header, B256),
    /// A requested gas limit or fee recipient also applies to later blocks.
    gas_limit: Option<u64>,
    fee_recipient: Option<Address>,
    /// Gas that calls may still use.
    gas_left: u64,
    /// Bytes that calls returned and logged.
    returned: usize,
}

/// A block while its calls run.
struct OpenBlock<'r, 'a> {
    body: BlockBody<'r>,
    runner: Runner<'a, Transfers>,
    context: BlockContext,
    gas_used: u64,
    transactions: Vec<Transaction>,
    senders: Vec<Address>,
    receipts: Vec<Receipt>,
    calls: Vec<CallOutcome>,
    log_indexes: Vec<Vec<usize>>,
}

impl From<BlockStepError> for SimulateError {
    fn from(error: BlockStepError) -> Self {
        match error {
            BlockStepError::Rule(error) => error.into(),
            BlockStepError::State(error) => error.into(),
        }
    }
}

impl<'s, 'a> Simulation<'s, 'a> {
    pub(super) fn new(
        env: &'s SimulationEnv<'a>,
        state: StateOverlay<'a>,
        options: SimulationOptions,
        limits: &'s CallLimits<'a>,
    ) -> Result<Self, StateError> {
        let (rules, root) = (&*env.chain.rules, env.base.header.state_root);
        Ok(Self {
            env,
            options,
            limits,
            state: Some(state.tracking()),
            tries: StateTries::new(rules, env.view, root)?,
            parent: (env.base.header.clone(), env.base.hash),
            gas_limit: None,
            fee_recipient: None,
            gas_left: if limits.gas_cap == 0 { u64::MAX } else { limits.gas_cap },
            returned: 0,
        })
    }

    /// Executes the next block.
    pub(super) fn run(&mut self, block: NumberedBlock) -> Result<SimulatedBlock, SimulateError> {
        self.check_stop()?;
        let NumberedBlock { number, time, mut request } = block;
        let chain = self.env.chain;
        let terms = chain.rules.child_terms(&self.parent.0, time)?;
        let context = self.context(number, time, &terms, &request.header);
        let mut state = self.state.take().expect("a simulation ends with the first error");
        let moved = {
            // The overrides may be large.
            let given = std::mem::take(&mut request.state);
            given.apply(&terms.execution, &mut state, self.limits)?
        };
        let parent = BlockPoint::of(&self.parent.0);
        chain.rules.apply_forks(&parent, &context.point(), &mut state)?;
        let (machine, bounds) = (&chain.machine, self.limits.bounds);
        let transfers = Transfers::new(chain.rules.dialect());
        let mut runner = Runner::with_inspector(machine, state, &context, bounds, transfers);
        runner.move_precompiles(moved);
        self.limits.prepare(&mut runner);
        let (parent_hash, beacon_root) = (self.parent.1, request.header.beacon_root);
        let withdrawals = request.header.withdrawals.as_deref();
        let body = BlockBody { parent_hash, beacon_root, withdrawals, ..BlockBody::default() };
        chain.rules.begin_block(&body.running(&context), &mut runner)?;
        let mut open = OpenBlock {
            body,
            runner,
            context,
            gas_used: 0,
            transactions: Vec::with_capacity(request.calls.len()),
            senders: Vec::with_capacity(request.calls.len()),
            receipts: Vec::with_capacity(request.calls.len()),
            calls: Vec::with_capacity(request.calls.len()),
            log_indexes: Vec::with_capacity(request.calls.len()),
        };
        for call in request.calls {
            self.check_stop()?;
            self.call(&mut open, call)?;
        }
        self.close(open, &terms, &request.header, time)
    }

    /// The block that code sees.
    fn context(
        &mut self,
        number: u64,
        time: u64,
        terms: &ChildTerms,
        given: &HeaderOverrides,
    ) -> BlockContext {
        self.gas_limit = given.gas_limit.or(self.gas_limit);
        self.fee_recipient = given.fee_recipient.or(self.fee_recipient);
        let default_fee = if self.options.validation { terms.base_fee } else { U256::ZERO };
        let randomness = given.prev_randao.map(|seed| U256::from_be_bytes(seed.0));
        let usual = self.usual_context(time, terms);
        BlockContext {
            number: U256::from(number),
            gas_limit: self.gas_limit.unwrap_or(usual.gas_limit),
            base_fee: given.base_fee.unwrap_or(default_fee),
            coinbase: self.fee_recipient.unwrap_or(usual.coinbase),
            difficulty: randomness.or(given.difficulty).unwrap_or(usual.difficulty),
            blob_base_fee: given.blob_base_fee.unwrap_or(usual.blob_base_fee),
            ..usual
        }
    }

    /// The block that code sees without overrides.
    fn usual_context(&self, time: u64, terms: &ChildTerms) -> BlockContext {
        let parent = &self.parent.0;
        let usual = BlockContext::child(parent, time, terms);
        match self.env.chain.rules.dialect() {
            // In the standard a block that is simulated takes these from its parent, and has no randomness.
            Dialect::Standard => BlockContext {
                gas_limit: parent.gas_limit,
                coinbase: parent.coinbase,
                difficulty: terms.difficulty,
                ..usual
            },
            Dialect::Reference => usual,
        }
    }

    /// Executes a call.
    fn call(
        &mut self,
        open: &mut OpenBlock<'_, 'a>,
        mut request: CallRequest,
    ) -> Result<(), SimulateError> {
        let message = self.message(open, &mut request)?;
        let (gas, context) = (message.gas_limit, &open.context);
        let ended = match self.options.trace_transfers {
            true => open.runner.inspect(context, &message),
            false => open.runner.run(context, &message),
        };
        self.limits.add_console(&mut open.runner);
        let ended = ended.map_err(|error| self.refusal(error, gas))?;
        open.runner.commit()?;
        self.gas_left -= ended.gas_used;
        open.gas_used += ended.gas_used;
        let tx = unsigned(&message, &request, open.runner.chain_id()?)?;
        open.receipts.push(ended.clone().into_receipt(&tx, &message, open.gas_used));
        let mut outcome = CallOutcome::from_end(ended);
        let transfers = open.runner.inspector();
        let indexes = if self.options.trace_transfers {
            let (indexes, logs) = transfers.take();
            outcome.logs = logs;
            indexes
        } else {
            transfers.skip(outcome.logs.len())
        };
        self.count(&outcome)?;
        open.transactions.push(tx);
        open.senders.push(message.from);
        open.calls.push(outcome);
        open.log_indexes.push(indexes);
        Ok(())
    }

    /// The message of a call, with defaults for missing fields.
    fn message(
        &self,
        open: &mut OpenBlock<'_, 'a>,
        request: &mut CallRequest,
    ) -> Result<Message, SimulateError> {
        let has_blobs = request.blob_hashes.is_some()
            || request.max_fee_per_blob_gas.is_some_and(|fee| !fee.is_zero());
        if has_blobs && open.context.rules.blobs.is_none() {
            return Err(SimulateError::Blobs);
        }
        let want = open.runner.chain_id()?;
        if let Some(have) = request.chain_id.filter(|have| *have != want) {
            return Err(SimulateError::ChainId { have, want });
        }
        let from = request.from.unwrap_or_default();
        if request.nonce.is_none() {
            request.nonce = Some(open.runner.state().nonce(from)?);
        }
        let limit = open.context.gas_limit;
        let gas = request.gas.unwrap_or(limit.saturating_sub(open.gas_used));
        let wanted = open.gas_used.saturating_add(gas);
        if wanted > limit {
            return Err(SimulateError::BlockGasLimit { wanted, limit });
        }
        let gas_limit = gas.min(self.gas_left);
        let origin = if self.options.validation { Origin::Simulated } else { Origin::Call };
        Ok(Message { gas_limit, origin, ..request.message(0)? })
    }

    /// Ends a block and creates its header.
    fn close(
        &mut self,
        open: OpenBlock<'_, 'a>,
        terms: &ChildTerms,
        given: &HeaderOverrides,
        time: u64,
    ) -> Result<SimulatedBlock, SimulateError> {
        let OpenBlock { mut runner, context, gas_used, transactions, receipts, .. } = open;
        let (senders, calls, log_indexes) = (open.senders, open.calls, open.log_indexes);
        let rules = &self.env.chain.rules;
        let end: BlockEnd =
            rules.end_block(&open.body.running(&context), &receipts, &mut runner)?;
        let (mut state, _) = runner.into_parts();
        let state_root = self.root_after(&mut state)?;
        self.state = Some(state);
        let receipts = &receipts;
        let parts = Parts { time, state_root, gas_used, transactions, receipts, end };
        let (block, extra) = assemble(&**rules, &self.parent, terms, &context, given, parts)?;
        let hash = rules.block_hash(&block.header);
        self.parent = (Header { extra, ..block.header.clone() }, hash);
        let size = rules.encode_block(&block).len();
        let block = Arc::new(SealedBlock { block, hash, size });
        Ok(SimulatedBlock { block, senders, calls, log_indexes })
    }

    /// The root of the state after a block.
    fn root_after(&mut self, state: &mut StateOverlay<'a>) -> Result<B256, SimulateError> {
        let Self { tries, limits, .. } = self;
        let mut changed = 0_usize;
        state.drain_changes(|address, change| {
            changed += 1;
            if changed.is_multiple_of(CHANGES_BETWEEN_CHECKS) {
                limits.check()?;
            }
            tries.change(&address, &change)?;
            Ok::<_, SimulateError>(())
        })?;
        let root = tries.root();
        self.check_stop()?;
        Ok(root)
    }

    /// Fails if the time is over or the client is gone.
    fn check_stop(&self) -> Result<(), SimulateError> {
        Ok(self.limits.check()?)
    }

    fn refusal(&self, error: TxError, gas: u64) -> SimulateError {
        match error {
            TxError::Stopped(_) | TxError::State(_) => {
                CallError::from_tx_error(error, gas, self.limits.timeout).into()
            }
            error => SimulateError::Refused { error, gas },
        }
    }

    /// Enforces the limit on the bytes that calls return and log.
    fn count(&mut self, outcome: &CallOutcome) -> Result<(), SimulateError> {
        let logged = outcome.logs.iter().map(|log| log.data.data.len() + LOG_BYTES);
        self.returned += outcome.output.len() + logged.sum::<usize>();
        if self.returned > MAX_RETURNED_BYTES {
            return Err(SimulateError::TooMuchData(MAX_RETURNED_BYTES));
        }
        Ok(())
    }
}

/// Bytes that a log counts besides its data: address, topics, location.
const LOG_BYTES: usize = 200;
