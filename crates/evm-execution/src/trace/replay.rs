//! Executes the transactions of a block again, and calls, with tracers.

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use esker_evm_state::state::{StateError, StateTries, StateView};
use esker_evm_state::types::{Header, Transaction};

use super::{Observer, TraceError, TraceOutput, Tracer, TxPlace};
use crate::call::{self, BlockOverrides, CallEnv, CallError, CallLimits, CallRequest};
use crate::executor::{
    BlockBody, BlockContext, BlockHashes, Bounds, ChainParams, ExecutionEnd, Message, Runner,
    StateOverlay, TxError, check_signature_form, sender_of,
};
use crate::rules::{BlockPoint, BlockStepError, Rules};

/// A block whose transactions are executed again in their order.
#[derive(Debug)]
pub struct BlockReplay<'a, 'o> {
    runner: Runner<'a, Observer<'o>>,
    block: BlockContext,
    rules: Arc<dyn Rules>,
}

/// The environment of a replayed block.
#[derive(Clone, Copy)]
pub struct ReplayEnv<'a> {
    /// The chain.
    pub chain: &'a ChainParams,
    /// The state after the parent.
    pub view: StateView<'a>,
    /// Hashes of the parent and its ancestors.
    pub hashes: &'a dyn BlockHashes,
    /// Memory limit and stop check.
    pub bounds: Bounds<'a>,
}

impl std::fmt::Debug for ReplayEnv<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplayEnv").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

impl<'a, 'o> BlockReplay<'a, 'o> {
    /// Begins the block of `header` as in its first execution. Tracers write to `out`.
    pub fn new(
        env: &ReplayEnv<'a>,
        parent: &Header,
        header: &Header,
        out: &'o mut dyn TraceOutput,
    ) -> Result<Self, TraceError> {
        let chain = env.chain;
        let block = BlockContext::for_header(chain, header)
            .map_err(|error| TraceError::Failed(error.to_string()))?;
        let (machine, rules) = (&chain.machine, Arc::clone(&chain.rules));
        let mut state = StateOverlay::new(env.view, env.hashes, machine.codes.clone()).tracking();
        let point = BlockPoint::of(header);
        rules.apply_forks(&BlockPoint::of(parent), &point, &mut state).map_err(TxError::State)?;
        let observer = Observer::new(out);
        let mut runner = Runner::with_inspector(machine, state, &block, env.bounds, observer);
        rules.begin_block(&BlockBody::of_header(header).running(&block), &mut runner)?;
        Ok(Self { runner, block, rules })
    }

    fn message(&mut self, tx: &Transaction, sender: Option<Address>) -> Result<Message, TxError> {
        self.runner.check_chain_id(tx)?;
        match sender {
            Some(sender) => Ok(Message::from_tx(tx, sender)),
            None => signed_message(tx, &self.block, &*self.rules),
        }
    }

    /// Executes the next transaction without a tracer. A known `sender` saves the recovery from its signature.
    pub fn run(
        &mut self,
        tx: &Transaction,
        sender: Option<Address>,
    ) -> Result<ExecutionEnd, TraceError> {
        let message = self.message(tx, sender)?;
        let ended = self.runner.run(&self.block, &message)?;
        self.runner.commit().map_err(TxError::State)?;
        Ok(ended)
    }

    /// Executes the next transaction with a tracer, which writes its result.
    pub fn trace(
        &mut self,
        tx: &Transaction,
        sender: Option<Address>,
        block_hash: B256,
        tx_index: usize,
        tracer: Box<dyn Tracer>,
    ) -> Result<ExecutionEnd, TraceError> {
        let message = self.message(tx, sender)?;
        let place = TxPlace {
            block_hash: Some(block_hash),
            tx_index: Some(tx_index),
            tx_hash: Some(*tx.tx_hash()),
        };
        let ended = self.runner.trace(&self.block, &message, place, tracer)?;
        self.runner.commit().map_err(TxError::State)?;
        Ok(ended)
    }

    /// The output.
    pub fn out(&mut self) -> &mut dyn TraceOutput {
        self.runner.inspector().out()
    }

    /// The root of the state after the transactions since the last call.
    pub fn root(&mut self, tries: &mut StateTries<'_>) -> Result<B256, StateError> {
        tries.apply(&self.runner.state().take_changes())
    }
}

impl From<BlockStepError> for TraceError {
    fn from(error: BlockStepError) -> Self {
        match error {
            BlockStepError::State(error) => TxError::State(error).into(),
            BlockStepError::Rule(error) => Self::Failed(error.to_string()),
        }
    }
}

/// Calls and signed transactions with tracers, each on the state that those before it left.
#[derive(Debug)]
pub struct CallReplay<'a, 'o> {
    runner: Runner<'a, Observer<'o>>,
    block: BlockContext,
    gas_cap: u64,
    rules: Arc<dyn Rules>,
}

impl<'a, 'o> CallReplay<'a, 'o> {
    /// Begins on the state of the environment with these overrides. Tracers write to `out`.
    pub fn new(
        env: &'a CallEnv<'a>,
        (state, block): (&call::StateOverrides, &BlockOverrides),
        limits: &CallLimits<'a>,
        out: &'o mut dyn TraceOutput,
    ) -> Result<Self, TraceError> {
        let block = block.apply(env);
        let overlay = call::overlay(env, state, limits).map_err(refused)?;
        let (machine, rules) = (&env.chain.machine, Arc::clone(&env.chain.rules));
        let observer = Observer::new(out);
        let runner = Runner::with_inspector(machine, overlay, &block, limits.bounds, observer);
        Ok(Self { runner, block, gas_cap: limits.gas_cap, rules })
    }

    /// Makes a call with a tracer, which writes its result.
    pub fn call(
        &mut self,
        request: &CallRequest,
        tracer: Box<dyn Tracer>,
    ) -> Result<ExecutionEnd, TraceError> {
        let message = request.message(self.gas_cap).map_err(refused)?;
        self.trace(&message, TxPlace::default(), tracer)
    }

    /// Executes a signed transaction with a tracer, which writes its result.
    pub fn transaction(
        &mut self,
        tx: &Transaction,
        tracer: Box<dyn Tracer>,
    ) -> Result<ExecutionEnd, TraceError> {
        self.runner.check_chain_id(tx)?;
        let message = signed_message(tx, &self.block, &*self.rules)?;
        let place = TxPlace { tx_hash: Some(*tx.tx_hash()), ..TxPlace::default() };
        self.trace(&message, place, tracer)
    }

    fn trace(
        &mut self,
        message: &Message,
        place: TxPlace,
        tracer: Box<dyn Tracer>,
    ) -> Result<ExecutionEnd, TraceError> {
        let ended = self.runner.trace(&self.block, message, place, tracer)?;
        self.runner.commit().map_err(TxError::State)?;
        Ok(ended)
    }

    /// The output.
    pub fn out(&mut self) -> &mut dyn TraceOutput {
        self.runner.inspector().out()
    }
}

/// The message of a transaction, whose sender follows from its signature.
fn signed_message(
    tx: &Transaction,
    block: &BlockContext,
    rules: &dyn Rules,
) -> Result<Message, TxError> {
    check_signature_form(&block.rules, tx)?;
    Ok(Message::from_tx(tx, sender_of(tx, rules)?))
}

fn refused(error: CallError) -> TraceError {
    match error {
        CallError::State(error) => TxError::State(error).into(),
        error => TraceError::Failed(error.to_string()),
    }
}

/// Makes a call with a tracer, which writes its result. The call does not change the state.
pub fn trace_call<'a>(
    env: &'a CallEnv<'a>,
    request: &CallRequest,
    state: &call::StateOverrides,
    block: &BlockOverrides,
    limits: &CallLimits<'a>,
    tracer: Box<dyn Tracer>,
    out: &mut dyn TraceOutput,
) -> Result<ExecutionEnd, TraceError> {
    CallReplay::new(env, (state, block), limits, out)?.call(request, tracer)
}
