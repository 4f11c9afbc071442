//! Batches: answered one after the other, in the order in which they were asked.

use super::{
    Answer,
    call::{Calls, Outcome, timed_out},
    message::{Class, Message},
    reply,
};
use crate::{RpcError, go_json::Document};

/// The answers so far, an open array.
struct Replies(Vec<u8>);

impl Replies {
    fn push(&mut self, reply: &[u8]) {
        self.separate();
        self.0.extend_from_slice(reply);
    }

    fn push_error(&mut self, error: &RpcError, message: &Message<'_>) {
        self.separate();
        reply::error(error, message.answer_id(), &mut self.0);
    }

    fn separate(&mut self) {
        self.0.push(if self.0.is_empty() { b'[' } else { b',' });
    }

    /// Answers all that want one with the same error.
    fn fail_rest<'a>(&mut self, error: &RpcError, rest: impl Iterator<Item = Message<'a>>) {
        for message in rest {
            if !matches!(message.class(), Class::Notification | Class::Response) {
                self.push_error(error, &message);
            }
        }
    }

    /// The array, or nothing where there is no answer. One that was cut short has no newline.
    fn finish(mut self, cut: bool) -> Answer {
        if !self.0.is_empty() {
            self.0.push(b']');
            if !cut {
                self.0.push(b'\n');
            }
        }
        Answer { body: self.0, method: None, failed: cut }
    }
}

pub(super) async fn answer(calls: &Calls<'_>, list: Document<'_>) -> Answer {
    let limits = &calls.server.limits;
    let mut messages = list.elements().map(Message::of);
    if list.first_element().is_none() {
        return Answer::refusal(RpcError::INVALID_REQUEST, "empty batch");
    }
    if limits.batch_items != 0 && list.elements().nth(limits.batch_items).is_some() {
        return too_large(messages);
    }
    let mut replies = Replies(Vec::new());
    let mut total_bytes = 0;
    while let Some(message) = messages.next() {
        let class = message.class();
        if class == Class::Response {
            continue;
        }
        match calls.run(&message).await.0 {
            Outcome::TimedOut => {
                let rest = std::iter::once(message).chain(messages);
                replies.fail_rest(&timed_out(), rest);
                return replies.finish(true);
            }
            _ if class == Class::Notification => {}
            Outcome::Error(error) => replies.push_error(&error, &message),
            Outcome::Result { reply, result_bytes } => {
                total_bytes += result_bytes;
                replies.push(&reply);
            }
        }
        if limits.batch_reply_bytes != 0 && total_bytes > limits.batch_reply_bytes {
            let error = RpcError::with_code(RpcError::TOO_LARGE, "response too large");
            replies.fail_rest(&error, messages);
            return replies.finish(true);
        }
        // Quick methods run in place, but a thousand of them take long: others come in between.
        tokio::task::yield_now().await;
    }
    replies.finish(false)
}

/// An array with the error, labelled with the first call's ID: the best that can be done.
fn too_large<'a>(mut messages: impl Iterator<Item = Message<'a>>) -> Answer {
    let mut replies = Replies(Vec::new());
    let first = messages.find(|message| message.class() == Class::Call).unwrap_or_default();
    let error = RpcError::with_code(RpcError::INVALID_REQUEST, "batch too large");
    replies.push_error(&error, &first);
    replies.finish(true)
}
