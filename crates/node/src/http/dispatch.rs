//! The way of one request through the layers.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use esker_primitives::NodeId;
use esker_rpc::go_json::Document;
use esker_rpc::{Lookup, Service, j2};
use futures_util::FutureExt;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, LOCATION, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::{Body as _, Incoming};
use prometheus::IntGauge;
use tower::ServiceExt as _;

use super::body::{BodyError, BodyMemory, ReadBody, ReplyBody};
use super::config::HttpConfig;
use super::connections::{Connection, Connections, Phase, StreamGuard};
use super::cors::Cors;
use super::gzip;
use super::hosts::Hosts;
use super::path::{self, Resolved};
use super::routes::{Endpoint, Routes, Target};
use crate::metrics::{EndpointMetrics, MethodName, Metrics, Outcome};

const NODE_ID: HeaderName = HeaderName::from_static("node-id");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// Room for the headers of a reply, so that the map is allocated once.
const HEADERS: usize = 12;

/// What all requests of a server share.
pub struct HttpState {
    config: HttpConfig,
    routes: Arc<Routes>,
    metrics: Arc<Metrics>,
    node_id: HeaderValue,
    cors: Cors,
    hosts: Hosts,
    bodies: Arc<BodyMemory>,
    connections: Arc<Connections>,
    /// Counts what leads nowhere.
    nowhere: EndpointMetrics,
}

/// A handler's part of a reply; headers are written where they belong at once.
struct Answer {
    status: StatusCode,
    body: ReplyBody,
    method: Option<MethodName>,
    /// `None`: as the status says.
    outcome: Option<Outcome>,
}

impl Answer {
    fn new(status: StatusCode, body: ReplyBody) -> Self {
        Self { status, body, method: None, outcome: None }
    }

    /// An error as a line of text, as Go's `http.Error` writes it.
    fn error(status: StatusCode, text: impl Into<Bytes>, headers: &mut HeaderMap) -> Self {
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

/// A request in a handler; ends when dropped.
struct InFlight<'a>(&'a IntGauge);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
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
            bodies: BodyMemory::new(config.body_memory),
            connections: Connections::new(&config, Arc::clone(&metrics)),
            node_id: HeaderValue::try_from(node_id.to_string())
                .expect("a node ID is written in letters and digits"),
            nowhere: metrics.endpoint("none", None),
            config,
            routes,
            metrics,
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
            Resolved::Path(path) => self.routes.find(&path),
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
        let target: &Target = found.insert(target);
        if target.ready.as_ref().is_some_and(|ready| !ready.is_ready()) {
            let text = "API call rejected because chain is not done bootstrapping\n";
            return Answer::error(StatusCode::SERVICE_UNAVAILABLE, text, headers);
        }
        self.call(connection, &target.endpoint, parts, body, headers).await
    }

    async fn call(
        &self,
        connection: &Arc<Connection>,
        endpoint: &Endpoint,
        parts: Parts,
        body: Incoming,
        headers: &mut HeaderMap,
    ) -> Answer {
        match endpoint {
            Endpoint::J2(service) => self.j2(connection, service, &parts, body, headers).await,
            Endpoint::Health(health) => {
                connection.enter(Phase::Handling);
                match health.answer(&parts.method, parts.uri.query()).await {
                    Some((status, report)) => {
                        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                        Answer::new(status, ReplyBody::full(report))
                    }
                    None => match health.service() {
                        Some(service) => self.j2(connection, service, &parts, body, headers).await,
                        None => {
                            Answer::error(StatusCode::NOT_FOUND, "404 page not found\n", headers)
                        }
                    },
                }
            }
            Endpoint::Metrics(metrics) => {
                connection.enter(Phase::Handling);
                let kind = HeaderValue::from_static(crate::metrics::CONTENT_TYPE);
                headers.insert(CONTENT_TYPE, kind);
                Answer::new(StatusCode::OK, ReplyBody::full(metrics.render()))
            }
            Endpoint::Axum(router) => {
                self.axum(connection, router.clone(), parts, body, headers).await
            }
        }
    }

    async fn j2(
        &self,
        connection: &Connection,
        service: &Service,
        parts: &Parts,
        mut body: Incoming,
        headers: &mut HeaderMap,
    ) -> Answer {
        let content_type = parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let content_type = content_type.map(String::from_utf8_lossy);
        // What is refused by its method or content type is refused before its body is looked at.
        let read = if parts.method == Method::POST && content_type.as_deref().is_some_and(is_json) {
            match self.read(&mut body).await {
                Ok(read) => {
                    connection.set_unread(false);
                    Some(read)
                }
                Err(error) => return self.body_refused(&error, headers),
            }
        } else {
            None
        };
        let bytes = read.as_ref().map_or(&b""[..], |read| &read.bytes);
        let Some(_in_flight) = self.start_handling() else {
            return Answer::error(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests in flight\n",
                headers,
            );
        };
        connection.enter(Phase::Handling);
        let reply =
            j2::handle(service, parts.method.as_str(), content_type.as_deref(), bytes).await;
        let method = if read.is_some() { called(service, bytes) } else { None };
        if let Some(kind) = reply.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        if reply.nosniff {
            headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        }
        if let Some(note) = &reply.deprecation
            && let Ok(note) = HeaderValue::try_from(note.header_value())
        {
            headers.insert(DEPRECATION, note);
        }
        let failed = reply.body.starts_with(br#"{"jsonrpc":"2.0","error""#);
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
        Answer {
            method,
            outcome: failed.then_some(Outcome::Error),
            ..Answer::new(status, ReplyBody::full(reply.body))
        }
    }

    async fn axum(
        &self,
        connection: &Arc<Connection>,
        router: axum::Router,
        parts: Parts,
        body: Incoming,
        headers: &mut HeaderMap,
    ) -> Answer {
        let Some(_in_flight) = self.start_handling() else {
            return Answer::error(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests in flight\n",
                headers,
            );
        };
        connection.enter(Phase::Handling);
        let request = Request::from_parts(parts, axum::body::Body::new(body));
        let Ok(response) = router.oneshot(request).await;
        let (parts, body) = response.into_parts();
        headers.extend(parts.headers);
        Answer::new(parts.status, ReplyBody::Stream(body, StreamGuard::new(connection)))
    }

    async fn read(&self, body: &mut Incoming) -> Result<ReadBody, BodyError> {
        let read = self.bodies.read(body, self.config.body_limit).await?;
        self.metrics.received_bytes.inc_by(read.bytes.len() as u64);
        Ok(read)
    }

    fn body_refused(&self, error: &BodyError, headers: &mut HeaderMap) -> Answer {
        match error {
            BodyError::TooLarge(bytes) => {
                let text =
                    format!("content length too large ({bytes}>{})\n", self.config.body_limit);
                Answer::error(StatusCode::PAYLOAD_TOO_LARGE, text, headers)
            }
            BodyError::NoMemory => {
                let text = "too many large requests at once\n";
                Answer::error(StatusCode::SERVICE_UNAVAILABLE, text, headers)
            }
            BodyError::Broken => {
                Answer::error(StatusCode::BAD_REQUEST, "the request's body is broken\n", headers)
            }
        }
    }

    /// `None` if there are as many requests in handlers as there may be.
    fn start_handling(&self) -> Option<InFlight<'_>> {
        let gauge = &self.metrics.in_flight;
        gauge.inc();
        let in_flight = InFlight(gauge);
        let most = i64::try_from(self.config.max_in_flight).unwrap_or(i64::MAX);
        (gauge.get() <= most).then_some(in_flight)
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

/// The method that a body names, for the figures: under its canonical name, and only if there is such a one, so that
/// clients can't make up series.
fn called(service: &Service, body: &[u8]) -> Option<MethodName> {
    let mut name = None;
    let whole = Document::first_with_members(body, |member, value| {
        if member.is("method") {
            name = value.as_str();
        }
    });
    let name = whole.ok().and(name)?;
    let (namespace, name) = name.split_once('.')?;
    match service.find(namespace, name) {
        Lookup::Found(method) => Some((method.info().namespace, method.info().name)),
        Lookup::NoNamespace | Lookup::NoMethod => None,
    }
}

/// Would the object dialect read a body of this type?
fn is_json(content_type: &str) -> bool {
    let kind = content_type.split_once(';').map_or(content_type, |(kind, _)| kind);
    kind.eq_ignore_ascii_case("application/json")
}
