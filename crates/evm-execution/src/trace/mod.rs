//! The tracers of the namespaces `debug` and `trace`.
//!
//! - [`Tracer`] is the trait of tracers: geth's hooks, in geth's order and with geth's rules. `observer` handles all
//!   differences between revm and geth before it calls a hook: calls that are refused before they begin, costs of
//!   instructions, and error texts.
//! - [`tracers`] lists the tracers by name, one file for each tracer. [`StructLogger`] is the tracer without a name,
//!   [`JsonLogger`] the tracer that writes to files.
//! - [`TreeTracer`] keeps calls and events as values, for texts.
//! - [`ListTracer`] and [`ReplayTracer`] write the forms of Parity's `trace` methods.
//! - [`TraceOutput`] takes the JSON. Tracers write it directly into a byte buffer. No trace is ever a tree of values.
//! - [`Scripts`] is the port for scripts as tracers. They run in another process. `esker-js-tracer` implements the
//!   port; this crate has no script engine.
//! - [`TraceContext`] is the state that a hook may read.
//! - [`BlockReplay`] runs the transactions of a block again, with and without a tracer.
//!
//! The tracers replace revm-inspectors: they produce the bytes of the reference, write while code runs, and a tracer
//! that needs no instructions ([`Tracer::steps`]) lets code run at full speed.

mod call_names;
mod call_tree;
mod context;
mod events;
mod flat_calls;
pub mod json;
mod json_logger;
mod observer;
mod output;
mod parity;
mod remote;
mod replay;
mod run;
mod step_filter;
mod struct_logger;
pub mod tracers;

pub use call_names::{CallName, CallNames};
pub use call_tree::{
    CallTree, MAX_TREE_DATA, MAX_TREE_DEPTH, MAX_TREE_ITEMS, TracedCall, TreeItem, TreeTracer,
};
pub use context::TraceContext;
pub(crate) use context::{account, storage};
pub use events::{FrameEnd, FrameKind, FrameStart, Step, TxPlace, TxStart, op_name};
pub use json_logger::JsonLogger;
pub use observer::Observer;
pub use output::{BufferOutput, TraceError, TraceOutput, TraceStop};
pub use parity::{CallFilter, CallList, ListTracer, ReplayTracer, Selection, TraceTypes};
pub use remote::{NoScripts, RemoteTracer, RemoteTx, ScriptClient, ScriptSession, Scripts};
pub use replay::{BlockReplay, CallReplay, ReplayEnv, trace_call};
pub use step_filter::StepFilter;
pub use struct_logger::{StructLogConfig, StructLogger};

use crate::executor::{ExecutionEnd, VmError};

/// Traces one transaction, and writes the result as JSON. Each transaction has a new tracer.
///
/// The order of calls is [`Self::start`], then [`Self::enter`] and [`Self::exit`] of each frame with the steps
/// between them, [`Self::end`], [`Self::write`]. A transaction whose outermost frame is refused has no frames. After
/// an error the tracer is only dropped, and the trace fails with that error.
///
/// A tracer may write to [`TraceContext::out`] from `start` on, if it is the only tracer; `muxTracer` gives each of
/// its tracers a buffer.
pub trait Tracer {
    /// The instructions for which [`Self::step`] and [`Self::fault`] are called. It is called once, before `start`.
    /// Without any instructions, code runs as fast as without a tracer.
    fn steps(&self) -> StepFilter {
        StepFilter::NONE
    }

    /// Whether `start` needs [`TxStart::end`]. The transaction then runs twice, the first time without a tracer.
    fn needs_end_first(&self) -> bool {
        false
    }

    /// The transaction begins (geth's `CaptureTxStart` with the data of `CaptureStart`). Nothing has changed yet: gas
    /// is not paid, and the nonce is not increased.
    fn start(&mut self, tx: &TxStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (_, _) = (tx, context);
        Ok(())
    }

    /// A frame begins (`CaptureStart` at depth 0, else `CaptureEnter`), before its value is moved. It is also called
    /// for precompiled contracts and for SELFDESTRUCT, but not for a refused frame: too deep, insufficient balance,
    /// or an address that is occupied or prohibited.
    fn enter(&mut self, frame: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (_, _) = (frame, context);
        Ok(())
    }

    /// The last entered frame ends (`CaptureEnd` at depth 0, else `CaptureExit`).
    fn exit(&mut self, frame: &FrameEnd<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (_, _) = (frame, context);
        Ok(())
    }

    /// An instruction is about to run (`CaptureState`), or will not run because of [`Step::error`].
    fn step(&mut self, step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (_, _) = (step, context);
        Ok(())
    }

    /// The last shown instruction failed while it ran (`CaptureFault`). A revert is such a failure.
    fn fault(
        &mut self,
        step: &Step<'_>,
        error: &VmError,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        let (_, _, _) = (step, error, context);
        Ok(())
    }

    /// The transaction has ended (`CaptureTxEnd`), and fees are paid.
    fn end(&mut self, end: &ExecutionEnd, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let (_, _) = (end, context);
        Ok(())
    }

    /// The remote tracer of the transaction, for which no hooks are called. It is called first.
    fn remote(&mut self) -> Option<&mut dyn RemoteTracer> {
        None
    }

    /// Writes the result, one JSON value (`GetResult`).
    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult;
}

/// The result of a hook.
pub type TraceResult = Result<(), TraceError>;
