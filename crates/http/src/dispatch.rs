//! The path of one request through the layers.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use esker_primitives::NodeId;
use esker_rpc::work::{Client, EndedCalls, FailedCalls, Work, WorkConfig};
use futures_util::FutureExt;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HOST, HeaderName,
    LOCATION, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::{Body as _, Incoming};

use super::answer::{Answer, TEXT, origin_refused, rate_exceeded};
use super::body::BodyMemory;
use super::config::HttpConfig;
use super::connections::{Connection, Connections};
use super::cors::{Access, Cors};
use super::file::{self, BrowserPage};
use super::gzip;
use super::hosts::Hosts;
use super::in_flight::Handlers;
use super::metrics::{EndpointMetrics, HttpMetrics};
use super::path::{self, ResolvedPath};
use super::phase::Phase;
use super::reply::ReplyBody;
use super::request_log::RequestLog;
use super::routes::{Endpoint, Routes, Target};
use super::socket;
use super::unread;

const NODE_ID: HeaderName = HeaderName::from_static("node-id");
/// Capacity for a reply's headers, so that the map is allocated once.
const HEADERS: usize = 12;

/// The share of in-flight requests that may wait for a thread: one share for short work, one for other work. The rest
/// is for requests that are answered at once.
const QUEUED_SHARE: (usize, usize) = (3, 8);

/// State that all requests of a server share.
pub struct HttpState {
    config: HttpConfig,
    routes: ArcSwap<Routes>,
    pub(super) metrics: Arc<dyn HttpMetrics>,
    node_id: HeaderValue,
    pub(super) cors: Cors,
    hosts: Hosts,
    pub(super) bodies: Arc<BodyMemory>,
    pub(super) handlers: Handlers,
    connections: Arc<Connections>,
    work: Work,
    /// Metrics of requests to unknown paths.
    unrouted: Arc<dyn EndpointMetrics>,
}

impl HttpState {
    /// A server's state: its limits, its paths, and the node ID that every reply has.
    pub fn new(
        config: HttpConfig,
        routes: Arc<Routes>,
        node_id: &NodeId,
        metrics: Arc<dyn HttpMetrics>,
    ) -> Self {
        let work = Work::new(WorkConfig {
            processors: config.processors,
            queue: config.max_in_flight.saturating_mul(QUEUED_SHARE.0) / QUEUED_SHARE.1,
            reply_memory: config.reply_memory,
            connection_reply_memory: config.connection_reply_memory,
            call_memory: config.call_memory,
            client_call_memory: config.client_call_memory,
            spool: config.spool.clone(),
            rate_limit: config.rate_limit,
        });
        metrics.watch_work(&work);
        let connections = Connections::new(&config, &work, Arc::clone(&metrics));
        Self {
            cors: Cors::new(&config.allowed_origins),
            hosts: Hosts::new(&config.allowed_hosts),
            bodies: BodyMemory::new(config.body_memory, Arc::clone(&metrics)),
            handlers: Handlers::new(config.max_in_flight, Arc::clone(&metrics)),
            connections,
            work,
            node_id: HeaderValue::try_from(node_id.to_string())
                .expect("a node ID is written in letters and digits"),
            unrouted: metrics.endpoint("none", Vec::new()),
            config,
            routes: ArcSwap::new(routes),
            metrics,
        }
    }

    /// Ends this server in favour of another one, which has these paths. When it returns, no more connections are
    /// accepted. Those that are open are served with these paths, and each is closed with its next reply, so that no
    /// request meets a closed one.
    pub async fn hand_over(&self, routes: &Arc<Routes>) {
        self.routes.store(Arc::clone(routes));
        self.connections.hand_over().await;
    }

    /// The calls to the server that end with an error.
    pub fn failed_calls(&self) -> &FailedCalls {
        self.work.failed_calls()
    }

    /// The calls to the server that have ended, well or not.
    pub fn ended_calls(&self) -> &EndedCalls {
        self.work.ended_calls()
    }

    /// The state of another listener of the server, with separate paths. Its connections and bodies count against the
    /// same limits.
    pub fn with_routes(&self, routes: Arc<Routes>) -> Self {
        Self {
            config: self.config.clone(),
            routes: ArcSwap::new(routes),
            metrics: Arc::clone(&self.metrics),
            node_id: self.node_id.clone(),
            cors: Cors::new(&self.config.allowed_origins),
            hosts: Hosts::new(&self.config.allowed_hosts),
            bodies: Arc::clone(&self.bodies),
            handlers: self.handlers.clone(),
            connections: Arc::clone(&self.connections),
            work: self.work.clone(),
            unrouted: self.metrics.endpoint("none", Vec::new()),
        }
    }

    /// The limits.
    pub fn config(&self) -> &HttpConfig {
        &self.config
    }

    pub(super) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// Answers one request. A panic gives an error reply.
    pub(super) async fn answer(
        &self,
        connection: &Arc<Connection>,
        request: Request<Incoming>,
    ) -> Response<ReplyBody> {
        connection.wait_for_turn().await;
        let start = Instant::now();
        connection.enter(Phase::Body);
        let (parts, body) = request.into_parts();
        let log = RequestLog::new(&parts, body.size_hint().exact(), || {
            self.client_address(connection, &parts)
        });
        let mut body = Some(body);
        let expects_continue = parts.headers.contains_key(EXPECT);
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.insert(NODE_ID, self.node_id.clone());
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        let accepts_gzip = parts.headers.get(ACCEPT_ENCODING).cloned();
        let mut target = None;

        let way = self.answer_checked(connection, parts, &mut body, &mut headers, &mut target);
        // Unwind safety: a panic can only leave the reply incomplete, and the reply is dropped.
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
        let is_open = answer.status == StatusCode::SWITCHING_PROTOCOLS
            || unread::finish(connection, &mut body, expects_continue).await;
        let client = connection.client();
        answer.body = self.compress(client, answer.body, accepts_gzip.as_ref(), &mut headers).await;
        if !is_open || self.connections.is_stopping() {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(bytes) = answer.body.whole() {
            connection.enter(Phase::Reply);
            self.metrics.sent(bytes.len());
        }
        let metrics =
            target.as_ref().map_or(&self.unrouted, |target: &Arc<Target>| &target.metrics);
        let seconds = start.elapsed().as_secs_f64();
        metrics.record(answer.method, answer.outcome(), seconds);
        if let Some(log) = log {
            log.answered(target.as_deref(), &answer, seconds);
        }

        let mut response = Response::new(answer.body.sent());
        *response.status_mut() = answer.status;
        *response.headers_mut() = headers;
        response
    }

    async fn answer_checked(
        &self,
        connection: &Arc<Connection>,
        parts: Parts,
        body: &mut Option<Incoming>,
        headers: &mut HeaderMap,
        found: &mut Option<Arc<Target>>,
    ) -> Answer {
        let host = match host(&parts) {
            Ok(host) => host,
            Err(text) => {
                headers.insert(CONTENT_TYPE, TEXT);
                return Answer::new(StatusCode::BAD_REQUEST, ReplyBody::full(text));
            }
        };
        let resolved = path::resolve(&parts.uri);
        let target = match &resolved {
            ResolvedPath::Path(path) => self.routes.load().find(path),
            ResolvedPath::NotFound | ResolvedPath::Redirect(_) | ResolvedPath::Malformed => None,
        };
        if !is_call(&parts, target.as_deref())
            && let Err(exceeded) = self.charge(connection, &parts)
        {
            self.cors.actual(&parts.method, &parts.headers, Access::Open, headers);
            return rate_exceeded(exceeded, headers);
        }
        let is_trusted_only = target.as_ref().is_some_and(|target| target.trusted_callers_only);
        let access = if is_trusted_only { Access::Trusted } else { Access::Open };
        if Cors::is_preflight(&parts.method, &parts.headers) {
            self.cors.preflight(&parts.headers, access, headers);
            return Answer::new(StatusCode::OK, ReplyBody::empty());
        }
        self.cors.actual(&parts.method, &parts.headers, access, headers);
        let origins = parts.headers.get_all(ORIGIN).iter().map(HeaderValue::as_bytes);
        if !self.hosts.allow(host, origins) {
            self.hosts.log_refused(host);
            return Answer::error(StatusCode::FORBIDDEN, "invalid host specified\n", headers);
        }
        // Accepting it would turn the node into a tunnel.
        if parts.method == Method::CONNECT {
            let text = "method not allowed\n";
            return Answer::error(StatusCode::METHOD_NOT_ALLOWED, text, headers);
        }
        match resolved {
            ResolvedPath::Path(path) if target.is_none() => self.routes.load().log_unserved(&path),
            ResolvedPath::Path(_) | ResolvedPath::NotFound => {}
            ResolvedPath::Redirect(location) => {
                if let Ok(location) = HeaderValue::try_from(location) {
                    headers.insert(LOCATION, location);
                }
                return Answer::new(StatusCode::MOVED_PERMANENTLY, ReplyBody::empty());
            }
            ResolvedPath::Malformed => {
                headers.insert(CONTENT_TYPE, TEXT);
                return Answer::new(StatusCode::BAD_REQUEST, ReplyBody::full("400 Bad Request"));
            }
        }
        let Some(target) = target else {
            return Answer::error(StatusCode::NOT_FOUND, "404 page not found\n", headers);
        };
        let target: &Arc<Target> = found.insert(target);
        if let Some(page) = browser_page(&parts, target) {
            return page.answer(host, &parts, headers);
        }
        if target.trusted_callers_only && self.cors.caller(&parts.headers).is_untrusted_page {
            return origin_refused(headers);
        }
        if target.ready.as_ref().is_some_and(|ready| !ready.is_ready()) {
            let text = "API call rejected because chain is not done bootstrapping\n";
            return Answer::error(StatusCode::SERVICE_UNAVAILABLE, text, headers);
        }
        self.call(connection, target, parts, body, headers).await
    }

    async fn compress(
        &self,
        client: &Client,
        body: ReplyBody,
        accepted: Option<&HeaderValue>,
        headers: &mut HeaderMap,
    ) -> ReplyBody {
        let is_small = body.whole().is_some_and(|bytes| bytes.len() < self.config.gzip_min);
        if is_small || headers.contains_key(CONTENT_ENCODING) || !gzip::accepted(accepted) {
            return body;
        }
        let (body, is_packed) = body.compress(client).await;
        if is_packed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        body
    }
}

impl fmt::Debug for HttpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpState")
            .field("config", &self.config)
            .field("routes", &self.routes.load())
            .finish_non_exhaustive()
    }
}

/// Whether the request goes to a handler that takes units for the method that it calls.
fn is_call(parts: &Parts, target: Option<&Target>) -> bool {
    !Cors::is_preflight(&parts.method, &parts.headers)
        && match target.map(|target| &target.endpoint) {
            _ if target.and_then(|target| browser_page(parts, target)).is_some() => false,
            Some(Endpoint::Object(_) | Endpoint::Positional(_)) => true,
            Some(Endpoint::PositionalBoth(_)) => !socket::is_requested(parts),
            Some(Endpoint::Page(page)) => parts.method == Method::POST && page.service().is_some(),
            Some(Endpoint::Socket(_) | Endpoint::File(_) | Endpoint::Axum(_)) | None => false,
        }
}

/// What a browser gets that opens a path as a page.
fn browser_page<'a>(parts: &Parts, target: &'a Target) -> Option<&'a BrowserPage> {
    let page = target.browser_page.as_ref();
    page.filter(|_| file::is_navigation(parts) && !socket::is_requested(parts))
}

/// The host name in the request. HTTP/1.1 requires exactly one; the texts are Go's.
fn host(parts: &Parts) -> Result<&[u8], &'static str> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err("400 Bad Request: too many Host headers");
    }
    match (parts.uri.authority(), host) {
        (Some(authority), _) => Ok(authority.as_str().as_bytes()),
        (None, Some(host)) => Ok(host.as_bytes()),
        (None, None) if parts.version < Version::HTTP_11 => Ok(b""),
        (None, None) => Err("400 Bad Request: missing required Host header"),
    }
}
