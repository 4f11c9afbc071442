//! The way of one request through the layers.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use esker_primitives::NodeId;
use futures_util::FutureExt;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, LOCATION, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::{Body as _, Incoming};

use super::body::{BodyMemory, ReplyBody};
use super::config::HttpConfig;
use super::connections::{Connection, Connections, Phase};
use super::cors::Cors;
use super::gzip;
use super::hosts::Hosts;
use super::in_flight::Handlers;
use super::path::{self, Resolved};
use super::routes::{Routes, Target};
use crate::metrics::{EndpointMetrics, MethodName, Metrics, Outcome};

const NODE_ID: HeaderName = HeaderName::from_static("node-id");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
pub(super) const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// Room for the headers of a reply, so that the map is allocated once.
const HEADERS: usize = 12;

/// What all requests of a server share.
pub struct HttpState {
    config: HttpConfig,
    routes: Arc<Routes>,
    pub(super) metrics: Arc<Metrics>,
    node_id: HeaderValue,
    cors: Cors,
    hosts: Hosts,
    pub(super) bodies: Arc<BodyMemory>,
    pub(super) handlers: Handlers,
    connections: Arc<Connections>,
    /// Counts what leads nowhere.
    nowhere: EndpointMetrics,
}

/// A handler's part of a reply; headers are written where they belong at once.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: ReplyBody,
    pub(super) method: Option<MethodName>,
    /// `None`: as the status says.
    pub(super) outcome: Option<Outcome>,
}

impl Answer {
    pub(super) fn new(status: StatusCode, body: ReplyBody) -> Self {
        Self { status, body, method: None, outcome: None }
    }

    /// An error as a line of text, as Go's `http.Error` writes it.
    pub(super) fn error(
        status: StatusCode,
        text: impl Into<Bytes>,
        headers: &mut HeaderMap,
    ) -> Self {
        headers.insert(CONTENT_TYPE, TEXT);
        headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        Self::new(status, ReplyBody::full(text))
    }

    fn outcome(&self) -> Outcome {
        self.outcome.unwrap_or(match self.status.as_u16() {
            ..300 => Outcome::Ok,
            300..500 => Outcome::Refused,
            500.. => Outcome::Failed,
        })
    }
}

impl HttpState {
    /// A server's state: its limits, its paths, and the name that every reply carries.
    pub fn new(
        config: HttpConfig,
        routes: Arc<Routes>,
        node_id: &NodeId,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            cors: Cors::new(&config.allowed_origins),
            hosts: Hosts::new(&config.allowed_hosts),
            bodies: BodyMemory::new(config.body_memory, metrics.body_memory.clone()),
            handlers: Handlers::new(config.max_in_flight, metrics.in_flight.clone()),
            connections: Connections::new(&config, Arc::clone(&metrics)),
            node_id: HeaderValue::try_from(node_id.to_string())
                .expect("a node ID is written in letters and digits"),
            nowhere: metrics.endpoint("none", None),
            config,
            routes,
            metrics,
        }
    }

    /// The state of a further listener of the server, with paths of its own: its connections and bodies count
    /// for the same limits.
    pub fn with_routes(&self, routes: Arc<Routes>) -> Self {
        Self {
            config: self.config.clone(),
            routes,
            metrics: Arc::clone(&self.metrics),
            node_id: self.node_id.clone(),
            cors: Cors::new(&self.config.allowed_origins),
            hosts: Hosts::new(&self.config.allowed_hosts),
            bodies: Arc::clone(&self.bodies),
            handlers: self.handlers.clone(),
            connections: Arc::clone(&self.connections),
            nowhere: self.metrics.endpoint("none", None),
        }
    }

    /// The limits.
    pub fn config(&self) -> &HttpConfig {
        &self.config
    }

    /// The paths; some may be added while the server runs.
    pub fn routes(&self) -> &Arc<Routes> {
        &self.routes
    }

    pub(super) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// Answers one request. Always answers: a panic on the way is an error reply.
    pub(super) async fn answer(
        &self,
        connection: &Arc<Connection>,
        request: Request<Incoming>,
    ) -> Response<ReplyBody> {
        let start = Instant::now();
        connection.enter(Phase::Body);
        let (parts, body) = request.into_parts();
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.insert(NODE_ID, self.node_id.clone());
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        let accepts_gzip = parts.headers.get(ACCEPT_ENCODING).cloned();
        let mut target = None;

        let way = self.through_the_layers(connection, parts, body, &mut headers, &mut target);
        // Unwind safety: what a panic could leave half done is the reply, which is thrown away.
        let mut answer = match AssertUnwindSafe(way).catch_unwind().await {
            Ok(answer) => answer,
            Err(_) => {
                tracing::error!("request handler crashed");
                Answer::error(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "internal server error\n",
                    &mut headers,
                )
            }
        };
        self.compress(&mut answer, accepts_gzip.as_ref(), &mut headers).await;
        if self.connections.is_stopping() {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let ReplyBody::Full(bytes) = &answer.body {
            connection.enter(Phase::Reply);
            self.metrics.sent_bytes.inc_by(bytes.as_ref().map_or(0, Bytes::len) as u64);
        }
        let metrics = target.as_ref().map_or(&self.nowhere, |target: &Arc<Target>| &target.metrics);
        metrics.record(answer.method, answer.outcome(), start.elapsed().as_secs_f64());

        let mut response = Response::new(answer.body);
        *response.status_mut() = answer.status;
        *response.headers_mut() = headers;
        response
    }

    async fn through_the_layers(
        &self,
        connection: &Arc<Connection>,
        parts: Parts,
        body: Incoming,
        headers: &mut HeaderMap,
        found: &mut Option<Arc<Target>>,
    ) -> Answer {
        // Until somebody reads it.
        connection.set_unread(!body.is_end_stream());
        if Cors::is_preflight(&parts.method, &parts.headers) {
            self.cors.preflight(&parts.headers, headers);
            return Answer::new(StatusCode::OK, ReplyBody::empty());
        }
        self.cors.actual(&parts.method, &parts.headers, headers);
        let Some(host) = host(&parts) else {
            headers.insert(CONTENT_TYPE, TEXT);
            let text = "400 Bad Request: missing required Host header";
            return Answer::new(StatusCode::BAD_REQUEST, ReplyBody::full(text));
        };
        if !self.hosts.allow(host) {
            return Answer::error(StatusCode::FORBIDDEN, "invalid host specified\n", headers);
        }
        let target = match path::resolve(&parts.uri) {
            Resolved::Path(path) => {
                let target = self.routes.find(&path);
                if target.is_none() {
                    self.routes.tell_why_not(&path);
                }
                target
            }
            Resolved::Nowhere => None,
            Resolved::Redirect(location) => {
                if let Ok(location) = HeaderValue::try_from(location) {
                    headers.insert(LOCATION, location);
                }
                return Answer::new(StatusCode::MOVED_PERMANENTLY, ReplyBody::empty());
            }
            Resolved::Malformed => {
                headers.insert(CONTENT_TYPE, TEXT);
                return Answer::new(StatusCode::BAD_REQUEST, ReplyBody::full("400 Bad Request"));
            }
        };
        let Some(target) = target else {
            return Answer::error(StatusCode::NOT_FOUND, "404 page not found\n", headers);
        };
        let target: &Arc<Target> = found.insert(target);
        if target.ready.as_ref().is_some_and(|ready| !ready.is_ready()) {
            let text = "API call rejected because chain is not done bootstrapping\n";
            return Answer::error(StatusCode::SERVICE_UNAVAILABLE, text, headers);
        }
        self.call(connection, target, parts, body, headers).await
    }

    async fn compress(
        &self,
        answer: &mut Answer,
        accepted: Option<&HeaderValue>,
        headers: &mut HeaderMap,
    ) {
        if let ReplyBody::Full(Some(bytes)) = &mut answer.body
            && bytes.len() >= self.config.gzip_min
            && !headers.contains_key(CONTENT_ENCODING)
            && gzip::accepted(accepted)
            && let Some(packed) = gzip::compress(bytes.clone()).await
        {
            *bytes = packed;
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
    }
}

impl fmt::Debug for HttpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpState")
            .field("config", &self.config)
            .field("routes", &self.routes)
            .finish_non_exhaustive()
    }
}

/// By which name the server was called; `None` where HTTP/1.1 demands one and there is none.
fn host(parts: &Parts) -> Option<&[u8]> {
    if let Some(authority) = parts.uri.authority() {
        return Some(authority.as_str().as_bytes());
    }
    match parts.headers.get(HOST) {
        Some(host) => Some(host.as_bytes()),
        None => (parts.version < Version::HTTP_11).then_some(b""),
    }
}
