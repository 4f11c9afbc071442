//! Connections that can be notified: their subscriptions and notifications.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use esker_primitives::sync::Mutex;

use super::Subscriber;
use crate::context::Caller;
use crate::discover::SubscriptionMethods;
use crate::error::RpcError;
use crate::params::Params;
use crate::socket::Overrun;

/// Lets the connections of a server be notified.
pub trait Notifier: fmt::Debug + Send + Sync + 'static {
    /// A new connection without subscriptions. Dropping it ends its subscriptions.
    fn connect(&self) -> Arc<dyn Session>;

    /// Its subscriptions, for documents.
    fn subscriptions(&self) -> SubscriptionMethods;
}

/// The subscriptions of one connection.
///
/// A new subscription sends nothing until it is released; its notifications are queued meanwhile.
pub trait Session: Subscriber {
    /// Starts the notifications of a subscription. The reply with its ID must be sent before them.
    fn release(&self, id: &str);

    /// Hands out notifications that wait, in the order in which they are to be sent, until they have about
    /// `room` bytes. Pending if there is none or no room; then `cx` is woken when the next one comes.
    ///
    /// # Errors
    /// The connection's queue overflowed: later notifications are lost, so the connection must be closed.
    fn poll_notifications(
        &self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut dyn FnMut(Notification),
    ) -> Poll<Result<(), Overrun>>;
}

/// One notification, in parts that many connections share: `prefix`, `result`, [`Notification::SUFFIX`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The part that names the subscription: see [`Notification::prefix`].
    pub prefix: Bytes,
    /// The `result` member, as JSON.
    pub result: Bytes,
}

impl Notification {
    /// The end of a message after the result, newline included.
    pub const SUFFIX: &'static [u8] = b"}}\n";

    /// The start of a message before the result. `namespace` is the one that the client subscribed through.
    #[must_use]
    pub fn prefix(namespace: &str, id: &str) -> Bytes {
        let mut out = br#"{"jsonrpc":"2.0","method":"#.to_vec();
        esker_go_json::write_str(&format!("{namespace}_subscription"), &mut out);
        out.extend_from_slice(br#","params":{"subscription":"#);
        esker_go_json::write_str(id, &mut out);
        out.extend_from_slice(br#","result":"#);
        out.into()
    }

    /// Bytes of the whole message.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.prefix.len() + self.result.len() + Self::SUFFIX.len()
    }
}

/// The session of a server without a [`Notifier`]: no namespace has any kind of subscription.
pub(super) struct NoNotifications;

impl Subscriber for NoNotifications {
    fn subscribe(
        &self,
        _: &str,
        _: &str,
        _: Params<'_>,
        _: &Caller,
    ) -> Option<Result<String, RpcError>> {
        None
    }

    fn unsubscribe(&self, _: &str) -> bool {
        false
    }
}

impl Session for NoNotifications {
    fn release(&self, _: &str) {}

    fn poll_notifications(
        &self,
        _: &mut Context<'_>,
        _: usize,
        _: &mut dyn FnMut(Notification),
    ) -> Poll<Result<(), Overrun>> {
        Poll::Pending
    }
}

/// The sessions of several notifiers as one: the first that has a kind of subscription keeps it.
pub(super) struct Joined(pub(super) Vec<Arc<dyn Session>>);

impl Subscriber for Joined {
    fn subscribe(
        &self,
        namespace: &str,
        kind: &str,
        params: Params<'_>,
        caller: &Caller,
    ) -> Option<Result<String, RpcError>> {
        self.0.iter().find_map(|session| session.subscribe(namespace, kind, params, caller))
    }

    fn unsubscribe(&self, id: &str) -> bool {
        self.0.iter().any(|session| session.unsubscribe(id))
    }
}

impl Session for Joined {
    fn release(&self, id: &str) {
        self.0.iter().for_each(|session| session.release(id));
    }

    fn poll_notifications(
        &self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut dyn FnMut(Notification),
    ) -> Poll<Result<(), Overrun>> {
        let (mut taken, mut is_ready) = (0, false);
        for session in &self.0 {
            let polled =
                session.poll_notifications(cx, room.saturating_sub(taken), &mut |notification| {
                    taken += notification.len();
                    out(notification);
                });
            match polled {
                Poll::Ready(Ok(())) => is_ready = true,
                Poll::Ready(overrun) => return Poll::Ready(overrun),
                Poll::Pending => {}
            }
        }
        if is_ready { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

/// Records which subscriptions one message creates.
pub(super) struct SubscriptionRecorder<'a> {
    session: &'a dyn Session,
    made: Mutex<Vec<String>>,
}

impl<'a> SubscriptionRecorder<'a> {
    pub(super) fn new(session: &'a dyn Session) -> Self {
        Self { session, made: Mutex::default() }
    }

    pub(super) fn made(self) -> Vec<String> {
        self.made.into_inner()
    }
}

impl Subscriber for SubscriptionRecorder<'_> {
    fn subscribe(
        &self,
        namespace: &str,
        kind: &str,
        params: Params<'_>,
        caller: &Caller,
    ) -> Option<Result<String, RpcError>> {
        let outcome = self.session.subscribe(namespace, kind, params, caller);
        if let Some(Ok(id)) = &outcome {
            self.made.lock().push(id.clone());
        }
        outcome
    }

    fn unsubscribe(&self, id: &str) -> bool {
        self.session.unsubscribe(id)
    }
}
