//! Prints findings.

use std::io::{self, Write};
use std::sync::Arc;

use esker_node::progress::Progress;
use esker_primitives::clock::Clock;
use esker_storage::audit::{AuditError, AuditLog, Finding};

use super::VerifyError;
use crate::offline::StopSignal;

/// Most findings that are printed; the rest is only counted.
const MAX_PRINTED: u64 = 10_000;

/// Writes findings, shows progress, and stops the work after a stop request.
pub(super) struct Report<'a> {
    out: &'a mut dyn Write,
    stop: StopSignal,
    progress: Progress,
    findings: u64,
    failed: Option<io::Error>,
}

impl<'a> Report<'a> {
    pub(super) fn new(out: &'a mut dyn Write, stop: StopSignal, clock: Arc<dyn Clock>) -> Self {
        let progress = Progress::on_terminal(clock);
        Self { out, stop, progress, findings: 0, failed: None }
    }

    fn line(&mut self, text: &str) {
        self.progress.clear();
        if self.failed.is_none() {
            self.failed = writeln!(self.out, "{text}").err();
        }
    }

    /// Writes the summary; returns the number of findings.
    pub(super) fn finish(mut self, supply: &str) -> Result<u64, VerifyError> {
        self.progress.clear();
        if self.findings > MAX_PRINTED {
            self.line(&format!("and {} more", self.findings - MAX_PRINTED));
        }
        if !supply.is_empty() {
            self.line(supply);
        }
        match self.findings {
            0 => self.line("nothing is wrong"),
            1 => self.line("1 thing is wrong"),
            many => self.line(&format!("{many} things are wrong")),
        }
        let flushed = self.out.flush();
        match self.failed.or(flushed.err()) {
            Some(error) => Err(VerifyError::Output(error)),
            None => Ok(self.findings),
        }
    }
}

impl AuditLog for Report<'_> {
    fn finding(&mut self, finding: Finding) {
        self.findings += 1;
        if self.findings <= MAX_PRINTED {
            self.line(&finding.to_string());
        }
    }

    fn progress(&mut self, what: &str, done: u64, of: Option<u64>) -> Result<(), AuditError> {
        if self.stop.is_requested() {
            return Err(AuditError::Stopped);
        }
        self.progress.show(|| match of {
            Some(of) if of > 0 => format!("{what}: {done} of {of}"),
            _ => format!("{what}: {done}"),
        });
        Ok(())
    }
}
