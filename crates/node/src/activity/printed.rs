//! What code prints with `console.log`, on the screen.

use std::fmt::Write as _;

use esker_chain::PrintedTexts;
use esker_evm::printed::PrintedCall;
use esker_primitives::plain_text;
use futures_util::future::select_all;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Most characters of a text.
const MAX_TEXT: usize = 4096;

/// The next call of any chain.
pub(super) async fn next(calls: &mut [Receiver<PrintedCall>]) -> Result<PrintedCall, RecvError> {
    if calls.is_empty() {
        return std::future::pending().await;
    }
    select_all(calls.iter_mut().map(|calls| Box::pin(calls.recv()))).await.0
}

/// A call and what it printed.
pub(super) fn call(call: &PrintedCall) -> String {
    let PrintedCall { method, console, calls } = call;
    let mut out = format!("\n{method}\n");
    push_calls(&mut out, calls);
    if !console.is_empty() {
        push(&mut out, console.texts(), console.left_out());
    }
    out
}

/// What code called, before what follows from it.
pub(super) fn push_calls(out: &mut String, calls: &[String]) {
    if calls.is_empty() {
        return;
    }
    out.push_str("Traces:\n");
    for line in calls {
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
}

/// Calls without a text of their own.
pub(super) fn further_calls(calls: u64) -> String {
    format!("\nfurther calls that print: {calls}\n")
}

/// Adds what a transaction printed.
pub(super) fn push_of_tx(out: &mut String, printed: &PrintedTexts) {
    if !printed.texts.is_empty() || printed.left_out > 0 {
        push(out, printed.texts.iter().cloned(), printed.left_out);
    }
}

/// A line for each text.
fn push(out: &mut String, texts: impl Iterator<Item = String>, left_out: u64) {
    out.push_str("    console.log:\n");
    for text in texts {
        // Writing to a String can't fail.
        let _ok = writeln!(out, "      {}", plain_text(&text, MAX_TEXT));
    }
    if left_out > 0 {
        let _ok = writeln!(out, "      ({left_out} further texts are not shown)");
    }
}
