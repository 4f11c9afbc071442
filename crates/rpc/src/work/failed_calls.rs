//! Calls that end with an error, for those who follow them.

use tokio::sync::broadcast;

use crate::service::{CallError, MethodInfo};

/// Failed calls that a follower may be behind; of more it learns the number.
const BACKLOG: usize = 64;
/// Most characters of an error.
const MAX_ERROR: usize = 300;
/// Characters of an error's data that are shown.
const MAX_DATA: usize = 100;

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

    /// Reports a call. `takes_list`: the method takes its arguments by position.
    pub(crate) fn report(&self, info: &MethodInfo, takes_list: bool, error: &CallError) {
        if self.0.receiver_count() == 0 {
            return;
        }
        let separator = if takes_list { '_' } else { '.' };
        let mut text: String = error.to_string().chars().take(MAX_ERROR).collect();
        if let CallError::Handler(error) = error
            && let Some(data) = &error.data
        {
            text.push(' ');
            text.extend(data.get().trim_matches('"').chars().take(MAX_DATA));
        }
        let method = format!("{}{separator}{}", info.namespace, info.name);
        // A follower may have left meanwhile.
        let _followers = self.0.send(FailedCall { method, error: text });
    }
}
