//! What is held of replies until it is written.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use esker_primitives::sync::Mutex;

use super::Client;

/// Replies up to this size, in bytes, are not counted.
pub const SMALL_REPLY: usize = 16 * 1024;
/// No work begins for a connection that leaves more bytes unread.
pub(super) const MAX_UNREAD: usize = 256 * 1024;

/// Room that a vector keeps for what a dialect puts at the end of a reply, bytes.
const ROOM_FOR_END: usize = 256;

/// Makes room where replies that nobody reads hold all the memory.
pub trait MemoryRelief: fmt::Debug + Send + Sync + 'static {
    /// Ends the connection that has left replies unread for the longest, if any has for long enough. It is told
    /// which one; its memory counts as free from then on.
    fn evict(&self) -> Option<Client>;
}

/// Why a reply is not held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// It is larger than what is held for a connection, together with what the connection has not read.
    #[error("response too large")]
    TooLarge,
    /// Other replies hold all the memory that there is for them.
    #[error("too many large replies at once")]
    Full,
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

/// The bytes of one connection's replies. Changed under the lock of the memory.
#[derive(Debug, Default)]
pub(super) struct ConnectionReplies {
    bytes: AtomicUsize,
    /// Those of them that are on their way to the client.
    unread: AtomicUsize,
    /// When the last of them began its way, or one before it ended it; ms of [`ReplyMemory::clock_ms`].
    unread_since_ms: AtomicU64,
    /// The connection is ended, and its bytes count no more.
    is_evicted: AtomicBool,
}

/// Bytes that are counted as held; given back when dropped.
#[derive(Debug)]
pub struct ReplyReservation {
    client: Client,
    bytes: usize,
    is_sent: bool,
}

/// A reply, or a part of one, counted as held while it lives.
#[derive(Debug, Default)]
pub struct ReplyBytes {
    bytes: Vec<u8>,
    share: Option<ReplyReservation>,
}

impl ConnectionReplies {
    pub(super) fn unread(&self) -> usize {
        self.unread.load(Ordering::Relaxed)
    }

    pub(super) fn is_evicted(&self) -> bool {
        self.is_evicted.load(Ordering::Relaxed)
    }

    pub(super) fn unread_since_ms(&self) -> Option<u64> {
        (self.unread() > 0).then(|| self.unread_since_ms.load(Ordering::Relaxed))
    }
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

    /// Ends a connection that does not read; false: there is none.
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

    /// The same where another number of bytes is free; the bytes are given back where there is no room.
    pub(crate) fn try_counted(
        mut bytes: Vec<u8>,
        client: Option<&Client>,
        free: usize,
    ) -> Result<Self, (MemoryError, Vec<u8>)> {
        let Some(client) = client.filter(|_| bytes.len() > free) else {
            return Ok(Self { bytes, share: None });
        };
        // A vector that grew by doubling may hold twice what is in it.
        if bytes.capacity() - bytes.len() > bytes.len() / 4 {
            bytes.shrink_to(bytes.len() + ROOM_FOR_END);
        }
        match client.work().memory().reserve(client, bytes.capacity()) {
            Ok(share) => Ok(Self { bytes, share: Some(share) }),
            Err(error) => Err((error, bytes)),
        }
    }

    /// From now on the bytes are on their way: only the client makes them go away.
    pub fn mark_sent(&mut self) {
        if let Some(share) = &mut self.share {
            share.sent();
        }
    }

    /// What a dialect puts at the end of a reply goes here; it is counted by [`Self::recount`].
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Counts what was not, or not yet, if it is more than is for free.
    ///
    /// # Errors
    /// There is no room; the bytes are gone.
    pub fn recount(self, client: &Client) -> Result<Self, MemoryError> {
        match &self.share {
            None => Self::counted(self.bytes, Some(client)),
            Some(share) if self.bytes.capacity() <= share.bytes => Ok(self),
            Some(_) => {
                let Self { bytes, share } = self;
                drop(share);
                Self::counted(bytes, Some(client))
            }
        }
    }

    /// The bytes alone, counted no more.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }

    /// Are they counted?
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.share.is_some()
    }
}

/// Bytes that are not counted.
impl From<Vec<u8>> for ReplyBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, share: None }
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
