//! Writes texts on a thread of its own, so that nobody waits for a terminal that does not read.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::text;

/// Texts that wait for the terminal. Further ones are dropped and counted.
pub(super) const MAX_WAITING: usize = 256;
/// Bytes of texts that wait, unless it is only one.
pub(super) const MAX_WAITING_BYTES: usize = 16 << 20;

/// The terminal was closed; nothing is written any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Closed;

/// A queue to the thread that writes.
#[derive(Debug)]
pub(super) struct Output {
    queue: SyncSender<String>,
    /// Bytes of the texts that wait or are being written.
    waiting: Arc<AtomicUsize>,
    /// Resolves when the thread has ended.
    ended: oneshot::Receiver<()>,
    /// Number of texts that were dropped since the last one was queued.
    dropped: u64,
}

impl Output {
    /// Starts the thread. It ends with the queue, or with the first error of `out`.
    pub(super) fn spawn(mut out: impl Write + Send + 'static) -> Self {
        let (queue, texts) = mpsc::sync_channel::<String>(MAX_WAITING);
        let (end, ended) = oneshot::channel::<()>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let waiting_there = Arc::clone(&waiting);
        let write = move || {
            let _end = end;
            for text in texts {
                if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
                    return;
                }
                waiting_there.fetch_sub(text.len(), Ordering::Relaxed);
            }
        };
        // If the thread can't start, the queue is closed. Nothing is shown then, and the node works all the same.
        let _thread = thread::Builder::new().name("screen".to_owned()).spawn(write);
        Self { queue, waiting, ended, dropped: 0 }
    }

    /// Queues a text. A text is dropped if the queue is full. The next text that is queued reports how many were.
    pub(super) fn write(&mut self, text: String) -> Result<(), Closed> {
        let text = match self.dropped {
            0 => text,
            dropped => text::dropped(dropped) + &text,
        };
        let length = text.len();
        let waiting = self.waiting.fetch_add(length, Ordering::Relaxed);
        let sent = match waiting > 0 && waiting + length > MAX_WAITING_BYTES {
            true => Err(TrySendError::Full(text)),
            false => self.queue.try_send(text),
        };
        match sent {
            Ok(()) => {
                self.dropped = 0;
                return Ok(());
            }
            Err(TrySendError::Full(_)) => self.dropped = self.dropped.saturating_add(1),
            Err(TrySendError::Disconnected(_)) => return Err(Closed),
        }
        self.waiting.fetch_sub(length, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the last text was dropped.
    pub(super) fn has_dropped(&self) -> bool {
        self.dropped > 0
    }

    /// Whether a text waits or is being written.
    #[cfg(test)]
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Waits until everything is written, but no longer than `timeout`.
    pub(super) async fn finish(self, timeout: Duration) {
        drop(self.queue);
        let _given_up = tokio::time::timeout(timeout, self.ended).await;
    }
}
