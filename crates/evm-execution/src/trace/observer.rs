//! Translates revm's hooks to geth's.
//!
//! The differences: revm begins frames that geth refuses before it shows them; geth knows the cost of an instruction
//! before it runs; geth shows SELFDESTRUCT as a frame; and geth's errors have texts.

use std::fmt;

use alloy_primitives::{Address, Bytes, U256};
use alloy_trie::KECCAK_EMPTY;
use revm::Inspector;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{Jumps, LoopControl};
use revm::interpreter::{
    CallInputs, CallOutcome, CallScheme, CallValue, CreateInputs, CreateOutcome, CreateScheme,
    InstructionResult, Interpreter, InterpreterAction, InterpreterResult,
};
use revm::primitives::constants::CALL_STACK_LIMIT;

use super::{
    FrameEnd, FrameKind, FrameStart, Step, StepFilter, TraceContext, TraceError, TraceOutput,
    TraceResult, Tracer, TxStart, account,
};
use crate::executor::{
    EvmContext, ExecutionEnd, halt_error, price, refund_counter, stop_execution,
};

/// Work of showing an instruction, as gas.
const STEP_WORK: u64 = 100;

/// Shows a tracer the events of revm.
pub struct Observer<'o> {
    tracer: Option<Box<dyn Tracer>>,
    out: &'o mut dyn TraceOutput,
    filter: StepFilter,
    frames: Vec<OpenFrame>,
    /// The last shown instruction: position, cost, gas.
    shown: Option<LastStep>,
    failed: Option<TraceError>,
}

#[derive(Clone, Copy)]
struct LastStep {
    pc: u64,
    op: u8,
    gas: u64,
    cost: u64,
}

struct OpenFrame {
    kind: FrameKind,
    gas: u64,
    /// Whether the frame was refused: the tracer has not seen it.
    is_refused: bool,
}

impl fmt::Debug for Observer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("frames", &self.frames.len()).finish_non_exhaustive()
    }
}

impl<'o> Observer<'o> {
    /// An observer without a tracer, whose tracers write to `out`.
    pub fn new(out: &'o mut dyn TraceOutput) -> Self {
        Self {
            tracer: None,
            out,
            filter: StepFilter::NONE,
            frames: Vec::new(),
            shown: None,
            failed: None,
        }
    }

    /// The output.
    pub fn out(&mut self) -> &mut dyn TraceOutput {
        self.out
    }

    /// Begins a transaction with a tracer.
    pub(crate) fn start(
        &mut self,
        mut tracer: Box<dyn Tracer>,
        tx: &TxStart<'_>,
        evm: &mut EvmContext<'_>,
    ) -> TraceResult {
        self.filter = tracer.steps();
        self.frames.clear();
        self.shown = None;
        evm.chain.skip_steps(self.filter.is_none());
        tracer.start(tx, &mut TraceContext { evm, out: self.out })?;
        self.tracer = Some(tracer);
        Ok(())
    }

    /// Takes the error of the tracer, if it failed.
    pub(crate) fn take_failure(&mut self) -> Option<TraceError> {
        self.failed.take()
    }

    /// Ends the transaction: the tracer writes its result.
    pub(crate) fn end(&mut self, end: &ExecutionEnd, evm: &mut EvmContext<'_>) -> TraceResult {
        let Some(mut tracer) = self.tracer.take() else { return Ok(()) };
        tracer.end(end, &mut TraceContext { evm, out: self.out })?;
        tracer.write(self.out)?;
        self.out.checkpoint()?;
        Ok(())
    }

    /// Calls a hook, unless a hook has failed. An error ends the execution.
    fn show(
        &mut self,
        evm: &mut EvmContext<'_>,
        hook: impl FnOnce(&mut dyn Tracer, &mut TraceContext<'_, '_>) -> TraceResult,
    ) {
        if self.failed.is_some() {
            return;
        }
        let Some(tracer) = &mut self.tracer else { return };
        let shown = hook(&mut **tracer, &mut TraceContext { evm, out: self.out });
        if let Err(error) = shown {
            self.failed = Some(error);
            evm.chain.abort();
        }
    }

    fn enter(&mut self, evm: &mut EvmContext<'_>, is_refused: bool, frame: FrameStart<'_>) {
        self.frames.push(OpenFrame { kind: frame.kind, gas: frame.gas, is_refused });
        if !is_refused {
            self.show(evm, |tracer, context| tracer.enter(&frame, context));
        }
    }

    fn exit(&mut self, evm: &mut EvmContext<'_>, contract: Address, result: &InterpreterResult) {
        let Some(frame) = self.frames.pop() else { return };
        if frame.is_refused {
            return;
        }
        let depth = self.frames.len();
        // A SELFDESTRUCT was the last instruction of the frame, also where it ended a creation, whose result does not say so.
        if let Some(paid) = evm.chain.take_destroyed().filter(|_| result.result.is_ok()) {
            self.destroyed(evm, contract, paid, depth + 1);
        }
        let error = evm.chain.frame_error().cloned();
        let keeps_gas = result.result.is_ok_or_revert();
        let end = FrameEnd {
            kind: frame.kind,
            depth,
            output: &result.output,
            gas_used: match keeps_gas {
                true => frame.gas.saturating_sub(result.gas.remaining()),
                false => frame.gas,
            },
            error: error.as_ref(),
        };
        self.show(evm, |tracer, context| tracer.exit(&end, context));
    }

    /// Shows a SELFDESTRUCT, for which geth shows a frame without code.
    fn destroyed(
        &mut self,
        evm: &mut EvmContext<'_>,
        contract: Address,
        (to, balance): (Address, U256),
        depth: usize,
    ) {
        let input = Bytes::new();
        let kind = FrameKind::SelfDestruct;
        let start = FrameStart {
            kind,
            depth,
            from: contract,
            to,
            input: &input,
            gas: 0,
            value: Some(balance),
        };
        let end = FrameEnd { kind, depth, output: &input, gas_used: 0, error: None };
        self.show(evm, |tracer, context| {
            tracer.enter(&start, context)?;
            tracer.exit(&end, context)
        });
    }

    /// Whether a frame at the current depth with this value is refused.
    fn is_refused(&self, evm: &mut EvmContext<'_>, caller: Address, value: U256) -> bool {
        let is_too_deep = self.frames.len() > CALL_STACK_LIMIT as usize;
        // If the state can't be read, the frame itself fails.
        is_too_deep
            || !value.is_zero()
                && account(evm, caller)
                    .is_ok_and(|held| held.is_none_or(|held| held.balance < value))
    }

    /// Whether a creation is refused for reasons that calls do not have.
    fn is_taken(evm: &mut EvmContext<'_>, caller: Address, created: Address) -> bool {
        let held = account(evm, caller).ok().flatten();
        if held.is_some_and(|held| held.nonce == u64::MAX) {
            return true;
        }
        let found = account(evm, created).ok().flatten();
        found.is_some_and(|account| account.nonce != 0 || account.code_hash != KECCAK_EMPTY)
    }
}

impl<'a> Inspector<EvmContext<'a>, EthInterpreter> for Observer<'_> {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, evm: &mut EvmContext<'a>) {
        let op = interpreter.bytecode.opcode();
        if !self.filter.has(op) {
            self.shown = None;
            return;
        }
        let (cost, error) = price(interpreter, evm);
        let shown = LastStep {
            pc: interpreter.bytecode.pc() as u64,
            op,
            gas: interpreter.gas.remaining(),
            cost,
        };
        self.shown = error.is_none().then_some(shown);
        evm.chain.refund_shown = refund_counter(interpreter, evm);
        let depth = self.frames.len();
        let LastStep { pc, op, gas, cost } = shown;
        let step = Step { pc, op, gas, cost, depth, error: error.as_ref(), interpreter };
        self.show(evm, |tracer, context| tracer.step(&step, context));
        // Code does not pay for the work of a tracer.
        if self.failed.is_some() || evm.chain.spend_in_frame(STEP_WORK, gas) {
            let stop = stop_execution(evm);
            interpreter.halt(stop);
        }
    }

    fn step_end(
        &mut self,
        interpreter: &mut Interpreter<EthInterpreter>,
        evm: &mut EvmContext<'a>,
    ) {
        let Some(LastStep { pc, op, gas, cost }) = self.shown.take() else { return };
        let Some(InterpreterAction::Return(result)) = interpreter.bytecode.action() else { return };
        let result = result.result;
        if result.is_ok() || result == InstructionResult::FatalExternalError {
            return;
        }
        let error = halt_error(result, interpreter);
        let depth = self.frames.len();
        let step = Step { pc, op, gas, cost, depth, error: None, interpreter };
        self.show(evm, |tracer, context| tracer.fault(&step, &error, context));
    }

    fn call(&mut self, evm: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        let (kind, from, value) = match inputs.scheme {
            CallScheme::Call => (FrameKind::Call, inputs.caller, Some(inputs.value.get())),
            CallScheme::CallCode => (FrameKind::CallCode, inputs.caller, Some(inputs.value.get())),
            // The caller and the value are those of the calling frame.
            CallScheme::DelegateCall => {
                (FrameKind::DelegateCall, inputs.target_address, Some(inputs.value.get()))
            }
            CallScheme::StaticCall => (FrameKind::StaticCall, inputs.caller, None),
        };
        let sent = match inputs.value {
            CallValue::Transfer(sent) => sent,
            CallValue::Apparent(_) => U256::ZERO,
        };
        let is_refused = self.is_refused(evm, inputs.caller, sent);
        let input = inputs.input.bytes(&*evm);
        let frame = FrameStart {
            kind,
            depth: self.frames.len(),
            from,
            to: inputs.bytecode_address,
            input: &input,
            gas: inputs.gas_limit,
            value,
        };
        self.enter(evm, is_refused, frame);
        None
    }

    fn call_end(
        &mut self,
        evm: &mut EvmContext<'a>,
        inputs: &CallInputs,
        outcome: &mut CallOutcome,
    ) {
        self.exit(evm, inputs.target_address, &outcome.result);
    }

    fn create(
        &mut self,
        evm: &mut EvmContext<'a>,
        inputs: &mut CreateInputs,
    ) -> Option<CreateOutcome> {
        let caller = inputs.caller();
        let held = account(evm, caller).ok().flatten();
        let nonce = held.map_or(0, |held| held.nonce);
        let created = inputs.created_address(nonce);
        let is_refused =
            self.is_refused(evm, caller, inputs.value()) || Self::is_taken(evm, caller, created);
        let frame = FrameStart {
            kind: match inputs.scheme() {
                CreateScheme::Create2 { .. } => FrameKind::Create2,
                CreateScheme::Create | CreateScheme::Custom { .. } => FrameKind::Create,
            },
            depth: self.frames.len(),
            from: caller,
            to: created,
            input: inputs.init_code(),
            gas: inputs.gas_limit(),
            value: Some(inputs.value()),
        };
        self.enter(evm, is_refused, frame);
        None
    }

    fn create_end(
        &mut self,
        evm: &mut EvmContext<'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        let created = outcome.address.unwrap_or_else(|| inputs.caller());
        self.exit(evm, created, &outcome.result);
    }
}
