//! Replies to large batches: streamed while they are built, at the pace of the client.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use esker_rpc::Caller;
use esker_rpc::positional::{self, BatchAnswer};
use esker_rpc::work::ReplyBytes;

use super::body::ReadBody;
use super::connections::Connection;
use super::gzip::Compressor;
use super::in_flight::InFlight;
use super::metrics::HttpMetrics;
use super::phase::Phase;

/// Most bytes of a batch's reply that wait for the client to read them.
const MAX_PENDING_BYTES: usize = 256 * 1024;

/// The reply to a batch.
pub(super) enum BatchReply {
    /// A small, complete reply.
    Whole(ReplyBytes),
    /// A large reply, which is streamed.
    Parts(Box<BatchBody>),
}

/// A reply under construction.
pub(super) struct BatchBody {
    answer: BatchAnswer,
    connection: Arc<Connection>,
    metrics: Arc<dyn HttpMetrics>,
    compressor: Option<Compressor>,
}

/// Answers a batch. A small reply is completed; a large one is returned as a stream once it is known to be large.
/// Also returns what is known of it already, without its bytes.
pub(super) async fn answer(
    server: &positional::Server,
    caller: &Caller,
    body: ReadBody,
    connection: &Arc<Connection>,
    metrics: &Arc<dyn HttpMetrics>,
    in_flight: InFlight,
) -> (BatchReply, positional::Answer) {
    let mut answer = BatchAnswer::new(server, caller, body, MAX_PENDING_BYTES);
    poll_fn(|cx| answer.poll_buffered(cx)).await;
    // The rest runs only while the client reads, and is limited by what it reads.
    drop(in_flight);
    let known = positional::Answer {
        failed: answer.failed() == Some(true),
        retry_after_s: answer.retry_after_s(),
        ..positional::Answer::default()
    };
    if let Some(whole) = answer.take_whole() {
        return (BatchReply::Whole(whole), known);
    }
    let (connection, metrics) = (Arc::clone(connection), Arc::clone(metrics));
    let body = BatchBody { answer, connection, metrics, compressor: None };
    (BatchReply::Parts(Box::new(body)), known)
}

impl BatchBody {
    /// Compresses the following parts if there is enough memory; returns whether it does.
    pub(super) fn compress(&mut self) -> bool {
        self.compressor = Compressor::new(self.connection.client());
        self.compressor.is_some()
    }

    /// The next bytes.
    pub(super) fn poll_bytes(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, axum::Error>>> {
        // The client has read all or most of the earlier parts.
        self.connection.enter(Phase::Handling);
        let next = match &mut self.compressor {
            None => ready!(self.answer.poll_part(cx)).map(Ok),
            Some(compressor) => ready!(compressor.poll_compressed(cx, &mut self.answer)),
        };
        let Some(part) = next else {
            self.connection.enter(Phase::Reply);
            return Poll::Ready(None);
        };
        Poll::Ready(Some(part.map(|mut part| {
            self.connection.enter(Phase::Part);
            self.metrics.sent(part.len());
            part.mark_sent();
            Bytes::from_owner(part)
        })))
    }
}

impl fmt::Debug for BatchBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchBody").field("answer", &self.answer).finish_non_exhaustive()
    }
}
