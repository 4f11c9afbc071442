//! Counts the bytes of replies that are held until they are written.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use esker_primitives::sync::Mutex;

use super::error::MemoryError;
use super::{Client, SpoolFile};

/// Replies up to this size, in bytes, are not counted.
pub const SMALL_REPLY: usize = 16 * 1024;

/// Spare capacity for what a dialect appends to a reply, in bytes.
const ROOM_FOR_END: usize = 256;

/// Frees memory that is held by replies which their clients do not read.
pub trait MemoryRelief: fmt::Debug + Send + Sync + 'static {
    /// Closes the connection that has left replies unread for the longest, if any has for long enough, and returns it.
    /// Its memory counts as free from then on.
    fn evict(&self) -> Option<Client>;
}

/// The bytes of all replies of a server.
#[derive(Debug)]
pub(super) struct ReplyMemory {
    limit: usize,
    client_limit: usize,
    used: Mutex<usize>,
    relief: OnceLock<Box<dyn MemoryRelief>>,
    refused: AtomicU64,
    started: Instant,
}

/// Bytes that are counted as held, until this is dropped.
#[derive(Debug)]
pub struct ReplyReservation {
    client: Client,
    bytes: usize,
    is_sent: bool,
}

/// A reply, or a part of one, counted as held while it lives.
#[derive(Debug, Default)]
pub struct ReplyBytes {
    /// The part before the bytes.
    file: Option<Box<SpoolFile>>,
    bytes: Vec<u8>,
    share: Option<Box<ReplyReservation>>,
}

impl ReplyMemory {
    pub(super) fn new(limit: usize, client_limit: usize) -> Self {
        Self {
            limit,
            client_limit,
            used: Mutex::new_named("rpc.replies", 0),
            relief: OnceLock::new(),
            refused: AtomicU64::new(0),
            started: Instant::now(),
        }
    }

    pub(super) fn set_relief(&self, relief: Box<dyn MemoryRelief>) {
        // Set once, when the server is put together.
        let _ = self.relief.set(relief);
    }

    /// Bytes held, and replies refused so far.
    pub(super) fn counts(&self) -> (usize, u64) {
        (*self.used.lock(), self.refused.load(Ordering::Relaxed))
    }

    /// Milliseconds since the start.
    pub(super) fn clock_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn reserve(
        &self,
        client: &Client,
        bytes: usize,
    ) -> Result<ReplyReservation, MemoryError> {
        loop {
            match self.try_reserve(client, bytes) {
                Err(MemoryError::Full) if self.evict() => {}
                outcome => {
                    if outcome.is_err() {
                        self.refused.fetch_add(1, Ordering::Relaxed);
                    }
                    return outcome;
                }
            }
        }
    }

    fn try_reserve(&self, client: &Client, bytes: usize) -> Result<ReplyReservation, MemoryError> {
        let mut used = self.used.lock();
        let held = &client.account().held;
        if held.bytes.load(Ordering::Relaxed).saturating_add(bytes) > self.client_limit {
            return Err(MemoryError::TooLarge);
        }
        if held.is_evicted.load(Ordering::Relaxed) || used.saturating_add(bytes) > self.limit {
            return Err(MemoryError::Full);
        }
        *used += bytes;
        held.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(ReplyReservation { client: client.clone(), bytes, is_sent: false })
    }

    /// Closes a connection that does not read; false if there is none.
    fn evict(&self) -> bool {
        let Some(client) = self.relief.get().and_then(|relief| relief.evict()) else {
            return false;
        };
        let held = &client.account().held;
        let mut used = self.used.lock();
        if held.is_evicted.swap(true, Ordering::Relaxed) {
            return false;
        }
        *used -= held.bytes.load(Ordering::Relaxed);
        true
    }

    fn sent(&self, client: &Client, bytes: usize) {
        let _used = self.used.lock();
        let held = &client.account().held;
        held.unread_since_ms.store(self.clock_ms(), Ordering::Relaxed);
        held.unread.fetch_add(bytes, Ordering::Relaxed);
    }

    fn release(&self, share: &ReplyReservation) {
        let account = share.client.account();
        let held = &account.held;
        {
            let mut used = self.used.lock();
            held.bytes.fetch_sub(share.bytes, Ordering::Relaxed);
            if !held.is_evicted.load(Ordering::Relaxed) {
                *used -= share.bytes;
            }
            if share.is_sent {
                held.unread.fetch_sub(share.bytes, Ordering::Relaxed);
                held.unread_since_ms.store(self.clock_ms(), Ordering::Relaxed);
            }
        }
        if share.is_sent {
            account.written.notify_waiters();
            account.work.workers().recheck_blocked();
        }
    }
}

impl Client {
    /// Counts bytes as held for the connection until the reservation is dropped.
    ///
    /// # Errors
    /// There is no room.
    pub fn reserve(&self, bytes: usize) -> Result<ReplyReservation, MemoryError> {
        self.work().memory().reserve(self, bytes)
    }
}

impl ReplyReservation {
    fn sent(&mut self) {
        if !self.is_sent {
            self.is_sent = true;
            self.client.work().memory().sent(&self.client, self.bytes);
        }
    }
}

impl Drop for ReplyReservation {
    fn drop(&mut self) {
        self.client.work().memory().release(self);
    }
}

impl ReplyBytes {
    /// Counts bytes for a client, if they are more than [`SMALL_REPLY`]. Without a client nothing is counted.
    ///
    /// # Errors
    /// There is no room; the bytes are gone.
    pub fn counted(bytes: Vec<u8>, client: Option<&Client>) -> Result<Self, MemoryError> {
        Self::try_counted(bytes, client, SMALL_REPLY).map_err(|(error, _)| error)
    }

    /// The same with another number of uncounted bytes; an error returns the bytes.
    pub(crate) fn try_counted(
        mut bytes: Vec<u8>,
        client: Option<&Client>,
        free: usize,
    ) -> Result<Self, (MemoryError, Vec<u8>)> {
        let Some(client) = client.filter(|_| bytes.len() > free) else {
            return Ok(bytes.into());
        };
        // A vector that grew by doubling may hold twice what is in it.
        if bytes.capacity() - bytes.len() > bytes.len() / 4 {
            bytes.shrink_to(bytes.len() + ROOM_FOR_END);
        }
        match client.work().memory().reserve(client, bytes.capacity()) {
            Ok(share) => Ok(Self { file: None, bytes, share: Some(Box::new(share)) }),
            Err(error) => Err((error, bytes)),
        }
    }

    /// The same with a file before it.
    pub(crate) fn after(self, file: Option<Box<SpoolFile>>) -> Self {
        Self { file, ..self }
    }

    /// Takes out the file whose bytes come before these, if there is one. Only callers that
    /// [take files](crate::Caller::takes_files) get any.
    pub fn take_file(&mut self) -> Option<SpoolFile> {
        self.file.take().map(|file| *file)
    }

    /// Marks the bytes as being sent: from now on they count as unread by the client.
    pub fn mark_sent(&mut self) {
        if let Some(share) = &mut self.share {
            share.sent();
        }
    }

    /// Where a dialect appends the end of a reply; [`Self::recount`] counts it.
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Counts bytes that were appended or not counted before, if they are more than [`SMALL_REPLY`].
    ///
    /// # Errors
    /// There is no room; the bytes are gone.
    pub fn recount(self, client: &Client) -> Result<Self, MemoryError> {
        match &self.share {
            None => Ok(Self::counted(self.bytes, Some(client))?.after(self.file)),
            Some(share) if self.bytes.capacity() <= share.bytes => Ok(self),
            Some(_) => {
                let Self { file, bytes, share } = self;
                drop(share);
                Ok(Self::counted(bytes, Some(client))?.after(file))
            }
        }
    }

    /// The bytes after the first `prefix` ones; `None` if a part is in a file.
    pub(crate) fn result_after(&self, prefix: usize) -> Option<&[u8]> {
        self.bytes.get(prefix..).filter(|_| self.file.is_none())
    }

    /// The bytes alone, no longer counted.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }

    /// Whether the bytes are counted.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.share.is_some()
    }
}

/// Bytes that are not counted.
impl From<Vec<u8>> for ReplyBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self { file: None, bytes, share: None }
    }
}

impl Deref for ReplyBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<[u8]> for ReplyBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for ReplyBytes {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for ReplyBytes {}

impl<const N: usize> PartialEq<&[u8; N]> for ReplyBytes {
    fn eq(&self, other: &&[u8; N]) -> bool {
        self.bytes == *other
    }
}
