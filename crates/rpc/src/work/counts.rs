//! The counts of a connection and of an address.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;

/// No work begins for a connection that leaves more bytes unread.
pub(super) const MAX_UNREAD: usize = 256 * 1024;

/// The bytes of one connection's replies. Changed under the lock of the memory.
#[derive(Debug, Default)]
pub(super) struct ConnectionReplies {
    pub(super) bytes: AtomicUsize,
    /// The number of them that are being sent to the client.
    pub(super) unread: AtomicUsize,
    /// When a reply last began or ended to be sent; ms of the memory's clock.
    pub(super) unread_since_ms: AtomicU64,
    /// The connection was closed to free memory; its bytes are no longer counted.
    pub(super) is_evicted: AtomicBool,
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

/// The bytes that the calls of one address take. Changed under the lock of the memory.
#[derive(Debug, Default)]
pub(super) struct AddressCalls(pub(super) AtomicUsize);

impl AddressCalls {
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The share of one address, made with its first large request.
#[derive(Debug, Default)]
pub(super) struct AddressRequests(pub(super) OnceLock<Arc<Semaphore>>);
