//! Reporting what the code of calls prints, on development networks.

use std::cell::RefCell;

use esker_evm_execution::call::{CallError, CallLimits};

use super::transact::TransactApi;

impl TransactApi {
    /// Runs `work` with limits that keep what its code prints, and reports it if somebody follows. A try without a
    /// result is not reported: its code runs again.
    pub(super) fn printing<R>(
        &self,
        method: &'static str,
        limits: &CallLimits<'_>,
        work: impl FnOnce(&CallLimits<'_>) -> Result<R, CallError>,
    ) -> Result<R, CallError> {
        let Some(printed) = self.printed.as_ref().filter(|printed| printed.is_followed()) else {
            return work(limits);
        };
        let console = RefCell::default();
        let result = work(&CallLimits { console: Some(&console), ..*limits });
        if !matches!(result, Err(CallError::TryEnded)) {
            printed.report(method, console.into_inner());
        }
        result
    }
}
