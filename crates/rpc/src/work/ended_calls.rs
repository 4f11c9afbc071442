//! Calls that have ended, well or not, for those who follow all of them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio::sync::broadcast;

use crate::call_notes::CallNote;

/// Ended calls that a follower may be behind; of more it learns the number.
const BACKLOG: usize = 1024;

/// A call of the positional dialect that has ended.
#[derive(Clone)]
pub struct EndedCall {
    /// The method's name as the client wrote it, its first characters. They may be any.
    pub called: String,
    /// Namespace and name of the method, by their first names; `None`: there is no such method.
    pub method: Option<(&'static str, &'static str)>,
    /// The error's text, its first characters, if the call ended with one. It may contain what the caller or a contract says.
    pub error: Option<String>,
    /// What the handler noted.
    pub note: Option<CallNote>,
}

impl fmt::Debug for EndedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndedCall")
            .field("called", &self.called)
            .field("method", &self.method)
            .field("error", &self.error)
            .field("has_note", &self.note.is_some())
            .finish()
    }
}

/// The calls of one server that have ended. Cheap to clone, and without cost or memory while nobody follows.
#[derive(Clone, Debug, Default)]
pub struct EndedCalls(Arc<OnceLock<broadcast::Sender<EndedCall>>>);

impl EndedCalls {
    /// Ended calls from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<EndedCall> {
        self.0.get_or_init(|| broadcast::channel(BACKLOG).0).subscribe()
    }

    /// Whether somebody follows.
    pub(crate) fn is_followed(&self) -> bool {
        self.0.get().is_some_and(|calls| calls.receiver_count() > 0)
    }

    /// Reports a call. It never waits: a follower that is too far behind misses the oldest calls.
    pub(crate) fn report(&self, call: EndedCall) {
        if let Some(calls) = self.0.get() {
            // A follower may have left meanwhile.
            let _followers = calls.send(call);
        }
    }
}
