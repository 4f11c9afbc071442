//! Reporting what the code of calls prints, and what calls ran, on development networks.

use std::cell::RefCell;

use alloy_primitives::U256;
use esker_artifacts::Registry;
use esker_evm::call_lines::call_lines;
use esker_evm::printed::PrintedCall;
use esker_evm::runs::{RunMessage, report_call};
use esker_evm_execution::call::{
    BlockOverrides, CallEnv, CallError, CallLimits, CallOutcome, CallRequest, StateOverrides,
};
use esker_evm_execution::console::ConsoleCalls;
use esker_evm_execution::trace::{BufferOutput, TreeTracer, trace_call};
use esker_rpc::CallNotes;

use super::transact::TransactApi;

/// Most bytes of the lines of one call.
const MAX_CALLS: usize = 256 << 10;

/// A call whose run is reported.
#[derive(Clone, Copy)]
pub(super) struct ObservedCall<'a, R> {
    /// The method for which what the code prints is reported; `None`: no client asks for the run itself.
    pub(super) method: Option<&'static str>,
    pub(super) request: &'a CallRequest,
    /// Take the report.
    pub(super) notes: &'a CallNotes,
    /// What the call changes of state and block.
    pub(super) overrides: (&'a StateOverrides, &'a BlockOverrides),
    /// The outcome that is noted; `None`: nothing is.
    pub(super) outcome: fn(&Result<R, CallError>) -> Option<&CallOutcome>,
}

/// The outcome of a call, whether its code failed or not.
pub(super) fn any_outcome(result: &Result<CallOutcome, CallError>) -> Option<&CallOutcome> {
    match result {
        Ok(outcome) => Some(outcome),
        Err(_) => failed_outcome(result),
    }
}

/// The outcome of a call whose code failed.
pub(super) fn failed_outcome<R>(result: &Result<R, CallError>) -> Option<&CallOutcome> {
    match result {
        Err(CallError::Failed(outcome)) => Some(outcome),
        _ => None,
    }
}

/// The first lines, within a bound.
fn shortened(mut lines: Vec<String>) -> Vec<String> {
    let mut bytes = 0_usize;
    let kept = lines.iter().take_while(|line| {
        bytes = bytes.saturating_add(line.len());
        bytes <= MAX_CALLS
    });
    let kept = kept.count();
    let left_out = lines.len() - kept;
    lines.truncate(kept);
    if left_out > 0 {
        lines.push(format!("  ({left_out} further lines are not shown)"));
    }
    lines
}

impl TransactApi {
    /// Runs `work` with limits that keep what its code prints, and reports it if somebody follows. A try without a
    /// result is not reported: its code runs again.
    pub(super) fn printing<R>(
        &self,
        method: &'static str,
        limits: &CallLimits<'_>,
        work: impl FnOnce(&CallLimits<'_>) -> Result<R, CallError>,
    ) -> Result<R, CallError> {
        let (result, console) = self.keeping(limits, false, work);
        self.report(method, &result, console, Vec::new);
        result
    }

    /// Like [`Self::printing`]; the call's notes also get the report of what it ran.
    pub(super) fn observing<R>(
        &self,
        env: &CallEnv<'_>,
        call: ObservedCall<'_, R>,
        limits: &CallLimits<'_>,
        work: impl FnOnce(&CallLimits<'_>) -> Result<R, CallError>,
    ) -> Result<R, CallError> {
        let ObservedCall { method, request, notes, overrides, outcome } = call;
        let (result, console) = self.keeping(limits, notes.are_wanted(), work);
        if notes.are_wanted()
            && let Some(outcome) = outcome(&result)
        {
            self.note(env, request, outcome, &console, notes);
        }
        if let Some(method) = method {
            let calls = || self.calls_of(env, request, overrides, limits);
            self.report(method, &result, console, calls);
        }
        result
    }

    fn keeping<R>(
        &self,
        limits: &CallLimits<'_>,
        is_kept: bool,
        work: impl FnOnce(&CallLimits<'_>) -> Result<R, CallError>,
    ) -> (Result<R, CallError>, ConsoleCalls) {
        let printed = self.printed.as_ref().filter(|_| self.chain.keeps_console);
        if !printed.is_some_and(|one| is_kept || one.is_followed()) {
            return (work(limits), ConsoleCalls::default());
        }
        let console = RefCell::default();
        let result = work(&CallLimits { console: Some(&console), ..*limits });
        (result, console.into_inner())
    }

    /// Reports a run to those who follow, unless it was a try without a result.
    fn report<R>(
        &self,
        method: &'static str,
        result: &Result<R, CallError>,
        console: ConsoleCalls,
        calls: impl FnOnce() -> Vec<String>,
    ) {
        let printed = self.printed.as_ref().filter(|printed| printed.is_followed());
        if let Some(printed) = printed
            && !matches!(result, Err(CallError::TryEnded))
        {
            printed.report(PrintedCall { method, console, calls: calls() });
        }
    }

    /// The calls and events of a run, which is repeated for them; none if they are not shown.
    fn calls_of(
        &self,
        env: &CallEnv<'_>,
        request: &CallRequest,
        (state, block): (&StateOverrides, &BlockOverrides),
        limits: &CallLimits<'_>,
    ) -> Vec<String> {
        if !self.traces_calls {
            return Vec::new();
        }
        let (tracer, tree) = TreeTracer::new();
        let mut out = BufferOutput::new(0);
        let traced = trace_call(env, request, state, block, limits, Box::new(tracer), &mut out);
        if let Err(error) = traced {
            tracing::debug!(%error, "cannot trace a call");
            return Vec::new();
        }
        let lines = call_lines(&self.names(), env.view, &tree.borrow());
        let lines = lines.inspect_err(|error| tracing::debug!(%error, "cannot show a call"));
        shortened(lines.unwrap_or_default())
    }

    /// The names of a development network; elsewhere those of common standards.
    fn names(&self) -> Registry {
        self.artifacts.clone().unwrap_or_default()
    }

    fn note(
        &self,
        env: &CallEnv<'_>,
        request: &CallRequest,
        outcome: &CallOutcome,
        console: &ConsoleCalls,
        notes: &CallNotes,
    ) {
        let message = RunMessage {
            from: request.from.unwrap_or_default(),
            to: request.to,
            value: request.value.unwrap_or(U256::ZERO),
            input: &request.input,
        };
        let end = (outcome.error.as_ref(), outcome.output.as_ref());
        match report_call(&self.names(), env.view, message, end, console) {
            Ok(report) => notes.set(report),
            Err(error) => tracing::debug!(%error, "cannot report what a call ran"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_up_to_the_bound() {
        let short = vec!["  a".to_owned(), "  b".to_owned()];
        assert_eq!(shortened(short.clone()), short);
        let line = "x".repeat(MAX_CALLS / 2);
        let cut = shortened(vec![line.clone(), line.clone(), "y".to_owned(), line.clone()]);
        assert_eq!(cut, [line.as_str(), &line, "  (2 further lines are not shown)"]);
    }
}
