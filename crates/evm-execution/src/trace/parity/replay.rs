//! What a transaction returned, its calls, what it changed, and its instructions.

use alloy_primitives::{B256, Bytes};

use super::call::write_members;
use super::state_diff::StateDiff;
use super::vm_trace::VmTrace;
use crate::executor::{ExecutionEnd, VmError};
use crate::trace::flat_calls::FlatCalls;
use crate::trace::tracers::separate;
use crate::trace::{
    FrameEnd, FrameStart, Step, StepFilter, TraceContext, TraceOutput, TraceResult, Tracer,
    TxStart, json,
};

/// What of a transaction is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceTypes {
    /// Its calls.
    pub trace: bool,
    /// What it changes.
    pub state_diff: bool,
    /// Its instructions.
    pub vm_trace: bool,
}

/// Writes an object with what was asked for, without calls of precompiled contracts by code. It must be the only tracer: instructions are written while they run.
#[derive(Debug, Default)]
pub struct ReplayTracer {
    types: TraceTypes,
    calls: FlatCalls,
    state_diff: Option<StateDiff>,
    vm_trace: VmTrace,
    output: Bytes,
    shows_hash: bool,
    is_after_another: bool,
    hash: Option<B256>,
}

impl ReplayTracer {
    /// A tracer that shows this of a transaction.
    pub fn new(types: TraceTypes) -> Self {
        Self { types, ..Self::default() }
    }

    /// Shows the hash of the transaction, too.
    #[must_use]
    pub fn with_hash(self) -> Self {
        Self { shows_hash: true, ..self }
    }

    /// Begins with a comma: the object follows another one in a list.
    #[must_use]
    pub fn after_another(self) -> Self {
        Self { is_after_another: true, ..self }
    }
}

impl Tracer for ReplayTracer {
    fn steps(&self) -> StepFilter {
        if self.types.vm_trace { StepFilter::ALL } else { StepFilter::NONE }
    }

    fn start(&mut self, tx: &TxStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        self.hash = tx.place.tx_hash;
        self.calls.leave_out(tx.precompiles);
        let buffer = context.out.buffer();
        if self.is_after_another {
            buffer.push(b',');
        }
        buffer.extend_from_slice(b"{\"vmTrace\":");
        if self.types.vm_trace {
            self.vm_trace.start(tx.precompiles);
        }
        Ok(())
    }

    fn enter(&mut self, start: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if self.types.vm_trace {
            self.vm_trace.enter(start);
        }
        if self.types.trace { self.calls.enter(start, context.out) } else { Ok(()) }
    }

    fn exit(&mut self, end: &FrameEnd<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if self.types.vm_trace {
            self.vm_trace.exit(end, context.out)?;
        }
        if self.types.trace { self.calls.exit(end, context.out) } else { Ok(()) }
    }

    fn step(&mut self, step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        self.vm_trace.step(step, context)
    }

    fn end(&mut self, end: &ExecutionEnd, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if matches!(end.error, None | Some(VmError::Reverted)) {
            self.output = end.output.clone();
        }
        if self.types.state_diff {
            self.state_diff = Some(StateDiff::of(context)?);
        }
        Ok(())
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        match self.types.vm_trace {
            true => self.vm_trace.end(out.buffer()),
            false => out.buffer().extend_from_slice(b"null"),
        }
        out.buffer().extend_from_slice(b",\"output\":");
        json::data(out.buffer(), &self.output);
        out.buffer().extend_from_slice(b",\"stateDiff\":");
        match self.state_diff.take() {
            Some(diff) => diff.write(out)?,
            None => out.buffer().extend_from_slice(b"null"),
        }
        out.buffer().extend_from_slice(b",\"trace\":[");
        let mut written = 0;
        std::mem::take(&mut self.calls).each(|call, place| {
            separate(written, out)?;
            written += 1;
            out.buffer().push(b'{');
            write_members(call, place, out.buffer());
            out.buffer().push(b'}');
            Ok(())
        })?;
        out.buffer().push(b']');
        if self.shows_hash {
            out.buffer().extend_from_slice(b",\"transactionHash\":");
            json::optional_hash(out.buffer(), self.hash.as_ref());
        }
        out.buffer().push(b'}');
        out.release();
        Ok(())
    }
}
