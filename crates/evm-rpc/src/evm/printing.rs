//! Reporting what the code of calls prints, and what calls ran, on development networks.

use std::cell::RefCell;

use alloy_primitives::U256;
use esker_artifacts::Registry;
use esker_evm::runs::{RunMessage, report_call};
use esker_evm_execution::call::{CallEnv, CallError, CallLimits, CallOutcome, CallRequest};
use esker_evm_execution::console::ConsoleCalls;
use esker_rpc::CallNotes;

use super::transact::TransactApi;

/// A call whose run is reported.
#[derive(Clone, Copy)]
pub(super) struct ObservedCall<'a, R> {
    /// The method for which what the code prints is reported; `None`: no client asks for the run itself.
    pub(super) method: Option<&'static str>,
    pub(super) request: &'a CallRequest,
    /// Take the report.
    pub(super) notes: &'a CallNotes,
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

impl TransactApi {
    /// Runs `work` with limits that keep what its code prints, and reports it if somebody follows. A try without a
    /// result is not reported: its code runs again.
    pub(super) fn printing<R>(
        &self,
        method: &'static str,
        limits: &CallLimits<'_>,
        work: impl FnOnce(&CallLimits<'_>) -> Result<R, CallError>,
    ) -> Result<R, CallError> {
        self.keeping(Some(method), limits, false, work).0
    }

    /// Like [`Self::printing`]; the call's notes also get the report of what it ran.
    pub(super) fn observing<R>(
        &self,
        env: &CallEnv<'_>,
        call: ObservedCall<'_, R>,
        limits: &CallLimits<'_>,
        work: impl FnOnce(&CallLimits<'_>) -> Result<R, CallError>,
    ) -> Result<R, CallError> {
        let ObservedCall { method, request, notes, outcome } = call;
        let (result, console) = self.keeping(method, limits, notes.are_wanted(), work);
        if notes.are_wanted()
            && let Some(outcome) = outcome(&result)
        {
            self.note(env, request, outcome, &console, notes);
        }
        result
    }

    fn keeping<R>(
        &self,
        method: Option<&'static str>,
        limits: &CallLimits<'_>,
        is_kept: bool,
        work: impl FnOnce(&CallLimits<'_>) -> Result<R, CallError>,
    ) -> (Result<R, CallError>, ConsoleCalls) {
        let Some(printed) = self.printed.as_ref().filter(|one| is_kept || one.is_followed()) else {
            return (work(limits), ConsoleCalls::default());
        };
        let console = RefCell::default();
        let result = work(&CallLimits { console: Some(&console), ..*limits });
        let console = console.into_inner();
        if let Some(method) = method.filter(|_| printed.is_followed())
            && !matches!(result, Err(CallError::TryEnded))
        {
            printed.report(method, console.clone());
        }
        (result, console)
    }

    fn note(
        &self,
        env: &CallEnv<'_>,
        request: &CallRequest,
        outcome: &CallOutcome,
        console: &ConsoleCalls,
        notes: &CallNotes,
    ) {
        let no_names = Registry::default();
        let names = self.artifacts.as_ref().unwrap_or(&no_names);
        let message = RunMessage {
            from: request.from.unwrap_or_default(),
            to: request.to,
            value: request.value.unwrap_or(U256::ZERO),
            input: &request.input,
        };
        let end = (outcome.error.as_ref(), outcome.output.as_ref());
        match report_call(names, env.view, message, end, console) {
            Ok(report) => notes.set(report),
            Err(error) => tracing::debug!(%error, "cannot report what a call ran"),
        }
    }
}
