//! A log line for each request, at level debug. At other levels the only cost is a check of the level.

use std::net::IpAddr;

use esker_primitives::excerpt;
use http::Method;
use http::request::Parts;

use super::answer::Answer;
use super::metrics::{MethodName, Outcome};
use super::routes::Target;

/// The part of a line that is known before the answer.
pub(super) struct RequestLog {
    verb: Method,
    path: String,
    received: Option<u64>,
    client: Option<IpAddr>,
}

impl RequestLog {
    /// `None` if no line will be written. `received` is the length of the body in bytes, if the request says it;
    /// `client` is only asked for if there will be a line.
    pub(super) fn new(
        parts: &Parts,
        received: Option<u64>,
        client: impl FnOnce() -> Option<IpAddr>,
    ) -> Option<Self> {
        if !tracing::event_enabled!(tracing::Level::DEBUG) {
            return None;
        }
        let path = excerpt(parts.uri.path()).to_string();
        Some(Self { verb: parts.method.clone(), path, received, client: client() })
    }

    /// Writes the line.
    pub(super) fn answered(self, target: Option<&Target>, answer: &Answer, seconds: f64) {
        let Self { verb, path, received, client } = self;
        let (namespace, method) = answer.method.unzip();
        let sent = answer.body.whole().map(|bytes| bytes.len() as u64);
        tracing::debug!(
            chain = target.and_then(|target| target.chain.as_deref()),
            namespace,
            method,
            verb = verb.as_str(),
            path,
            status = answer.status.as_u16(),
            outcome = answer.outcome().label(),
            ms = milliseconds(seconds),
            received,
            sent,
            client = client.map(tracing::field::display),
            "request"
        );
    }
}

/// A call over a websocket, once it is answered.
pub(super) struct SocketCall {
    pub(super) method: Option<MethodName>,
    pub(super) outcome: Outcome,
    pub(super) seconds: f64,
    /// Bytes of the message.
    pub(super) received: usize,
    /// Bytes of the reply.
    pub(super) sent: usize,
}

impl SocketCall {
    /// Writes the line, for a client that is only asked for if there is one.
    pub(super) fn log(&self, target: &Target, client: impl FnOnce() -> Option<IpAddr>) {
        let (namespace, method) = self.method.unzip();
        tracing::debug!(
            chain = target.chain.as_deref(),
            namespace,
            method,
            outcome = self.outcome.label(),
            ms = milliseconds(self.seconds),
            received = self.received as u64,
            sent = self.sent as u64,
            client = client().map(tracing::field::display),
            "request over a websocket"
        );
    }
}

/// Milliseconds with three decimals.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e3
}
