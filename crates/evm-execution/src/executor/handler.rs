//! The steps of a transaction under the rules of a block: who gets the fees, whether gas is refunded, and calls that
//! also send other assets.

use std::marker::PhantomData;

use alloy_primitives::{Address, Bytes, U256};
use revm::Inspector;
use revm::context::Evm;
use revm::context::journaled_state::account::JournaledAccountTr;
use revm::context_interface::context::take_error;
use revm::context_interface::result::{EVMError, HaltReason};
use revm::context_interface::{Cfg, ContextTr, JournalTr};
use revm::handler::instructions::EthInstructions;
use revm::handler::post_execution::refund;
use revm::handler::pre_execution::apply_eip7702_auth_list;
use revm::handler::{EthFrame, EvmTr, FrameResult, Handler, ItemOrResult};
use revm::inspector::handler::{frame_end, frame_start};
use revm::inspector::{InspectorHandler, inspect_instructions};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{
    CallInput, CallInputs, CreateInputs, CreateOutcome, FrameInput, Gas, GasTracker,
    InitialAndFloorGas, InstructionResult, InterpreterResult,
};
use revm::primitives::constants::CALL_STACK_LIMIT;
use revm::state::Account;

use super::database::DatabaseError;
use super::ends::frame_error;
use super::env::{ChainEnv, EvmContext};
use super::native_asset::{self, AssetCallStart, OpenAssetCall};
use super::precompiles::Precompiles;
use super::{VmError, is_prohibited};
use crate::rules::{BaseFeeUse, StorageKeys};

/// Work of beginning a frame besides the gas of the call, as gas.
const FRAME_WORK: u64 = 400;
/// Bytes of a frame's input that count as one gas.
const INPUT_BYTES_PER_GAS: u64 = 16;

/// The type of revm's EVM with the parts of this chain.
pub(super) type Machine<'a, I> = Evm<
    EvmContext<'a>,
    I,
    EthInstructions<EthInterpreter, EvmContext<'a>>,
    Precompiles,
    EthFrame<EthInterpreter>,
>;

/// The steps of a transaction. [`super::check`] has already made the checks that Ethereum makes first.
pub(super) struct ChainHandler<'a, I>(PhantomData<Machine<'a, I>>);

impl<I> Default for ChainHandler<'_, I> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

type Error = EVMError<DatabaseError>;
type Step = ItemOrResult<FrameInit, FrameResult>;

impl<'a, I> Handler for ChainHandler<'a, I> {
    type Evm = Machine<'a, I>;
    type Error = Error;
    type HaltReason = HaltReason;

    fn validate(&self, evm: &mut Self::Evm) -> Result<InitialAndFloorGas, Error> {
        let EvmContext { tx, journaled_state, chain, .. } = &mut evm.ctx;
        let mut caller = journaled_state.load_account_mut(tx.caller)?.data;
        caller.decr_balance(chain.prepaid);
        if tx.kind.is_call() && !caller.bump_nonce() {
            // Only a call whose nonce is not checked gets here. As in the reference, the nonce wraps.
            caller.set_nonce(0);
        }
        Ok(InitialAndFloorGas::new(chain.intrinsic_gas, chain.floor_gas))
    }

    fn apply_eip7702_auth_list(
        &self,
        evm: &mut Self::Evm,
        gas: &mut GasTracker,
    ) -> Result<Option<u64>, Error> {
        let refund = apply_eip7702_auth_list::<_, Error>(&mut evm.ctx, gas)?;
        evm.ctx.chain.refunds.begin(refund.unwrap_or_default());
        Ok(refund)
    }

    fn run_exec_loop(
        &mut self,
        evm: &mut Self::Evm,
        first: FrameInit,
    ) -> Result<FrameResult, Error> {
        run_frames::<I, PlainFrames>(evm, first)
    }

    /// `of_authorizations` is the refund for authorizations of accounts that existed.
    fn refund(
        &self,
        evm: &mut Self::Evm,
        result: &mut FrameResult,
        of_authorizations: i64,
    ) -> Result<(), Error> {
        match evm.ctx.chain.rules.refunds {
            true => refund(evm.ctx.cfg.gas_params(), result.gas_mut(), of_authorizations),
            false => result.gas_mut().set_refund(0),
        }
        Ok(())
    }

    fn reimburse_caller(&self, evm: &mut Self::Evm, result: &mut FrameResult) -> Result<(), Error> {
        let EvmContext { tx, journaled_state, chain, .. } = &mut evm.ctx;
        let gas = result.gas();
        let unused = chain.gas_price * U256::from(gas.remaining() + gas.refunded().unsigned_abs());
        journaled_state.load_account_mut(tx.caller)?.incr_balance(unused);
        Ok(())
    }

    /// The fee goes to the coinbase, with or without the base fee.
    fn reward_beneficiary(
        &self,
        evm: &mut Self::Evm,
        result: &mut FrameResult,
    ) -> Result<(), Error> {
        let EvmContext { block, journaled_state, chain, .. } = &mut evm.ctx;
        let price = match chain.rules.base_fee {
            BaseFeeUse::ToCoinbase => chain.gas_price,
            BaseFeeUse::Burnt => chain.gas_price.saturating_sub(chain.base_fee),
        };
        let fee = price * U256::from(result.gas().used());
        journaled_state.load_account_mut(block.beneficiary)?.incr_balance(fee);
        Ok(())
    }
}

impl<'a, I> InspectorHandler for ChainHandler<'a, I>
where
    I: Inspector<EvmContext<'a>, EthInterpreter>,
{
    type IT = EthInterpreter;

    fn inspect_run_exec_loop(
        &mut self,
        evm: &mut Self::Evm,
        first: FrameInit,
    ) -> Result<FrameResult, Error> {
        run_frames::<I, InspectedFrames>(evm, first)
    }
}

/// Begins and runs frames.
trait Frames<'a, I> {
    /// Begins a frame. Returns its result if it did not need to run.
    fn init(evm: &mut Machine<'a, I>, init: FrameInit) -> Result<Option<FrameResult>, Error>;

    /// Runs the innermost frame until it ends or calls.
    fn run(evm: &mut Machine<'a, I>) -> Result<Step, Error>;

    /// Called when a call that sends another asset begins. The precompiled contract makes the call itself, in a frame
    /// of its own. Returns the input of [`Self::asset_call_end`].
    fn asset_call(evm: &mut Machine<'a, I>, inputs: &CallInputs) -> Option<Box<CallInputs>>;

    /// Called when a call that sends another asset has ended.
    fn asset_call_end(evm: &mut Machine<'a, I>, inputs: &CallInputs, result: &mut FrameResult);
}

/// Frames without an inspector.
struct PlainFrames;

impl<'a, I> Frames<'a, I> for PlainFrames {
    fn init(evm: &mut Machine<'a, I>, init: FrameInit) -> Result<Option<FrameResult>, Error> {
        Ok(immediate_result(evm.frame_init(init)?))
    }

    fn run(evm: &mut Machine<'a, I>) -> Result<Step, Error> {
        Ok(evm.frame_run()?)
    }

    fn asset_call(_: &mut Machine<'a, I>, _: &CallInputs) -> Option<Box<CallInputs>> {
        None
    }

    fn asset_call_end(_: &mut Machine<'a, I>, _: &CallInputs, _: &mut FrameResult) {}
}

/// Frames with an inspector.
struct InspectedFrames;

impl<'a, I> Frames<'a, I> for InspectedFrames
where
    I: Inspector<EvmContext<'a>, EthInterpreter>,
{
    fn init(evm: &mut Machine<'a, I>, init: FrameInit) -> Result<Option<FrameResult>, Error> {
        inspect_init(evm, init)
    }

    fn run(evm: &mut Machine<'a, I>) -> Result<Step, Error> {
        inspect_run(evm)
    }

    fn asset_call(evm: &mut Machine<'a, I>, inputs: &CallInputs) -> Option<Box<CallInputs>> {
        let mut inputs = Box::new(inputs.clone());
        // The input is copied, because the callee uses the same memory until the end.
        inputs.input = CallInput::Bytes(inputs.input.bytes(&evm.ctx));
        evm.inspector.call(&mut evm.ctx, &mut inputs);
        Some(inputs)
    }

    fn asset_call_end(evm: &mut Machine<'a, I>, inputs: &CallInputs, result: &mut FrameResult) {
        if let FrameResult::Call(outcome) = result {
            evm.inspector.call_end(&mut evm.ctx, inputs, outcome);
        }
    }
}

/// revm's `inspect_frame_init`, with [`ChainEnv::frame_error`] for the inspector.
fn inspect_init<'a, I>(
    evm: &mut Machine<'a, I>,
    mut init: FrameInit,
) -> Result<Option<FrameResult>, Error>
where
    I: Inspector<EvmContext<'a>, EthInterpreter>,
{
    if let Some(mut result) = frame_start(&mut evm.ctx, &mut evm.inspector, &mut init.frame_input) {
        frame_end(&mut evm.ctx, &mut evm.inspector, &init.frame_input, &mut result);
        return Ok(Some(result));
    }
    let input = init.frame_input.clone();
    let logs_before = evm.ctx.journaled_state.logs().len();
    let result = immediate_result(evm.frame_init(init)?);
    // The logs of a failed precompiled contract are already removed.
    for at in logs_before..evm.ctx.journaled_state.logs().len() {
        let log = evm.ctx.journaled_state.logs()[at].clone();
        evm.inspector.log(&mut evm.ctx, log);
    }
    match result {
        Some(mut result) => {
            evm.ctx.chain.frame_error = frame_error(&result, None, &evm.ctx.chain);
            frame_end(&mut evm.ctx, &mut evm.inspector, &input, &mut result);
            Ok(Some(result))
        }
        None => {
            let frame = evm.frame_stack.get();
            evm.inspector.initialize_interp(&mut frame.interpreter, &mut evm.ctx);
            Ok(None)
        }
    }
}

/// revm's `inspect_frame_run`, with [`ChainEnv::frame_error`] for the inspector, which may want no instructions.
fn inspect_run<'a, I>(evm: &mut Machine<'a, I>) -> Result<Step, Error>
where
    I: Inspector<EvmContext<'a>, EthInterpreter>,
{
    let (instructions, gas) = (evm.instruction.instruction_table(), evm.instruction.gas_table());
    evm.ctx.chain.refunds.frame_runs(evm.frame_stack.index().unwrap_or_default());
    let frame = evm.frame_stack.get();
    let action = match evm.ctx.chain.skips_steps {
        true => frame.interpreter.run_plain(instructions, gas, &mut evm.ctx),
        false => inspect_instructions(
            &mut evm.ctx,
            &mut frame.interpreter,
            &mut evm.inspector,
            instructions,
            gas,
        ),
    };
    let mut next: Step = frame.process_next_action::<_, Error>(&mut evm.ctx, action)?;
    match &mut next {
        ItemOrResult::Item(_) => {
            evm.ctx.chain.refunds.frame_calls(frame.interpreter.gas.refunded());
        }
        ItemOrResult::Result(result) => {
            evm.ctx.chain.frame_error = frame_error(result, Some(frame), &evm.ctx.chain);
            frame_end(&mut evm.ctx, &mut evm.inspector, &frame.input, result);
            frame.set_finished(true);
        }
    }
    Ok(next)
}

/// The result of a frame that did not need to run.
fn immediate_result(init: ItemOrResult<&mut EthFrame, FrameResult>) -> Option<FrameResult> {
    match init {
        ItemOrResult::Item(_) => None,
        ItemOrResult::Result(result) => Some(result),
    }
}

/// Runs frames until the outermost one has ended, and records its error.
fn run_frames<'a, I, F: Frames<'a, I>>(
    evm: &mut Machine<'a, I>,
    first: FrameInit,
) -> Result<FrameResult, Error> {
    let mut open = Vec::new();
    if let Some(result) = enter::<I, F>(evm, first, &mut open)? {
        check_try(&mut evm.ctx.chain, &result)?;
        evm.ctx.chain.end = frame_error(&result, None, &evm.ctx.chain);
        return Ok(result);
    }
    loop {
        let result = match run_frame::<I, F>(evm)? {
            ItemOrResult::Item(next) => match enter::<I, F>(evm, next, &mut open)? {
                Some(result) => result,
                None => continue,
            },
            ItemOrResult::Result(mut result) => {
                let index = evm.frame_stack.index().expect("a frame has just run");
                if let Some(call) = open.pop_if(|call| call.frame == index) {
                    result = leave_asset_call::<I, F>(evm, call, result);
                }
                note_destroyed(&mut evm.ctx.chain, &result);
                if index == 0 {
                    let frame = evm.frame_stack.get();
                    evm.ctx.chain.end = frame_error(&result, Some(frame), &evm.ctx.chain);
                }
                result
            }
        };
        take_error::<Error, _>(evm.ctx.error())?;
        check_try(&mut evm.ctx.chain, &result)?;
        if let Some(result) = evm.frame_return_result(result)? {
            return Ok(result);
        }
    }
}

/// Counts the account that a SELFDESTRUCT pays as called.
fn note_destroyed(chain: &mut ChainEnv<'_>, result: &FrameResult) {
    // It was the last instruction of the frame, also where it ended a creation, whose result does not say so.
    if let Some(called) = &mut chain.called
        && let Some((to, _)) = chain.destroyed.take()
        && result.instruction_result().is_ok()
    {
        called.push(to);
    }
}

/// Runs the innermost frame, and counts its work.
fn run_frame<'a, I, F: Frames<'a, I>>(evm: &mut Machine<'a, I>) -> Result<Step, Error> {
    let gas_left = evm.frame_stack.get().interpreter.gas.remaining();
    evm.ctx.chain.frame_runs(gas_left);
    let next = F::run(evm)?;
    let for_call = match &next {
        ItemOrResult::Item(call) => match &call.frame_input {
            FrameInput::Call(inputs) => inputs.gas_limit,
            FrameInput::Create(inputs) => inputs.gas_limit(),
            FrameInput::Empty => 0,
        },
        ItemOrResult::Result(_) => 0,
    };
    let gas_left = evm.frame_stack.get().interpreter.gas.remaining();
    evm.ctx.chain.frame_rests(gas_left.saturating_add(for_call));
    Ok(next)
}

/// Ends a call with assets after the call that it made.
fn leave_asset_call<'a, I, F: Frames<'a, I>>(
    evm: &mut Machine<'a, I>,
    call: OpenAssetCall,
    result: FrameResult,
) -> FrameResult {
    let mut result = native_asset::settle(&mut evm.ctx, call.checkpoint, result);
    if let Some(inputs) = &call.inputs {
        // It fails like the call that it made: `frame_error` is still that of this call.
        F::asset_call_end(evm, inputs, &mut result);
    }
    result
}

/// Ends a try whose code lost all its gas: with more gas, it or its caller could continue.
fn check_try(chain: &mut ChainEnv<'_>, result: &FrameResult) -> Result<(), Error> {
    let lost = !result.instruction_result().is_ok_or_revert();
    if lost && chain.end_try() {
        return Err(EVMError::Custom("stopped".into()));
    }
    Ok(())
}

/// Work of beginning a frame, as gas. An inspector copies the input.
fn frame_work(input: &FrameInput) -> u64 {
    let length = match input {
        FrameInput::Call(inputs) => inputs.input.len(),
        FrameInput::Create(inputs) => inputs.init_code().len(),
        FrameInput::Empty => 0,
    };
    FRAME_WORK + length as u64 / INPUT_BYTES_PER_GAS
}

/// Begins a frame. Returns its result if it did not need to run.
fn enter<'a, I, F: Frames<'a, I>>(
    evm: &mut Machine<'a, I>,
    mut frame: FrameInit,
    open: &mut Vec<OpenAssetCall>,
) -> Result<Option<FrameResult>, Error> {
    evm.ctx.chain.failure = None;
    if evm.ctx.chain.spend(frame_work(&frame.frame_input)) {
        return Err(EVMError::Custom("stopped".into()));
    }
    let mut asset_call = None;
    let mut created = None;
    match &mut frame.frame_input {
        FrameInput::Create(inputs) => match begin_creation(&mut evm.ctx, inputs, frame.depth)? {
            Ok(address) => created = Some(address),
            Err(result) => {
                return Ok(Some(FrameResult::Create(creation_end(inputs.gas_limit(), result))));
            }
        },
        FrameInput::Call(inputs) if native_asset::is_call(&evm.ctx, inputs) => {
            let shown = F::asset_call(evm, inputs);
            match native_asset::begin(&mut evm.ctx, inputs, &mut frame.depth)? {
                AssetCallStart::Ended(outcome) => {
                    let mut result = FrameResult::Call(outcome);
                    evm.ctx.chain.frame_error = frame_error(&result, None, &evm.ctx.chain);
                    if let Some(inputs) = &shown {
                        F::asset_call_end(evm, inputs, &mut result);
                    }
                    return Ok(Some(result));
                }
                AssetCallStart::Open(checkpoint) => asset_call = Some((checkpoint, shown)),
            }
        }
        FrameInput::Call(_) | FrameInput::Empty => {}
    }
    let called = created.or_else(|| called_by(&frame.frame_input));
    let result = F::init(evm, frame)?;
    if let (Some(all), Some(called)) = (&mut evm.ctx.chain.called, called)
        && has_begun(result.as_ref())
    {
        all.push(called);
    }
    let Some((checkpoint, inputs)) = asset_call else { return Ok(result) };
    let mut call = OpenAssetCall { frame: 0, checkpoint, inputs };
    match result {
        Some(result) => Ok(Some(leave_asset_call::<I, F>(evm, call, result))),
        None => {
            call.frame = evm.frame_stack.index().expect("a frame has just begun");
            open.push(call);
            Ok(None)
        }
    }
}

/// The account whose code a call runs.
fn called_by(input: &FrameInput) -> Option<Address> {
    match input {
        FrameInput::Call(inputs) => Some(inputs.bytecode_address),
        FrameInput::Create(_) | FrameInput::Empty => None,
    }
}

/// Whether a frame was not refused, if this is the result that it had at once. Calls of accounts without code, and of
/// precompiled contracts, have begun although no frame runs.
fn has_begun(result: Option<&FrameResult>) -> bool {
    match result {
        None => true,
        Some(FrameResult::Create(_)) => false,
        Some(FrameResult::Call(outcome)) => !matches!(
            outcome.result.result,
            InstructionResult::CallTooDeep
                | InstructionResult::OutOfFunds
                | InstructionResult::OverflowPayment
        ),
    }
}

/// The address of a contract to create, or why its creation does not begin, besides the reasons that revm knows.
fn begin_creation(
    context: &mut EvmContext<'_>,
    inputs: &CreateInputs,
    depth: usize,
) -> Result<Result<Address, InstructionResult>, DatabaseError> {
    let creator = &context.journaled_state.load_account(inputs.caller())?.info;
    let (nonce, has_funds) = (creator.nonce, creator.balance >= inputs.value());
    let created = inputs.created_address(nonce);
    if context.chain.rules.reserves_addresses && is_prohibited(&created) {
        context.chain.failure = Some(VmError::Prohibited);
        return Ok(Err(InstructionResult::OutOfFunds));
    }
    // Where balances of assets are slots, an account without code may have slots.
    let begins = depth <= CALL_STACK_LIMIT as usize && has_funds && nonce < u64::MAX;
    if context.chain.rules.storage_keys != StorageKeys::Whole || !begins {
        return Ok(Ok(created));
    }
    // EIP-7610: slots are enough for a collision.
    let is_new = context.journaled_state.inner.state.get(&created).is_some_and(Account::is_created);
    if is_new || !context.journaled_state.database.has_storage(created)? {
        return Ok(Ok(created));
    }
    context.journaled_state.load_account_mut(inputs.caller())?.data.bump_nonce();
    context.journaled_state.load_account(created)?;
    Ok(Err(InstructionResult::CreateCollision))
}

/// The outcome of a creation that did not begin.
fn creation_end(gas_limit: u64, result: InstructionResult) -> CreateOutcome {
    CreateOutcome::new(
        InterpreterResult { result, output: Bytes::new(), gas: Gas::new(gas_limit) },
        None,
    )
}
