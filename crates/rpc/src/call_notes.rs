//! What a handler says of its call besides the reply, for those who follow ended calls.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use esker_primitives::sync::Mutex;

/// What a handler noted, in a type that it shares with the follower. It is of bounded size: many may wait for a follower.
pub type CallNote = Arc<dyn Any + Send + Sync>;

/// Takes the note of one call. The default takes none, and is that of every call while nobody follows
/// ([`crate::work::EndedCalls`]).
#[derive(Clone, Default)]
pub struct CallNotes(Option<Arc<Mutex<Option<CallNote>>>>);

impl CallNotes {
    /// Notes that are taken.
    pub(crate) fn wanted() -> Self {
        Self(Some(Arc::new(Mutex::new_named("rpc.call-notes", None))))
    }

    /// Whether a note is taken. A note that costs something is made only then.
    #[must_use]
    pub fn are_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Notes this in place of an earlier note: a call may run again.
    pub fn set(&self, note: impl Any + Send + Sync) {
        if let Some(slot) = &self.0 {
            *slot.lock() = Some(Arc::new(note));
        }
    }

    /// The last note.
    pub(crate) fn take(&self) -> Option<CallNote> {
        self.0.as_ref()?.lock().take()
    }
}

impl fmt::Debug for CallNotes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallNotes(wanted: {})", self.are_wanted())
    }
}
