//! Texts of failures, with the names of custom errors where they are known.

use esker_artifacts::Decoded;
use esker_evm_execution::call::{CallOutcome, RevertReason, failure_text};
use esker_evm_execution::executor::VmError;

use super::transact::TransactApi;

impl TransactApi {
    /// The error's text with the reason of a revert; empty if there is no error.
    pub(super) fn message(&self, outcome: &CallOutcome) -> String {
        let text = |error| self.failure_text(error, &outcome.output);
        outcome.error.as_ref().map_or_else(String::new, text)
    }

    /// The text of an error with the reason of a revert, which is in the data.
    pub(super) fn failure_text(&self, error: &VmError, output: &[u8]) -> String {
        let is_revert = *error == VmError::Reverted;
        match is_revert.then(|| self.custom_error(output)).flatten() {
            Some(decoded) => format!("{error}: {decoded}"),
            None => failure_text(error, output),
        }
    }

    /// The custom error in the data of a revert.
    pub(super) fn custom_error(&self, data: &[u8]) -> Option<Decoded> {
        let artifacts = self.artifacts.as_ref()?;
        match RevertReason::parse(data) {
            Some(_) => None,
            None => artifacts.error(data),
        }
    }
}
