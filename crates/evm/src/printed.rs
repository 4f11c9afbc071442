//! What the code of calls prints, and what it calls, for those who follow it.

use esker_evm_execution::console::ConsoleCalls;
use tokio::sync::broadcast;

/// Calls that a follower may be behind; of more it learns the number.
const BACKLOG: usize = 64;

/// A call whose code printed, or whose calls are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedCall {
    /// The method's name with its namespace: `evm_call`.
    pub method: &'static str,
    /// What it printed.
    pub console: ConsoleCalls,
    /// Its calls and events, a line each; empty if they are not shown.
    pub calls: Vec<String>,
}

/// The calls of one chain that print. Cheap to clone, and without cost while nobody follows.
#[derive(Clone, Debug)]
pub struct PrintedCalls(broadcast::Sender<PrintedCall>);

impl Default for PrintedCalls {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG).0)
    }
}

impl PrintedCalls {
    /// Calls from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<PrintedCall> {
        self.0.subscribe()
    }

    /// Whether somebody follows.
    pub fn is_followed(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Reports a call, if there is anything to show of it.
    pub fn report(&self, call: PrintedCall) {
        if !call.console.is_empty() || !call.calls.is_empty() {
            // A follower may have left meanwhile.
            let _followers = self.0.send(call);
        }
    }
}
