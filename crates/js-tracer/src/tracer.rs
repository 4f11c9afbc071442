//! Runs a script as a tracer.

use std::fmt;
use std::rc::Rc;

use alloy_primitives::{Bytes, U256};
use esker_evm_execution::executor::{ExecutionEnd, VmError};
use esker_evm_execution::trace::{
    FrameEnd, FrameStart, Step, StepFilter, TraceContext, TraceError, TraceOutput, TraceResult,
    Tracer, TxPlace, TxStart,
};
use rquickjs::{Ctx, Function, Object, Value};

use crate::current::{Current, Numbers};
use crate::engine::{Engine, Hook};
use crate::natives::{big, buffer};
use crate::scripts;

/// Bytes written between two checks of the output.
const CHUNK: usize = 32 * 1024;

/// Runs a script in this process. [`crate::ScriptHost`] uses a separate process.
pub struct JsTracer {
    engine: Engine,
    tx: Transaction,
    json: String,
}

/// The data of the transaction that the script's `result` gets.
#[derive(Default)]
struct Transaction {
    place: TxPlace,
    kind: &'static str,
    from: alloy_primitives::Address,
    to: alloy_primitives::Address,
    input: Bytes,
    gas: u64,
    gas_price: U256,
    value: U256,
    block: u64,
    error: Option<String>,
    output: Option<Bytes>,
    gas_used: u64,
}

impl fmt::Debug for JsTracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsTracer").finish_non_exhaustive()
    }
}

impl JsTracer {
    /// The tracer with a name of [`scripts`], or from a source text. `config` is the JSON argument of its `setup`, `null` if
    /// there is none.
    pub fn new(source: &str, config: &str) -> Result<Self, TraceError> {
        let source = scripts::by_name(source).unwrap_or(source);
        // The reference passes `{}` if there is none.
        let config = if config == "null" { "{}" } else { config };
        let engine = Engine::new(source, config).map_err(TraceError::Failed)?;
        Ok(Self { engine, tx: Transaction::default(), json: String::new() })
    }

    fn call(
        &self,
        hook: Hook,
        step: Option<&Step<'_>>,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        let called = self.engine.current.show(step, Some(context), || self.engine.call(hook));
        called.map_err(|text| self.failed(text, context))
    }

    /// The reference calls `result` even after a failed trace. If `result` fails too, it returns that error.
    fn failed(&self, text: String, context: &mut TraceContext<'_, '_>) -> TraceError {
        if self.engine.current.failure.borrow().is_some() {
            return TraceError::Failed(text);
        }
        let result = self.engine.current.show(None, Some(context), || self.result());
        TraceError::Failed(result.err().unwrap_or(text))
    }

    fn result(&self) -> Result<String, String> {
        self.engine.result(|ctx, given, to_big| self.tx.fill(ctx, given, to_big))
    }

    fn current(&self) -> &Rc<Current> {
        &self.engine.current
    }

    fn edit(&self, edit: impl FnOnce(&mut Numbers)) {
        let mut numbers = self.current().numbers.get();
        edit(&mut numbers);
        self.current().numbers.set(numbers);
    }
}

impl Tracer for JsTracer {
    fn steps(&self) -> StepFilter {
        // Every script has a hook for failures.
        StepFilter::ALL
    }

    fn start(&mut self, tx: &TxStart<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        let message = tx.message;
        *self.current().precompiles.borrow_mut() = tx.precompiles.clone();
        self.tx = Transaction {
            place: tx.place,
            kind: if message.to.is_none() { "CREATE" } else { "CALL" },
            from: message.from,
            to: tx.to,
            input: message.input.clone(),
            gas: message.gas_limit,
            gas_price: tx.gas_price,
            value: message.value,
            block: tx.block.number.saturating_to(),
            ..Transaction::default()
        };
        Ok(())
    }

    fn enter(&mut self, start: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if start.depth == 0 || !self.engine.has_frames() {
            return Ok(());
        }
        let mut frame = self.current().frame.borrow_mut();
        frame.kind = start.kind.name();
        (frame.from, frame.to) = (start.from, start.to);
        frame.input = start.input.clone();
        frame.value = start.value;
        drop(frame);
        self.edit(|numbers| numbers.frame_gas = start.gas);
        self.call(Hook::Enter, None, context)
    }

    fn exit(&mut self, end: &FrameEnd<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if end.depth == 0 {
            self.tx.error = end.error.map(ToString::to_string);
            self.tx.output = Some(end.output.clone());
            return Ok(());
        }
        if !self.engine.has_frames() {
            return Ok(());
        }
        let mut frame = self.current().frame.borrow_mut();
        frame.output = end.output.clone();
        frame.error = end.error.map(ToString::to_string);
        drop(frame);
        self.edit(|numbers| numbers.frame_gas_used = end.gas_used);
        self.call(Hook::Exit, None, context)
    }

    fn step(&mut self, step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if !self.engine.has_steps() {
            return Ok(());
        }
        let refund = context.refund();
        self.edit(|numbers| {
            *numbers = Numbers {
                pc: step.pc,
                gas: step.gas,
                cost: step.cost,
                depth: step.depth as u64,
                refund,
                op: step.op.into(),
                stack: step.stack().len() as u64,
                memory: step.memory().len() as u64,
                ..*numbers
            };
        });
        *self.current().error.borrow_mut() = step.error.map(ToString::to_string);
        self.call(Hook::Step, Some(step), context)
    }

    fn fault(
        &mut self,
        step: &Step<'_>,
        error: &VmError,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        // Everything except the error is as the last step set it. Without the hook `step` there is no such data.
        *self.current().error.borrow_mut() = Some(error.to_string());
        let shown = self.engine.has_steps().then_some(step);
        if let Some(step) = shown {
            self.edit(|numbers| {
                numbers.stack = step.stack().len() as u64;
                numbers.memory = step.memory().len() as u64;
            });
        }
        self.call(Hook::Fault, shown, context)
    }

    fn end(&mut self, end: &ExecutionEnd, context: &mut TraceContext<'_, '_>) -> TraceResult {
        self.tx.gas_used = end.gas_used;
        self.edit(|numbers| (numbers.stack, numbers.memory) = (0, 0));
        // The state is readable here, but not when the result is written.
        let result = self.engine.current.show(None, Some(context), || self.result());
        self.json = result.map_err(TraceError::Failed)?;
        Ok(())
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        for part in self.json.as_bytes().chunks(CHUNK) {
            out.buffer().extend_from_slice(part);
            out.checkpoint()?;
        }
        Ok(())
    }
}

impl Transaction {
    #[expect(clippy::cast_precision_loss, reason = "a number of JavaScript is a float")]
    fn fill<'js>(
        &self,
        ctx: &Ctx<'js>,
        given: &Object<'js>,
        to_big: &Function<'js>,
    ) -> rquickjs::Result<()> {
        let bytes = |bytes: &[u8]| buffer(ctx, bytes.to_vec());
        let number =
            |value: U256| -> rquickjs::Result<Value<'js>> { to_big.call((big(ctx, value)?,)) };
        if let Some(hash) = self.place.block_hash {
            given.set("blockHash", bytes(hash.as_slice())?)?;
            if let Some(hash) = self.place.tx_hash {
                given.set("txIndex", self.place.tx_index.unwrap_or_default() as f64)?;
                given.set("txHash", bytes(hash.as_slice())?)?;
            }
        }
        given.set("type", self.kind)?;
        given.set("from", bytes(self.from.as_slice())?)?;
        given.set("to", bytes(self.to.as_slice())?)?;
        given.set("input", bytes(&self.input)?)?;
        given.set("gas", self.gas as f64)?;
        given.set("gasPrice", number(self.gas_price)?)?;
        given.set("value", number(self.value)?)?;
        given.set("block", self.block as f64)?;
        if let Some(error) = &self.error {
            given.set("error", error.as_str())?;
        }
        if let Some(output) = &self.output {
            given.set("output", bytes(output)?)?;
        }
        given.set("gasUsed", self.gas_used as f64)
    }
}
