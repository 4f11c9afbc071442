//! Hashing the committed rows of a snapshot on a separate thread.

use std::collections::BTreeMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use esker_primitives::ChainId;
use esker_storage::StorageError;

use super::Page;
use crate::commitment::StatePart;
use crate::error::ChainError;

/// Pages that wait for the thread.
const BACKLOG: usize = 16;

type Work = (ChainId, u8, Bytes);

/// The thread. It ends with the sender of pages.
#[derive(Debug)]
pub(super) struct RowsHash {
    pages: SyncSender<Work>,
    thread: JoinHandle<BTreeMap<ChainId, StatePart>>,
}

impl RowsHash {
    pub(super) fn spawn() -> Result<Self, ChainError> {
        let (pages, work) = sync_channel::<Work>(BACKLOG);
        let run = move || {
            let mut parts = BTreeMap::<ChainId, StatePart>::new();
            for (part, tag, page) in work {
                let hash = parts.entry(part).or_default();
                for (key, value) in Page(&page).flatten() {
                    hash.insert(&part, tag, key, value);
                }
            }
            parts
        };
        let spawned = thread::Builder::new().name("snapshot-hash".to_owned()).spawn(run);
        let thread = spawned.map_err(|error| StorageError::io("thread", error))?;
        Ok(Self { pages, thread })
    }

    /// Adds the rows of a page. Waits while the thread is behind.
    pub(super) fn add(&self, part: ChainId, tag: u8, page: Bytes) {
        // If the thread has panicked, `finish` reports it.
        let _sent = self.pages.send((part, tag, page));
    }

    /// The hashes of all parts with rows.
    pub(super) fn finish(self) -> Result<BTreeMap<ChainId, StatePart>, ChainError> {
        drop(self.pages);
        self.thread.join().map_err(|_| {
            StorageError::Panicked("the thread that hashes a snapshot".to_owned()).into()
        })
    }
}
