//! Endpoints other than JSON-RPC, which may have a JSON-RPC service at the same path.

use std::fmt::Debug;

use bytes::Bytes;
use esker_rpc::Service;
use futures_util::future::BoxFuture;
use http::{Method, StatusCode};

/// A page that is rendered for each request, such as the health report or the metrics.
pub trait Page: Debug + Send + Sync {
    /// The reply; `None` if the service answers, and 404 without a service. The request's body is ignored.
    fn answer<'a>(
        &'a self,
        method: &'a Method,
        query: Option<&'a str>,
    ) -> BoxFuture<'a, Option<PageReply>>;

    /// The JSON-RPC service at the same path.
    fn service(&self) -> Option<&Service> {
        None
    }
}

/// The reply of a [`Page`].
#[derive(Clone, Debug)]
pub struct PageReply {
    /// The status.
    pub status: StatusCode,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: Bytes,
}
