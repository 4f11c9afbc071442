//! Calls that end with an error, for those who follow them.

use tokio::sync::broadcast;

/// Failed calls that a follower may be behind; of more it learns the number.
const BACKLOG: usize = 64;

/// A call that ended with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// The method's name with its namespace, as its dialect writes it: `evm_call`, `xvm.send`.
    pub method: String,
    /// The error's text, its first characters. It may contain what the caller or a contract says.
    pub error: String,
}

/// The calls of one server that end with an error. Cheap to clone, and without cost while nobody follows.
#[derive(Clone, Debug)]
pub struct FailedCalls(broadcast::Sender<FailedCall>);

impl FailedCalls {
    pub(super) fn new() -> Self {
        Self(broadcast::channel(BACKLOG).0)
    }

    /// Failed calls from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<FailedCall> {
        self.0.subscribe()
    }

    /// Reports a call. `describe` is called only if somebody follows.
    pub(crate) fn report(&self, describe: impl FnOnce() -> FailedCall) {
        if self.0.receiver_count() > 0 {
            // A follower may have left meanwhile.
            let _followers = self.0.send(describe());
        }
    }
}
