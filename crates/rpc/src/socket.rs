//! The port of websockets: messages in, replies and events out, in whatever dialect.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::context::Caller;
use crate::service::Service;
use crate::work::ReplyBytes;

/// A dialect as it is served over websockets.
pub trait SocketDialect: fmt::Debug + Send + Sync + 'static {
    /// The methods.
    fn service(&self) -> &Service;

    /// The separator between a method's namespace and its name.
    fn separator(&self) -> char;

    /// Methods beside those of [`Self::service`], by canonical namespace and name: those that begin and end subscriptions.
    fn subscription_methods(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// A new connection. Dropping it ends what it will have subscribed to.
    fn connect(&self) -> Arc<dyn SocketSession>;
}

/// One connection.
pub trait SocketSession: Send + Sync {
    /// Answers one message; any bytes have an answer, which may be empty. Several run at once. Dropping the future
    /// cancels the call that runs.
    fn answer<'a>(&'a self, message: &'a [u8], caller: &'a Caller) -> BoxFuture<'a, SocketAnswer>;

    /// Lets a subscription begin: the reply with its ID goes out before whatever is taken from now on.
    fn release(&self, _id: &str) {}

    /// Hands out events that wait, each whole and in parts, in the order in which they are to be sent, until they
    /// have about `room` bytes. Pending if there is none or no room; then `cx` is woken when the next one comes.
    ///
    /// # Errors
    /// More was kept for the connection than may be: what comes after that is lost, and so the connection has
    /// to end.
    fn poll_events(
        &self,
        _cx: &mut Context<'_>,
        _room: usize,
        _out: &mut dyn FnMut(&[Bytes]),
    ) -> Poll<Result<(), Overrun>> {
        Poll::Pending
    }
}

/// The answer to one message of a websocket.
#[derive(Debug, Default)]
pub struct SocketAnswer {
    /// The bytes to send; none if nothing is answered.
    pub parts: Vec<ReplyBytes>,
    /// The method of a single call, by its canonical namespace and name, for the figures.
    pub method: Option<(&'static str, &'static str)>,
    /// Whether it is the error to a single call, or to a batch as a whole.
    pub failed: bool,
    /// Subscriptions that the message made: they are to be released as soon as the answer is on its way.
    pub made: Vec<String>,
}

/// A connection did not take its notifications as fast as they came. The text is for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client did not read its notifications in time")]
pub struct Overrun;
