//! The state of a join, as the health check and `esker status` show it.

use std::sync::Arc;

use esker_primitives::sync::Mutex;

/// The state of a join.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinStatus {
    /// The connected source; `None` while there is no connection.
    pub source: Option<String>,
    /// Height of the snapshot's bundle.
    pub height: Option<u64>,
    /// Rows that were checked and written.
    pub rows: u64,
    /// Rows of the snapshot, if the source has announced the number.
    pub total: Option<u64>,
    /// Bytes that were received.
    pub bytes: u64,
    /// A fault for an operator: a snapshot that is wrong, or of another network.
    pub fault: Option<String>,
    /// The reason why the last attempt ended.
    pub last_error: Option<String>,
}

/// The state, as the join updates it.
#[derive(Clone, Debug)]
pub struct JoinStatusCell(Arc<Mutex<JoinStatus>>);

impl Default for JoinStatusCell {
    fn default() -> Self {
        Self(Arc::new(Mutex::new_named("follow.join", JoinStatus::default())))
    }
}

impl JoinStatusCell {
    /// The present state.
    pub fn get(&self) -> JoinStatus {
        self.0.lock().clone()
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut JoinStatus)) {
        change(&mut self.0.lock());
    }

    /// An attempt ended. Returns whether the error is new, so that it is logged.
    pub(super) fn ended(&self, error: String, is_fault: bool) -> bool {
        let mut status = self.0.lock();
        let is_new = status.last_error.as_ref() != Some(&error);
        let fault = match is_fault {
            true => Some(error.clone()),
            false => status.fault.take(),
        };
        *status = JoinStatus { fault, last_error: Some(error), ..JoinStatus::default() };
        is_new
    }
}
