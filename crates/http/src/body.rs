//! Request bodies, read within limits.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::{Bytes, BytesMut};
use esker_rpc::work::RequestShare;
use hyper::body::{Body, Incoming};

use super::config::SMALL_BODY;
use super::metrics::HttpMetrics;

/// A call copies its arguments out of a body of up to this size, in bytes.
pub(super) const MAX_COPIED: usize = 4096;

/// The reason why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// The body's size in bytes: its Content-Length, or the limit plus one.
    TooLarge(u64),
    /// Other bodies use all the memory for request bodies.
    NoMemory,
    /// The connection or the body's framing is broken.
    Broken,
}

/// The treatment of a body without Content-Length that exceeds the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OversizePolicy {
    /// Refuse the request.
    Refuse,
    /// Use the bytes up to the limit and leave the rest unread.
    Cut,
}

/// Limits the bytes of large bodies in memory.
#[derive(Debug)]
pub(super) struct BodyMemory {
    limit: i64,
    used: AtomicI64,
    metrics: Arc<dyn HttpMetrics>,
}

/// A body, and its share of the body memory.
#[derive(Debug)]
pub(super) struct ReadBody {
    pub(super) bytes: Bytes,
    _share: Option<MemoryShare>,
    _of_address: Option<RequestShare>,
}

impl AsRef<[u8]> for ReadBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes counted against the body memory, released on drop.
#[derive(Debug)]
pub(super) struct MemoryShare {
    memory: Arc<BodyMemory>,
    bytes: usize,
    /// Up to so many bytes are not counted.
    uncounted: usize,
}

impl BodyMemory {
    /// `metrics` reports the bytes in use.
    pub(super) fn new(limit: usize, metrics: Arc<dyn HttpMetrics>) -> Arc<Self> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Arc::new(Self { limit, used: AtomicI64::new(0), metrics })
    }

    /// Bytes in use.
    #[cfg(test)]
    pub(super) fn used(&self) -> i64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Adds to the bytes in use, or subtracts; returns the sum.
    fn count(&self, change: i64) -> i64 {
        self.metrics.body_memory(change);
        self.used.fetch_add(change, Ordering::Relaxed).saturating_add(change)
    }

    /// Reads a body of at most `limit` bytes. Memory is counted as bytes arrive, never by the declared length; bodies
    /// of up to `uncounted` bytes are not.
    pub(super) async fn read(
        self: &Arc<Self>,
        body: &mut Incoming,
        limit: usize,
        uncounted: usize,
        excess: OversizePolicy,
    ) -> Result<ReadBody, BodyError> {
        if let Some(declared) = body.size_hint().exact()
            && declared > limit as u64
        {
            return Err(BodyError::TooLarge(declared));
        }
        let Some(first) = next_data(body).await? else { return Ok(ReadBody::small(Bytes::new())) };
        if body.is_end_stream() && first.len() <= limit.min(uncounted) {
            return Ok(ReadBody::small(first));
        }
        let mut whole = BytesMut::from(first);
        // Unwritten memory does not count; a buffer that grows by doubling takes up to three times its size.
        if let Some(left) = body.size_hint().exact() {
            whole.reserve(usize::try_from(left).unwrap_or(0).min(limit));
        }
        let mut share = MemoryShare::above(self, uncounted);
        loop {
            if whole.len() > limit {
                match excess {
                    OversizePolicy::Refuse => return Err(BodyError::TooLarge(limit as u64 + 1)),
                    OversizePolicy::Cut => {
                        whole.truncate(limit);
                        break;
                    }
                }
            }
            share.grow_to(whole.len())?;
            match next_data(body).await? {
                Some(chunk) => whole.extend_from_slice(&chunk),
                None => break,
            }
        }
        Ok(ReadBody { bytes: whole.freeze(), _share: Some(share), _of_address: None })
    }
}

impl ReadBody {
    /// The same with its share of what the bodies of an address hold, as far as it needs it.
    pub(super) fn with_share(self, share: Option<RequestShare>) -> Self {
        let mut share = share.filter(|_| self._share.is_some());
        share.iter_mut().for_each(|share| share.shrink_to(self.bytes.len()));
        Self { _of_address: share, ..self }
    }

    /// The bytes, for calls that keep a part of them; `None` if they are so few that they copy it.
    pub(super) fn shared(&self) -> Option<Bytes> {
        (self.bytes.len() > MAX_COPIED).then(|| self.bytes.clone())
    }

    fn small(bytes: Bytes) -> Self {
        Self { bytes, _share: None, _of_address: None }
    }
}

impl MemoryShare {
    /// An empty share.
    pub(super) fn new(memory: &Arc<BodyMemory>) -> Self {
        Self::above(memory, SMALL_BODY)
    }

    /// An empty share that counts nothing up to `uncounted` bytes.
    pub(super) fn above(memory: &Arc<BodyMemory>, uncounted: usize) -> Self {
        Self { memory: Arc::clone(memory), bytes: 0, uncounted }
    }

    /// Counts this many bytes if they exceed the uncounted size.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), BodyError> {
        if bytes <= self.uncounted || bytes <= self.bytes {
            return Ok(());
        }
        let memory = &self.memory;
        let used = memory.count(signed(bytes - self.bytes));
        // Dropping the share releases the excess.
        self.bytes = bytes;
        if used > memory.limit { Err(BodyError::NoMemory) } else { Ok(()) }
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.memory.count(-signed(self.bytes));
        }
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The next bytes of a body, trailers skipped.
async fn next_data(body: &mut Incoming) -> Result<Option<Bytes>, BodyError> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            None => return Ok(None),
            Some(Err(_)) => return Err(BodyError::Broken),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}
