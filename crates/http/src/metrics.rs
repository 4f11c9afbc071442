//! The events that the server counts. Its user turns them into metrics.

use std::fmt::Debug;
use std::sync::Arc;

use esker_rpc::work::Work;

/// A method's namespace and name, both canonical.
pub type MethodName = (&'static str, &'static str);

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A result, or the empty answer to a notification.
    Ok,
    /// An error in the reply.
    Error,
    /// A redirect or a faulty request.
    Refused,
    /// A fault of the node.
    Failed,
}

impl Outcome {
    /// The value of the metrics label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// The reason why this side closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// A request's head took too long.
    Header,
    /// A request's body or a websocket message took too long.
    Body,
    /// The client did not read a reply in time.
    Write,
    /// The next request did not arrive in time.
    Idle,
    /// Closed in favour of a new connection.
    Room,
    /// A pong did not arrive.
    Pong,
    /// The client did not read notifications in time.
    Overrun,
    /// The client did not read a reply while the reply memory was used up.
    Unread,
}

impl CloseReason {
    /// The value of the metrics label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Body => "body",
            Self::Write => "write",
            Self::Idle => "idle",
            Self::Room => "room",
            Self::Pong => "pong",
            Self::Overrun => "overrun",
            Self::Unread => "unread",
        }
    }
}

/// The metrics of a server. Every request calls them, so they must not wait.
pub trait HttpMetrics: Debug + Send + Sync {
    /// The metrics of an endpoint. `methods` are counted by name: as the code has it, and as clients call it.
    fn endpoint(&self, label: &str, methods: Vec<(MethodName, String)>)
    -> Arc<dyn EndpointMetrics>;
    /// Registers the server's work queue.
    fn watch_work(&self, work: &Work);
    /// A connection was accepted.
    fn connection_opened(&self);
    /// Either side closed a connection.
    fn connection_ended(&self);
    /// This side closed a connection.
    fn connection_closed(&self, why: CloseReason);
    /// Change of the number of open websockets.
    fn sockets(&self, change: i64);
    /// Received bytes of bodies or websockets.
    fn received(&self, bytes: usize);
    /// Sent bytes of replies or websockets.
    fn sent(&self, bytes: usize);
    /// Change of the number of requests in handlers.
    fn in_flight(&self, change: i64);
    /// Change of the bytes of large bodies in memory.
    fn body_memory(&self, change: i64);
}

/// Counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMetrics;

impl HttpMetrics for NoMetrics {
    fn endpoint(&self, _: &str, _: Vec<(MethodName, String)>) -> Arc<dyn EndpointMetrics> {
        Arc::new(Self)
    }

    fn watch_work(&self, _: &Work) {}

    fn connection_opened(&self) {}

    fn connection_ended(&self) {}

    fn connection_closed(&self, _: CloseReason) {}

    fn sockets(&self, _: i64) {}

    fn received(&self, _: usize) {}

    fn sent(&self, _: usize) {}

    fn in_flight(&self, _: i64) {}

    fn body_memory(&self, _: i64) {}
}

impl EndpointMetrics for NoMetrics {
    fn record(&self, _: Option<MethodName>, _: Outcome, _: f64) {}
}

/// The metrics of one endpoint.
pub trait EndpointMetrics: Debug + Send + Sync {
    /// Counts one request. A method that the endpoint does not list counts as none.
    fn record(&self, method: Option<MethodName>, outcome: Outcome, seconds: f64);
}
