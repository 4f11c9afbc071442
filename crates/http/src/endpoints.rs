//! The handlers behind the layers, one for each kind of endpoint.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use esker_rpc::socket::SocketDialect;
use esker_rpc::work::{Client, MemoryError, RateExceeded, ReplyBytes, RequestShare};
use esker_rpc::{Caller, Service, cost, object, positional};
use http::header::{CONTENT_TYPE, HeaderName, USER_AGENT, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::{Body as _, Incoming};
use tower::ServiceExt as _;

use super::answer::{
    Answer, NOSNIFF, busy, no_memory, origin_refused, rate_exceeded, set_retry_after,
};
use super::batch;
use super::body::{BodyError, OversizePolicy, ReadBody};
use super::client_address::ClientAddress;
use super::connections::{Connection, StreamGuard};
use super::dispatch::HttpState;
use super::metrics::Outcome;
use super::page::PageReply;
use super::phase::Phase;
use super::reply::ReplyBody;
use super::routes::{Endpoint, Target};
use super::socket::{self, SocketContext};
use super::spooled::SpooledBody;

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");

/// Most bytes that are kept of the name of a client's program.
const MAX_PROGRAM: usize = 64;

impl HttpState {
    pub(super) async fn call(
        &self,
        connection: &Arc<Connection>,
        target: &Arc<Target>,
        mut parts: Parts,
        body: &mut Option<Incoming>,
        headers: &mut HeaderMap,
    ) -> Answer {
        match &target.endpoint {
            Endpoint::Object(service) => {
                self.object(connection, service, &parts, body, headers).await
            }
            Endpoint::Socket(dialect) => {
                self.socket(connection, Arc::clone(dialect), target, &mut parts, headers)
            }
            Endpoint::PositionalBoth(server) if socket::is_requested(&parts) => {
                let dialect = Arc::new(server.clone());
                self.socket(connection, dialect, target, &mut parts, headers)
            }
            Endpoint::Positional(server) | Endpoint::PositionalBoth(server) => {
                self.positional(connection, server, &parts, body, headers).await
            }
            Endpoint::Page(page) => {
                connection.enter(Phase::Handling);
                match page.answer(&parts.method, parts.uri.query()).await {
                    Some(PageReply { status, content_type, body }) => {
                        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
                        Answer::new(status, ReplyBody::full(body))
                    }
                    None => match page.service() {
                        Some(service) => {
                            self.object(connection, service, &parts, body, headers).await
                        }
                        None => {
                            Answer::error(StatusCode::NOT_FOUND, "404 page not found\n", headers)
                        }
                    },
                }
            }
            Endpoint::File(file) => file.answer(&parts, headers),
            Endpoint::Axum(router) => {
                let address = self.client_address(connection, &parts);
                parts.extensions.insert(ClientAddress(address));
                self.axum(connection, router.clone(), parts, body, headers).await
            }
        }
    }

    async fn object(
        &self,
        connection: &Arc<Connection>,
        service: &Service,
        parts: &Parts,
        body: &mut Option<Incoming>,
        headers: &mut HeaderMap,
    ) -> Answer {
        let content_type = parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let content_type = content_type.map(String::from_utf8_lossy);
        // The method and the content type are checked before the body is read.
        let read = if parts.method == Method::POST && content_type.as_deref().is_some_and(is_json) {
            match self
                .read(connection, parts, body, self.config().body_limit, OversizePolicy::Refuse)
                .await
            {
                Ok(read) => Some(read),
                Err(error) => return self.body_refused(&error, connection, parts, headers),
            }
        } else {
            None
        };
        let bytes = read.as_ref().map_or(&b""[..], |read| &read.bytes);
        let Some(_in_flight) = self.handlers.try_start() else {
            return busy(headers);
        };
        connection.enter(Phase::Handling);
        let mut caller = self.caller(connection, parts);
        caller.request = read.as_ref().and_then(ReadBody::shared);
        let reply =
            object::handle(service, parts.method.as_str(), content_type.as_deref(), bytes, &caller)
                .await;
        let method = if read.is_some() { object::called(service, bytes) } else { None };
        if let Some(seconds) = reply.retry_after_s {
            set_retry_after(seconds, headers);
        }
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
        let failed = object::is_error(&reply.body);
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
        let body = match counted_body(reply.body, connection) {
            Ok(body) => body,
            Err(error) => return no_memory(error, headers),
        };
        let outcome = (failed && status.is_success()).then_some(Outcome::Error);
        Answer { method, outcome, ..Answer::new(status, body) }
    }

    async fn positional(
        &self,
        connection: &Arc<Connection>,
        server: &positional::Server,
        parts: &Parts,
        body: &mut Option<Incoming>,
        headers: &mut HeaderMap,
    ) -> Answer {
        let content_type = parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let content_type = content_type.map(String::from_utf8_lossy);
        let head = positional::http::RequestHead {
            method: parts.method.as_str(),
            content_type: content_type.as_deref(),
            content_length: body.as_ref().and_then(|body| body.size_hint().exact()),
            has_query: parts.uri.query().is_some_and(|query| !query.is_empty()),
        };
        let (reply, body) = match positional::http::admit(server, &head) {
            Some(reply) => {
                if let Err(exceeded) = self.charge(connection, parts) {
                    return rate_exceeded(exceeded, headers);
                }
                (reply, None)
            }
            None => {
                // A longer body without Content-Length is cut, and is then most likely invalid JSON.
                let limit = server.limits().body_bytes;
                let read =
                    match self.read(connection, parts, body, limit, OversizePolicy::Cut).await {
                        Ok(read) => read,
                        Err(error) => return self.body_refused(&error, connection, parts, headers),
                    };
                let Some(in_flight) = self.handlers.try_start() else {
                    return busy(headers);
                };
                connection.enter(Phase::Handling);
                let caller = Caller { request: read.shared(), ..self.caller(connection, parts) };
                if positional::is_batch(&read.bytes) {
                    let metrics = &self.metrics;
                    let (body, answer) =
                        batch::answer(server, &caller, read, connection, metrics, in_flight).await;
                    (positional::http::Reply::from_answer(answer), Some(body.into()))
                } else {
                    let caller = Caller { takes_files: true, ..caller };
                    let mut reply = positional::http::answer(server, &read.bytes, &caller).await;
                    let spooled = reply.answer.body.take_file().map(|file| {
                        let end = std::mem::take(&mut reply.answer.body);
                        let body = SpooledBody::new(file, end, connection, &self.metrics);
                        ReplyBody::Spooled(Box::new(body))
                    });
                    (reply, spooled)
                }
            }
        };
        if let Some(seconds) = reply.answer.retry_after_s {
            set_retry_after(seconds, headers);
        }
        if let Some(kind) = reply.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        if reply.nosniff {
            headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        }
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
        let body = match body.map_or_else(|| counted_body(reply.answer.body, connection), Ok) {
            Ok(body) => body,
            Err(error) => return no_memory(error, headers),
        };
        Answer {
            method: reply.answer.method,
            outcome: (reply.answer.failed && status.is_success()).then_some(Outcome::Error),
            ..Answer::new(status, body)
        }
    }

    /// The caller and the connection of a request.
    fn caller(&self, connection: &Connection, parts: &Parts) -> Caller {
        let program = parts.headers.get(USER_AGENT).map(|value| {
            let shown = value.as_bytes();
            Bytes::copy_from_slice(&shown[..shown.len().min(MAX_PROGRAM)])
        });
        let client = Some(self.client(connection, parts));
        Caller { client, program, ..self.cors.caller(&parts.headers) }
    }

    /// Charges the units of a request without a call.
    pub(super) fn charge(
        &self,
        connection: &Connection,
        parts: &Parts,
    ) -> Result<(), RateExceeded> {
        match self.config().rate_limit {
            Some(_) => self.client(connection, parts).charge(cost::READ),
            None => Ok(()),
        }
    }

    /// The client of a request: that of the connection, or the one that a trusted proxy names.
    fn client(&self, connection: &Connection, parts: &Parts) -> Client {
        let client = connection.client();
        match self.proxied_address(connection, parts) {
            Some(address) => client.behind_proxy(address),
            None => client.clone(),
        }
    }

    /// The address of the client of a request.
    pub(super) fn client_address(&self, connection: &Connection, parts: &Parts) -> Option<IpAddr> {
        self.proxied_address(connection, parts).or_else(|| connection.client().peer())
    }

    /// The address of the client that a trusted proxy names.
    fn proxied_address(&self, connection: &Connection, parts: &Parts) -> Option<IpAddr> {
        let header = self.config().client_address.as_ref()?;
        header.client_of(connection.client().peer(), &parts.headers)
    }

    async fn axum(
        &self,
        connection: &Arc<Connection>,
        router: axum::Router,
        parts: Parts,
        body: &mut Option<Incoming>,
        headers: &mut HeaderMap,
    ) -> Answer {
        let Some(_in_flight) = self.handlers.try_start() else {
            return busy(headers);
        };
        connection.enter(Phase::Handling);
        let body = body.take().map_or_else(axum::body::Body::empty, axum::body::Body::new);
        let request = Request::from_parts(parts, body);
        let Ok(response) = router.oneshot(request).await;
        let (parts, body) = response.into_parts();
        headers.extend(parts.headers);
        Answer::new(parts.status, ReplyBody::Stream(body, StreamGuard::new(connection)))
    }

    /// Waits until the bodies of the request's client leave room for one of so many bytes.
    async fn wait_for_share(
        &self,
        connection: &Connection,
        parts: &Parts,
        bytes: usize,
    ) -> Result<RequestShare, BodyError> {
        let client = self.client(connection, parts);
        let share = client.request_share(bytes, self.config().address_body_memory());
        connection.enter(Phase::Handling);
        let share = tokio::time::timeout(self.config().body_timeout, share).await;
        connection.enter(Phase::Body);
        share.map_err(|_| BodyError::NoMemory)
    }

    async fn read(
        &self,
        connection: &Connection,
        parts: &Parts,
        body: &mut Option<Incoming>,
        limit: usize,
        excess: OversizePolicy,
    ) -> Result<ReadBody, BodyError> {
        let body = body.as_mut().ok_or(BodyError::Broken)?;
        let uncounted = connection.uncounted_body();
        // A waiting body is not read, and the client can't change that.
        let share = match body.size_hint().exact() {
            Some(declared) if declared > limit as u64 => None,
            Some(declared) => usize::try_from(declared).ok().filter(|bytes| *bytes > uncounted),
            None => Some(limit),
        };
        let share = match share {
            None => None,
            Some(bytes) => Some(self.wait_for_share(connection, parts, bytes).await?),
        };
        let read = self.bodies.read(body, limit, uncounted, excess).await?;
        let read = read.with_share(share);
        self.metrics.received(read.bytes.len());
        Ok(read)
    }

    fn body_refused(
        &self,
        error: &BodyError,
        connection: &Connection,
        parts: &Parts,
        headers: &mut HeaderMap,
    ) -> Answer {
        if let Err(exceeded) = self.charge(connection, parts) {
            return rate_exceeded(exceeded, headers);
        }
        match error {
            BodyError::TooLarge(bytes) => {
                let text =
                    format!("content length too large ({bytes}>{})\n", self.config().body_limit);
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

    fn socket(
        &self,
        connection: &Arc<Connection>,
        dialect: Arc<dyn SocketDialect>,
        target: &Arc<Target>,
        parts: &mut Parts,
        headers: &mut HeaderMap,
    ) -> Answer {
        // Browsers allow all pages to open websockets: only the server checks the origin.
        if socket::is_requested(parts) && !self.cors.may_upgrade(&parts.headers) {
            return origin_refused(headers);
        }
        let context = self.context(dialect, target, connection, parts);
        socket::open(connection, context, parts, headers)
    }

    /// The context of a websocket at `target`.
    fn context(
        &self,
        dialect: Arc<dyn SocketDialect>,
        target: &Arc<Target>,
        connection: &Connection,
        parts: &Parts,
    ) -> SocketContext {
        SocketContext {
            dialect,
            caller: self.caller(connection, parts),
            client_address: self.client_address(connection, parts),
            target: Arc::clone(target),
            metrics: Arc::clone(&self.metrics),
            handlers: self.handlers.clone(),
            memory: Arc::clone(&self.bodies),
            message_limit: self.config().message_limit,
            ping_interval: self.config().ping_interval,
        }
    }
}

/// A counted reply, with the bytes that a dialect has put around its result.
fn counted_body(reply: ReplyBytes, connection: &Connection) -> Result<ReplyBody, MemoryError> {
    Ok(reply.recount(connection.client())?.into())
}

/// Whether the object dialect accepts a body of this type.
fn is_json(content_type: &str) -> bool {
    let kind = content_type.split_once(';').map_or(content_type, |(kind, _)| kind);
    kind.eq_ignore_ascii_case("application/json")
}
