//! The reply to a batch that is large: sent as it is made, and made no faster than the client takes it.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use esker_rpc::Caller;
use esker_rpc::positional::{self, BatchAnswer};
use esker_rpc::work::ReplyBytes;

use super::body::ReadBody;
use super::connections::{Connection, Phase};
use super::gzip::Compressor;
use super::in_flight::InFlight;
use super::metrics::HttpMetrics;

/// Bytes of a batch's answer that wait at most for a client to take them.
const MAX_PENDING_BYTES: usize = 256 * 1024;

/// An answer, as far as it is made.
pub(super) enum BatchReply {
    /// All of it.
    Whole(ReplyBytes),
    /// A large one.
    Parts(Box<BatchBody>),
}

/// An answer that is being made.
pub(super) struct BatchBody {
    answer: BatchAnswer,
    connection: Arc<Connection>,
    metrics: Arc<dyn HttpMetrics>,
    compressor: Option<Compressor>,
}

/// Answers a batch: wholly if its answer is small, and otherwise as far as it is made when it is known to be large.
/// Also returns whether it failed, as far as that is known.
pub(super) async fn answer(
    server: &positional::Server,
    caller: &Caller,
    body: ReadBody,
    connection: &Arc<Connection>,
    metrics: &Arc<dyn HttpMetrics>,
    in_flight: InFlight,
) -> (BatchReply, Option<bool>) {
    let mut answer = BatchAnswer::new(server, caller, body, MAX_PENDING_BYTES);
    poll_fn(|cx| answer.poll_buffered(cx)).await;
    // What is left is done for a client that reads, and bounded by what it takes.
    drop(in_flight);
    let failed = answer.failed();
    if let Some(whole) = answer.take_whole() {
        return (BatchReply::Whole(whole), failed);
    }
    let (connection, metrics) = (Arc::clone(connection), Arc::clone(metrics));
    let body = BatchBody { answer, connection, metrics, compressor: None };
    (BatchReply::Parts(Box::new(body)), failed)
}

impl BatchBody {
    /// Compresses what comes, if there is memory for that; whether it does.
    pub(super) fn compress(&mut self) -> bool {
        self.compressor = Compressor::new(self.connection.client());
        self.compressor.is_some()
    }

    /// The next bytes.
    pub(super) fn poll_bytes(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, axum::Error>>> {
        // The client has taken what came before, or most of it.
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
