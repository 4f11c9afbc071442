//! The queue between the work of a batch and the connection that sends the answer.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::OnceLock;
use std::task::Poll;

use esker_primitives::sync::Mutex;

use crate::work::{Client, ReplyBytes};

/// Small replies are joined into parts of this size, in bytes.
const PART: usize = 64 * 1024;

/// Lowest limit of a queue: while the work is paused, a whole part is available.
pub(super) const MIN_PENDING: usize = 2 * PART;
/// Parts up to this size, in bytes, are not counted.
const FREE: usize = 1024;

/// Parts of an answer that were made and not yet taken.
///
/// The same task polls the work and takes the parts, so the work needs no waker when there is room again.
#[derive(Debug)]
pub(super) struct PartQueue {
    state: Mutex<State>,
    /// The work pauses while this many bytes wait.
    limit: usize,
    /// See [`super::Answer::retry_after_s`].
    retry_after_s: OnceLock<u32>,
}

#[derive(Debug, Default)]
struct State {
    parts: VecDeque<ReplyBytes>,
    bytes: usize,
    /// The last part, not yet complete.
    open: Vec<u8>,
    /// The client's memory limit is reached.
    is_full: bool,
}

impl PartQueue {
    pub(super) fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit, retry_after_s: OnceLock::new() }
    }

    /// See [`super::Answer::retry_after_s`].
    pub(super) fn retry_after_s(&self) -> Option<u32> {
        self.retry_after_s.get().copied()
    }

    /// Set before the first bytes are written; only the first call counts.
    pub(super) fn set_retry_after_s(&self, seconds: u32) {
        let _ = self.retry_after_s.set(seconds);
    }

    /// Waits until there is room.
    pub(super) async fn room(&self) {
        poll_fn(|_| match self.is_paused() {
            false => Poll::Ready(()),
            true => Poll::Pending,
        })
        .await;
    }

    /// Whether there is no room.
    pub(super) fn is_paused(&self) -> bool {
        let state = self.state.lock();
        state.bytes + state.open.len() >= self.limit
    }

    /// Whether a complete part can be taken.
    pub(super) fn has_part(&self) -> bool {
        let state = self.state.lock();
        !state.parts.is_empty() || (state.is_full && !state.open.is_empty())
    }

    /// Whether the client's memory limit is reached.
    pub(super) fn is_full(&self) -> bool {
        self.state.lock().is_full
    }

    /// Adds some bytes to the open part.
    pub(super) fn write(&self, client: Option<&Client>, write: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state.lock();
        write(&mut state.open);
        if state.open.len() >= PART {
            state.close_chunk(client);
        }
    }

    /// Adds a reply after a separator.
    pub(super) fn push(&self, client: Option<&Client>, separator: u8, reply: ReplyBytes) {
        if !reply.is_counted() {
            return self.write(client, |open| {
                open.push(separator);
                open.extend_from_slice(&reply);
            });
        }
        let mut state = self.state.lock();
        state.open.push(separator);
        state.close_chunk(client);
        // The open part comes first in the answer.
        state.close();
        state.bytes += reply.len();
        state.parts.push_back(reply);
    }

    /// The whole answer, if it is in one part at most.
    pub(super) fn take_only(&self) -> Option<ReplyBytes> {
        let mut state = self.state.lock();
        match (state.parts.len(), state.open.is_empty()) {
            (0, _) => state.close(),
            (1, true) => {}
            (_, _) => return None,
        }
        let part = state.parts.pop_front().unwrap_or_default();
        state.bytes -= part.len();
        Some(part)
    }

    /// The next part; with `is_last` also the open one.
    pub(super) fn take(&self, is_last: bool) -> Option<ReplyBytes> {
        let mut state = self.state.lock();
        if is_last || state.is_full {
            state.close();
        }
        let part = state.parts.pop_front()?;
        state.bytes -= part.len();
        Some(part)
    }
}

impl State {
    /// Completes the open part, counted.
    fn close_chunk(&mut self, client: Option<&Client>) {
        if self.is_full || self.open.is_empty() {
            return;
        }
        let open = std::mem::take(&mut self.open);
        let bytes = open.len();
        match ReplyBytes::try_counted(open, client, FREE) {
            Ok(part) => {
                self.bytes += bytes;
                self.parts.push_back(part);
            }
            Err((_, open)) => {
                self.open = open;
                self.is_full = true;
            }
        }
    }

    /// Completes the open part, not counted.
    fn close(&mut self) {
        if !self.open.is_empty() {
            self.bytes += self.open.len();
            self.parts.push_back(std::mem::take(&mut self.open).into());
        }
    }
}
