//! The streams of a connection of HTTP/2. Each has a phase, like a connection of HTTP/1.1, and the same time limits; a
//! stream that exceeds one closes its connection.
//!
//! A few streams of a connection are served at a time. Further ones wait, their bodies unread, as requests on one
//! connection of HTTP/1.1 do. A stream keeps its place until its reply was handed to the system or to TLS, so a client
//! that does not read gets no more served.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use super::connections::Connection;
use super::phase::Phase;
use super::reply::ReplyBody;

/// A stream that is being served. It ends when its reply has been written, or when the client gave it up.
#[derive(Debug)]
pub(super) struct OpenStream {
    parent: Arc<Connection>,
    stream: Arc<Connection>,
    /// Parts of the reply that are not written yet.
    parts: AtomicUsize,
    _place: OwnedSemaphorePermit,
}

impl OpenStream {
    /// Waits for a place to serve a stream. `None` for a connection without streams.
    pub(super) async fn open(parent: &Arc<Connection>) -> Option<Arc<Self>> {
        let streams = parent.streams()?;
        let place = streams.place().await?;
        let stream = parent.new_stream();
        streams.add(Arc::clone(&stream));
        let parent = Arc::clone(parent);
        Some(Arc::new(Self { parent, stream, parts: AtomicUsize::new(0), _place: place }))
    }

    /// The connection that the layers see.
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.stream
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let is_last = self.parent.streams().is_some_and(|streams| streams.remove(&self.stream));
        if is_last {
            // The stream is idle when all output has been written.
            self.parent.enter(Phase::Reply);
        }
    }
}

/// The body of a reply on a stream.
#[derive(Debug)]
pub(super) struct StreamBody {
    body: ReplyBody,
    stream: Arc<OpenStream>,
}

impl StreamBody {
    pub(super) fn new(body: ReplyBody, stream: Arc<OpenStream>) -> Self {
        Self { body, stream }
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| {
                frame.map_data(|bytes| Bytes::from_owner(Part::new(bytes, &this.stream)))
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A part of a reply, until it has been written.
struct Part {
    bytes: Bytes,
    stream: Arc<OpenStream>,
}

impl Part {
    fn new(bytes: Bytes, stream: &Arc<OpenStream>) -> Self {
        stream.parts.fetch_add(1, Ordering::Relaxed);
        if stream.stream.phase() == Phase::Stream {
            stream.stream.enter(Phase::StreamBlocked);
        }
        Self { bytes, stream: Arc::clone(stream) }
    }
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let is_last = self.stream.parts.fetch_sub(1, Ordering::Relaxed) == 1;
        if is_last && self.stream.stream.phase() == Phase::StreamBlocked {
            self.stream.stream.enter(Phase::Stream);
        }
    }
}
