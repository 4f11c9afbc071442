//! The stream to one follower.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use esker_chain::Shutdown;
use futures_util::Stream;
use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use super::BundleServer;
use crate::record::{Hello, Record};

/// The records for one follower, as chunks of bytes. They are read only as fast as the follower reads.
pub struct BundleStream {
    ready: VecDeque<Bytes>,
    /// The step in progress; `None` at the end.
    step: Option<BoxFuture<'static, (Sender, Step)>>,
}

/// The result of a step.
enum Step {
    Records(Vec<Bytes>),
    /// The last record.
    End(Bytes),
}

/// The state between two steps.
struct Sender {
    server: Arc<BundleServer>,
    tip: watch::Receiver<u64>,
    stop: Shutdown,
    /// Height of the next bundle.
    next: u64,
    /// Time at which the tip was last sent to the follower.
    told: Instant,
    _place: OwnedSemaphorePermit,
}

impl BundleStream {
    pub(super) fn new(
        server: Arc<BundleServer>,
        hello: Hello,
        from: u64,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let (tip, stop) = (server.tip.clone(), server.stop.clone());
        // The follower learns immediately how far it is behind.
        let greeting = [Record::Hello(hello), Record::Tip(hello.tip)];
        let ready = greeting.iter().map(Record::to_bytes).collect();
        let sender = Sender { server, tip, stop, next: from, told: Instant::now(), _place: place };
        Self { ready, step: Some(Box::pin(sender.step())) }
    }
}

impl Sender {
    /// Waits for the next records to send.
    async fn step(mut self) -> (Self, Step) {
        let heartbeat = self.server.config.heartbeat;
        loop {
            if self.stop.is_triggered() {
                let end = Record::End("the source is stopping".to_owned());
                return (self, Step::End(end.to_bytes()));
            }
            let tip = *self.tip.borrow_and_update();
            if self.told.elapsed() >= heartbeat {
                self.told = Instant::now();
                return (self, Step::Records(vec![Record::Tip(tip).to_bytes()]));
            }
            if self.next <= tip {
                return match self.server.records(self.next, tip).await {
                    Ok(records) => {
                        self.next += records.len() as u64;
                        (self, Step::Records(records))
                    }
                    Err(error) => {
                        tracing::error!(%error, "can't send bundles to a follower");
                        let end = Record::End("the source can't read its store".to_owned());
                        (self, Step::End(end.to_bytes()))
                    }
                };
            }
            tokio::select! {
                changed = self.tip.changed() => {
                    // The sender ends when the node stops.
                    if changed.is_err() {
                        let end = Record::End("the source is stopping".to_owned());
                        return (self, Step::End(end.to_bytes()));
                    }
                }
                () = tokio::time::sleep_until(self.told + heartbeat) => {}
                () = self.stop.wait() => {}
            }
        }
    }
}

impl std::fmt::Debug for BundleStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BundleStream").field("ready", &self.ready.len()).finish_non_exhaustive()
    }
}

impl Stream for BundleStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(bytes) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(bytes)));
            }
            let Some(step) = &mut this.step else { return Poll::Ready(None) };
            match step.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready((sender, Step::Records(records))) => {
                    this.ready.extend(records);
                    this.step = Some(Box::pin(sender.step()));
                }
                Poll::Ready((_, Step::End(bytes))) => {
                    this.ready.push_back(bytes);
                    this.step = None;
                }
            }
        }
    }
}
