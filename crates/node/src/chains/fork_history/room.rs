//! Counts long replies of the source for the connection whose call causes them.

use std::fmt;

use esker_fork::source::ReplyRoom;
use esker_primitives::sync::Mutex;
use esker_rpc::work::{Client, ReplyReservation};

/// The bytes of one call's replies, until this is dropped. Without a connection nothing is counted.
pub(super) struct ClientRoom {
    client: Option<Client>,
    taken: Mutex<Vec<ReplyReservation>>,
}

impl ClientRoom {
    pub(super) fn new(client: Option<&Client>) -> Self {
        Self { client: client.cloned(), taken: Mutex::default() }
    }
}

impl ReplyRoom for ClientRoom {
    fn take(&self, bytes: usize) -> bool {
        let Some(client) = &self.client else { return true };
        match client.reserve(bytes) {
            Ok(reservation) => {
                self.taken.lock().push(reservation);
                true
            }
            Err(_) => false,
        }
    }
}

impl fmt::Debug for ClientRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientRoom")
            .field("parts", &self.taken.lock().len())
            .finish_non_exhaustive()
    }
}
