//! A path that answers by itself, beside a JSON-RPC service or without one.

use std::fmt::Debug;

use bytes::Bytes;
use esker_rpc::Service;
use futures_util::future::BoxFuture;
use http::{Method, StatusCode};

/// A page made at each request, such as a report of health or the figures.
pub trait Page: Debug + Send + Sync {
    /// The reply; `None` where the service answers, and 404 if there is none. The request's body is not looked at.
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
