//! Batches: calls answered one after the other, in the order of the request.

use std::borrow::Cow;

use esker_go_json::Document;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{
    Server,
    call::{Calls, Outcome},
    errors::{timed_out, too_large},
    message::{Message, MessageKind},
    part_queue::{MIN_PENDING, PartQueue},
    reply,
};
use crate::context::Caller;
use crate::cost;
use crate::error::RpcError;
use crate::work::{Client, ReplyBytes};

/// Time that a batch works before other connections come in between. Quick calls are answered in place, and to pause
/// after each costs as much as the call.
const LONGEST_STRETCH: Duration = Duration::from_micros(100);

/// The answers so far, an open array.
struct Replies<'a> {
    parts: &'a PartQueue,
    client: Option<&'a Client>,
    is_empty: bool,
}

impl Replies<'_> {
    fn push(&mut self, reply: ReplyBytes) {
        let separator = self.separator();
        self.parts.push(self.client, separator, reply);
    }

    fn push_error(&mut self, error: &RpcError, message: &Message<'_>) {
        let separator = self.separator();
        self.parts.write(self.client, |out| {
            out.push(separator);
            reply::error(error, message.answer_id(), out);
        });
    }

    fn separator(&mut self) -> u8 {
        if std::mem::take(&mut self.is_empty) { b'[' } else { b',' }
    }

    /// Answers all that want one with the same error.
    async fn fail_rest<'a>(
        &mut self,
        error: &RpcError,
        rest: impl Iterator<Item = Message<'a>> + Send,
    ) {
        for message in rest {
            if !matches!(message.kind(), MessageKind::Notification | MessageKind::Response) {
                self.parts.room().await;
                self.push_error(error, &message);
            }
        }
    }

    /// Answers with the same error, and in any case with one.
    async fn fail_all<'a>(
        mut self,
        error: &RpcError,
        all: impl Iterator<Item = Message<'a>> + Send,
    ) {
        self.fail_rest(error, all).await;
        if self.is_empty {
            self.push_error(error, &Message::default());
        }
        self.finish(false);
    }

    /// The array's end, if there is any answer. One that was cut short has no newline.
    fn finish(self, cut: bool) {
        if !self.is_empty {
            let end: &[u8] = if cut { b"]" } else { b"]\n" };
            self.parts.write(self.client, |out| out.extend_from_slice(end));
        }
    }
}

/// Answers a batch; true: it was cut short, or is an error as a whole.
pub(super) async fn answer(calls: &Calls<'_>, list: Document<'_>, parts: &PartQueue) -> bool {
    let limits = &calls.server.limits;
    let mut messages = list.elements().map(Message::from_document);
    let mut replies = Replies { parts, client: calls.client(), is_empty: true };
    if list.first_element().is_none() {
        let error = RpcError::with_code(RpcError::INVALID_REQUEST, "empty batch");
        let error = refusal(calls, parts, error);
        parts.write(None, |out| reply::error(&error, None, out));
        return true;
    }
    if limits.batch_items != 0 && list.elements().nth(limits.batch_items).is_some() {
        // Labelled with the first call's ID: the best that can be done.
        let first =
            messages.find(|message| message.kind() == MessageKind::Call).unwrap_or_default();
        let error = RpcError::with_code(RpcError::INVALID_REQUEST, "batch too large");
        let error = refusal(calls, parts, error);
        replies.push_error(&error, &first);
        replies.finish(true);
        return true;
    }
    let (mut total_bytes, mut is_first) = (0, true);
    let mut stretch_began = Instant::now();
    let mut last_method = Cow::Borrowed("");
    while let Some(message) = messages.next() {
        let kind = message.kind();
        if message.method != last_method {
            calls.delays_over().await;
            last_method = message.method.clone();
        }
        // The next call starts only when the client has taken enough of the earlier replies.
        parts.room().await;
        match calls.run(&message).await.0 {
            Outcome::TimedOut => {
                let rest = std::iter::once(message).chain(messages);
                replies.fail_rest(&timed_out(), rest).await;
                replies.finish(true);
                return true;
            }
            Outcome::RateExceeded(exceeded) if is_first => {
                parts.set_retry_after_s(exceeded.retry_after_s());
                let rest = std::iter::once(message).chain(messages);
                replies.fail_all(&exceeded.into(), rest).await;
                return true;
            }
            _ if matches!(kind, MessageKind::Notification | MessageKind::Response) => {}
            Outcome::RateExceeded(exceeded) => replies.push_error(&exceeded.into(), &message),
            Outcome::Error(error) => replies.push_error(&error, &message),
            Outcome::Nothing => {}
            Outcome::Result { reply, result_bytes } => {
                total_bytes += result_bytes;
                replies.push(reply);
            }
        }
        is_first = false;
        let is_over = limits.batch_reply_bytes != 0 && total_bytes > limits.batch_reply_bytes;
        if is_over || parts.is_full() {
            replies.fail_rest(&too_large(), messages).await;
            replies.finish(true);
            return true;
        }
        if stretch_began.elapsed() >= LONGEST_STRETCH {
            tokio::task::yield_now().await;
            stretch_began = Instant::now();
        }
    }
    calls.delays_over().await;
    replies.finish(false);
    false
}

/// The error of a batch of which nothing runs; it costs as much as a small read.
fn refusal(calls: &Calls<'_>, parts: &PartQueue, error: RpcError) -> RpcError {
    match calls.charge(cost::READ) {
        Ok(()) => error,
        Err(exceeded) => {
            parts.set_retry_after_s(exceeded.retry_after_s());
            exceeded.into()
        }
    }
}

/// Whether the body is a batch, provided that it is valid.
#[must_use]
pub fn is_batch(body: &[u8]) -> bool {
    body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

/// The answer to a batch, made part by part: its calls run only while the parts are polled. Dropping it ends the
/// work.
pub struct BatchAnswer {
    parts: Arc<PartQueue>,
    work: BoxFuture<'static, bool>,
    /// Set when the answer is complete: whether it failed.
    failed: Option<bool>,
}

impl BatchAnswer {
    /// Nothing runs yet. Work pauses while `pending` bytes wait to be taken.
    #[must_use]
    pub fn new(
        server: &Server,
        caller: &Caller,
        body: impl AsRef<[u8]> + Send + Sync + 'static,
        pending: usize,
    ) -> Self {
        let parts = Arc::new(PartQueue::new(pending.max(MIN_PENDING)));
        let (server, caller, to) = (server.clone(), caller.clone(), Arc::clone(&parts));
        let work = async move { server.answer_into(body.as_ref(), &caller, &to).await };
        Self { parts, work: work.boxed(), failed: None }
    }

    /// Works until the answer is complete or enough of it waits to be taken.
    pub fn poll_buffered(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.failed.is_none()
            && let Poll::Ready(answered) = self.work.poll_unpin(cx)
        {
            self.failed = Some(answered);
        }
        match self.failed.is_some() || self.parts.is_paused() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// Whether the answer failed; `None` while it is incomplete.
    #[must_use]
    pub fn failed(&self) -> Option<bool> {
        self.failed
    }

    /// Nothing of the batch ran, because the client's address has used its units: seconds after which it may try again.
    /// Known as soon as the first bytes are.
    #[must_use]
    pub fn retry_after_s(&self) -> Option<u32> {
        self.parts.retry_after_s()
    }

    /// The whole answer, if it is complete and in one part.
    pub fn take_whole(&mut self) -> Option<ReplyBytes> {
        self.failed?;
        self.parts.take_only()
    }

    /// The next part; `None`: there are no more.
    pub fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<ReplyBytes>> {
        loop {
            if let Some(part) = self.parts.take(self.failed.is_some()) {
                return Poll::Ready(Some(part));
            }
            if self.failed.is_some() {
                return Poll::Ready(None);
            }
            match self.work.poll_unpin(cx) {
                Poll::Ready(failed) => self.failed = Some(failed),
                Poll::Pending if self.parts.has_part() => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl fmt::Debug for BatchAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchAnswer").field("failed", &self.failed).finish_non_exhaustive()
    }
}
