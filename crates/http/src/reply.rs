//! Reply bodies. Their bytes are counted until the client has read them, or has disconnected.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use esker_rpc::work::{Client, ReplyBytes};
use hyper::body::{Body, Frame, SizeHint};

use super::batch::{BatchBody, BatchReply};
use super::connections::StreamGuard;
use super::gzip;
use super::spooled::SpooledBody;

/// The body of a reply.
pub(super) enum ReplyBody {
    /// A complete body.
    Full(Option<Bytes>),
    /// A complete body whose bytes are counted.
    Counted(ReplyBytes),
    /// The streamed answer to a large batch.
    Batch(Box<BatchBody>),
    /// A large reply, of which the first part is in a file.
    Spooled(Box<SpooledBody>),
    /// A stream.
    Stream(
        axum::body::Body,
        #[expect(dead_code, reason = "notifies of the end when dropped")] StreamGuard,
    ),
}

impl ReplyBody {
    pub(super) fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::Full((!bytes.is_empty()).then_some(bytes))
    }

    pub(super) const fn empty() -> Self {
        Self::Full(None)
    }

    /// The bytes of a complete body.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        match self {
            Self::Full(bytes) => Some(bytes.as_deref().unwrap_or_default()),
            Self::Counted(bytes) => Some(bytes),
            Self::Batch(_) | Self::Spooled(_) | Self::Stream(..) => None,
        }
    }

    /// The compressed body, and whether it is compressed: no thread or memory may be available.
    pub(super) async fn compress(self, client: &Client) -> (Self, bool) {
        match self {
            Self::Full(Some(bytes)) => {
                let bytes = Arc::new(bytes);
                match gzip::compress(client, &bytes).await {
                    Some(packed) => (packed.into(), true),
                    None => (Self::Full(Arc::into_inner(bytes)), false),
                }
            }
            Self::Counted(bytes) => {
                let bytes = Arc::new(bytes);
                match gzip::compress(client, &bytes).await {
                    Some(packed) => (packed.into(), true),
                    None => (Self::Counted(Arc::into_inner(bytes).unwrap_or_default()), false),
                }
            }
            Self::Batch(mut batch) => {
                let is_packed = batch.compress();
                (Self::Batch(batch), is_packed)
            }
            // To compress hundreds of megabytes would take seconds of a processor.
            other @ (Self::Full(None) | Self::Spooled(_) | Self::Stream(..)) => (other, false),
        }
    }

    /// From now on only the client's reading releases the bytes.
    pub(super) fn sent(self) -> Self {
        match self {
            Self::Counted(mut bytes) => {
                bytes.mark_sent();
                Self::Full(Some(Bytes::from_owner(bytes)))
            }
            other => other,
        }
    }
}

impl From<BatchReply> for ReplyBody {
    fn from(reply: BatchReply) -> Self {
        match reply {
            BatchReply::Whole(bytes) => bytes.into(),
            BatchReply::Parts(body) => Self::Batch(body),
        }
    }
}

impl From<ReplyBytes> for ReplyBody {
    fn from(bytes: ReplyBytes) -> Self {
        if bytes.is_counted() { Self::Counted(bytes) } else { Self::full(bytes.into_vec()) }
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.whole()) {
            (_, Some(bytes)) => write!(f, "{} bytes", bytes.len()),
            (Self::Batch(batch), None) => batch.fmt(f),
            (Self::Spooled(body), None) => body.fmt(f),
            (_, None) => f.write_str("Stream"),
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Counted(bytes) => {
                let mut bytes = std::mem::take(bytes);
                bytes.mark_sent();
                let whole = (!bytes.is_empty()).then(|| Ok(Frame::data(Bytes::from_owner(bytes))));
                Poll::Ready(whole)
            }
            Self::Batch(batch) => {
                batch.poll_bytes(cx).map(|bytes| bytes.map(|bytes| bytes.map(Frame::data)))
            }
            Self::Spooled(body) => {
                body.poll_bytes().map(|part| part.map(|part| part.map(Frame::data)))
            }
            Self::Stream(body, _) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Stream(body, _) => body.is_end_stream(),
            Self::Batch(_) => false,
            Self::Spooled(body) => body.remaining() == 0,
            Self::Full(_) | Self::Counted(_) => self.whole().is_none_or(<[u8]>::is_empty),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match (self, self.whole()) {
            (_, Some(bytes)) => SizeHint::with_exact(bytes.len() as u64),
            (Self::Stream(body, _), None) => body.size_hint(),
            (Self::Spooled(body), None) => SizeHint::with_exact(body.remaining()),
            (_, None) => SizeHint::default(),
        }
    }
}
