//! What the server counts. Whoever runs it makes figures of that.

use std::fmt::Debug;
use std::sync::Arc;

use esker_rpc::Service;
use esker_rpc::work::Work;

/// A method's namespace and name, both canonical.
pub type MethodName = (&'static str, &'static str);

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// With a result, or with the empty answer to a notification.
    Ok,
    /// With an error in the reply.
    Error,
    /// With a redirect or a fault of the request.
    Refused,
    /// With a fault of the node.
    Failed,
}

impl Outcome {
    /// As the figures name it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// Why a connection was closed by this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// A head took too long.
    Header,
    /// A body or a message of a websocket took too long.
    Body,
    /// The client did not take a reply in time.
    Write,
    /// The next request did not come in time.
    Idle,
    /// A new connection needed room.
    Room,
    /// No pong came.
    Pong,
    /// Notifications were not taken in time.
    Overrun,
    /// A reply was left unread when replies held all the memory that there is for them.
    Unread,
}

impl CloseReason {
    /// As the figures name it.
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

/// The figures of a server. Called on the way of every request, so nothing here waits.
pub trait HttpMetrics: Debug + Send + Sync {
    /// The figures of an endpoint; `service` has the methods that are counted by name.
    fn endpoint(&self, label: &str, service: Option<&Service>) -> Arc<dyn EndpointMetrics>;
    /// Shows how much work this server has, from now on.
    fn watch_work(&self, work: &Work);
    /// A connection was accepted.
    fn connection_opened(&self);
    /// A connection is closed, by either side.
    fn connection_ended(&self);
    /// This side closed a connection.
    fn connection_closed(&self, why: CloseReason);
    /// So many bytes of bodies or over websockets came in.
    fn received(&self, bytes: usize);
    /// So many bytes of replies or over websockets are sent.
    fn sent(&self, bytes: usize);
    /// So many requests more are in handlers, or less.
    fn in_flight(&self, change: i64);
    /// So many bytes of large bodies more are held, or less.
    fn body_memory(&self, change: i64);
}

/// No figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMetrics;

impl HttpMetrics for NoMetrics {
    fn endpoint(&self, _: &str, _: Option<&Service>) -> Arc<dyn EndpointMetrics> {
        Arc::new(Self)
    }

    fn watch_work(&self, _: &Work) {}

    fn connection_opened(&self) {}

    fn connection_ended(&self) {}

    fn connection_closed(&self, _: CloseReason) {}

    fn received(&self, _: usize) {}

    fn sent(&self, _: usize) {}

    fn in_flight(&self, _: i64) {}

    fn body_memory(&self, _: i64) {}
}

impl EndpointMetrics for NoMetrics {
    fn record(&self, _: Option<MethodName>, _: Outcome, _: f64) {}
}

/// The figures of one endpoint.
pub trait EndpointMetrics: Debug + Send + Sync {
    /// Counts one request. A method that `service` does not have counts as none.
    fn record(&self, method: Option<MethodName>, outcome: Outcome, seconds: f64);
}
