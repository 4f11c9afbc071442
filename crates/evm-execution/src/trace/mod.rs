//! Watching code run: the tracers of the `debug` namespace.
//!
//! - [`Tracer`] is what each tracer implements: geth's hooks, in geth's order and with geth's rules. The
//!   differences between revm and geth (calls that are refused before they begin, what an instruction costs, the
//!   texts of errors) are settled in one place, `observer`, before a hook is called.
//! - [`tracers`] lists the tracers by name. One file is one tracer. [`StructLogger`] is the one without a name,
//!   [`JsonLogger`] the one that writes to files.
//! - [`TraceOutput`] takes the JSON. Tracers write it straight into a byte buffer; no trace is ever a tree of values.
//! - [`Scripts`] is the port for tracers that are scripts: they run in another process, which
//!   `esker-js-tracer` fills; this crate knows no engine.
//! - [`TraceContext`] is the state that a hook may read.
//! - [`BlockReplay`] runs the transactions of a block again, with and without a tracer.
//!
//! The tracers are our own and not revm-inspectors: they give the reference's bytes, write as they go, and a tracer
//! that needs no instructions ([`Tracer::steps`]) lets code run at full speed.

mod context;
mod events;
pub mod json;
mod json_logger;
mod observer;
mod output;
mod remote;
mod replay;
mod run;
mod step_filter;
mod struct_logger;
pub mod tracers;

pub use context::TraceContext;
pub(crate) use context::{account, storage};
pub use events::{FrameEnd, FrameKind, FrameStart, Step, TxPlace, TxStart, op_name};
pub use json_logger::JsonLogger;
pub use observer::Observer;
pub use output::{BufferOutput, TraceError, TraceOutput, TraceStop};
pub use remote::{NoScripts, RemoteTracer, RemoteTx, ScriptClient, ScriptSession, Scripts};
pub use replay::{BlockReplay, ReplayEnv, trace_call};
pub use step_filter::StepFilter;
pub use struct_logger::{StructLogConfig, StructLogger};

use crate::executor::{ExecutionEnd, VmError};

/// Watches one transaction and writes what it saw as JSON. A new one is made for every transaction.
///
/// The order of calls is [`Self::start`], then [`Self::enter`] and [`Self::exit`] of each frame with the steps
/// between them, [`Self::end`], [`Self::write`]. A transaction whose outermost frame is refused has no frame at all.
/// After an error nothing else is called but drop; the trace fails with that error.
///
/// A tracer may write to [`TraceContext::out`] from `start` on, if it is the only tracer; `muxTracer` gives each of
/// its tracers a buffer.
pub trait Tracer {
    /// The instructions that [`Self::step`] and [`Self::fault`] are called for. Asked once, before `start`. Without
    /// any, code runs as fast as without a tracer.
    fn steps(&self) -> StepFilter {
        StepFilter::NONE
    }

    /// Does `start` need [`TxStart::end`]? The transaction then runs twice, the first time without a tracer.
    fn needs_end_first(&self) -> bool {
        false
    }

    /// The transaction begins (geth's `CaptureTxStart`, and what `CaptureStart` knows). Nothing has changed yet: the
    /// state is that before the transaction, gas not paid, nonce not raised.
    fn start(&mut self, tx: &TxStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (_, _) = (tx, context);
        Ok(())
    }

    /// A frame begins (`CaptureStart` at depth 0, else `CaptureEnter`), before its value is moved. Also a
    /// precompiled contract's, and that of a contract that destroys itself. Not one that is refused: too deep, too
    /// little balance, an address that is taken or prohibited.
    fn enter(&mut self, frame: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (_, _) = (frame, context);
        Ok(())
    }

    /// The frame entered last ends (`CaptureEnd` at depth 0, else `CaptureExit`).
    fn exit(&mut self, frame: &FrameEnd<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (_, _) = (frame, context);
        Ok(())
    }

    /// An instruction is about to run (`CaptureState`), or will not run because of [`Step::error`].
    fn step(&mut self, step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (_, _) = (step, context);
        Ok(())
    }

    /// The instruction shown last failed while it ran (`CaptureFault`); a revert is such a failure.
    fn fault(
        &mut self,
        step: &Step<'_>,
        error: &VmError,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        let (_, _, _) = (step, error, context);
        Ok(())
    }

    /// The transaction has ended (`CaptureTxEnd`): the state is that after it, fees paid.
    fn end(&mut self, end: &ExecutionEnd, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (_, _) = (end, context);
        Ok(())
    }

    /// Does something else watch the transaction, where no hook is called? Asked first.
    fn remote(&mut self) -> Option<&mut dyn RemoteTracer> {
        None
    }

    /// Writes the result, one JSON value (`GetResult`).
    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult;
}

/// What a hook returns.
pub type TraceResult = Result<(), TraceError>;
