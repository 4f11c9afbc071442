//! The calls and events of a transaction with their names, one a line, those within a call indented.

use serde_json::{Value, json};

use super::OnlineError;
use super::names::Names;

/// Most lines.
const MAX_LINES: usize = 2000;

/// The lines of a transaction.
pub(super) fn lines(names: &mut Names<'_>, hash: &Value) -> Result<Vec<String>, OnlineError> {
    let config = json!({"tracer": "callTracer", "tracerConfig": {"withLog": true}});
    let frame: Value = names.ask("debug_traceTransaction", json!([hash, config]))?;
    let mut trace = Trace { names, lines: Vec::new() };
    trace.frame(&frame, 0)?;
    let mut lines = trace.lines;
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        lines.push("...".to_owned());
    }
    Ok(lines)
}

struct Trace<'n, 'a> {
    names: &'n mut Names<'a>,
    lines: Vec<String>,
}

impl Trace<'_, '_> {
    fn push(&mut self, depth: usize, text: &str) {
        self.lines.push(format!("{}{text}", "  ".repeat(depth)));
    }

    fn frame(&mut self, frame: &Value, depth: usize) -> Result<(), OnlineError> {
        if self.lines.len() > MAX_LINES {
            return Ok(());
        }
        let call = self.names.frame(frame)?;
        self.push(depth, &call);
        let list = |name: &str| frame[name].as_array().map_or(&[][..], Vec::as_slice);
        let (calls, mut logs) = (list("calls"), list("logs").iter().peekable());
        for (index, call) in calls.iter().enumerate() {
            while let Some(log) = logs.next_if(|log| position(log) <= index) {
                self.event(log, depth + 1)?;
            }
            self.frame(call, depth + 1)?;
        }
        for log in logs {
            self.event(log, depth + 1)?;
        }
        if let Some(failure) = self.names.failure(frame) {
            self.push(depth + 1, &failure);
        }
        Ok(())
    }

    fn event(&mut self, log: &Value, depth: usize) -> Result<(), OnlineError> {
        if self.lines.len() > MAX_LINES {
            return Ok(());
        }
        let unknown = || format!("of {}", log["address"].as_str().unwrap_or_default());
        let event = self.names.event(log)?.unwrap_or_else(unknown);
        self.push(depth, &format!("event {event}"));
        Ok(())
    }
}

/// The number of calls before a log.
fn position(log: &Value) -> usize {
    let digits = log["position"].as_str().and_then(|text| text.strip_prefix("0x"));
    digits.and_then(|digits| usize::from_str_radix(digits, 16).ok()).unwrap_or_default()
}
