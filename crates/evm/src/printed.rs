//! What the code of calls prints, for those who follow it.

use esker_evm_execution::console::ConsoleCalls;
use tokio::sync::broadcast;

/// Calls that a follower may be behind; of more it learns the number.
const BACKLOG: usize = 64;

/// A call whose code printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedCall {
    /// The method's name with its namespace: `evm_call`.
    pub method: &'static str,
    /// What it printed.
    pub console: ConsoleCalls,
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

    /// Reports a call, if its code printed anything.
    pub fn report(&self, method: &'static str, console: ConsoleCalls) {
        if !console.is_empty() {
            // A follower may have left meanwhile.
            let _followers = self.0.send(PrintedCall { method, console });
        }
    }
}
