//! The handlers behind the layers, one for each kind of endpoint.

use std::net::IpAddr;
use std::sync::Arc;

use esker_rpc::socket::SocketDialect;
use esker_rpc::work::{Client, MemoryError, RateExceeded, ReplyBytes};
use esker_rpc::{Caller, Service, cost, object, positional};
use http::header::{
    ACCESS_CONTROL_EXPOSE_HEADERS, CONTENT_TYPE, HeaderName, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::{Body as _, Incoming};
use tower::ServiceExt as _;

use super::batch;
use super::body::{BodyError, OversizePolicy, ReadBody};
use super::client_address::ClientAddress;
use super::connections::{Connection, Phase, StreamGuard};
use super::dispatch::{Answer, HttpState, NOSNIFF, origin_refused};
use super::metrics::Outcome;
use super::page::PageReply;
use super::reply::ReplyBody;
use super::routes::{Endpoint, Target};
use super::socket::{self, SocketContext};
use super::spooled::SpooledBody;

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");

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
                .read(connection, body, self.config().body_limit, OversizePolicy::Refuse)
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
        let caller = self.caller(connection, parts);
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
                let read = match self.read(connection, body, limit, OversizePolicy::Cut).await {
                    Ok(read) => read,
                    Err(error) => return self.body_refused(&error, connection, parts, headers),
                };
                let Some(in_flight) = self.handlers.try_start() else {
                    return busy(headers);
                };
                connection.enter(Phase::Handling);
                let caller = self.caller(connection, parts);
                if positional::is_batch(&read.bytes) {
                    let metrics = &self.metrics;
                    let (body, answer) =
                        batch::answer(server, &caller, read, connection, metrics, in_flight).await;
                    (positional::http::Reply::of(answer), Some(body.into()))
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
        Caller { client: Some(self.client(connection, parts)), ..self.cors.caller(&parts.headers) }
    }

    /// Takes the units of a request without a call.
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

    async fn read(
        &self,
        connection: &Connection,
        body: &mut Option<Incoming>,
        limit: usize,
        excess: OversizePolicy,
    ) -> Result<ReadBody, BodyError> {
        let body = body.as_mut().ok_or(BodyError::Broken)?;
        let read = self.bodies.read(body, limit, connection.uncounted_body(), excess).await?;
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

/// Says when to try again; pages may read it too.
fn set_retry_after(seconds: u32, headers: &mut HeaderMap) {
    headers.insert(RETRY_AFTER, seconds.into());
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Retry-After"));
}

/// The answer to a request without a call if its address has used its units.
pub(super) fn rate_exceeded(exceeded: RateExceeded, headers: &mut HeaderMap) -> Answer {
    set_retry_after(exceeded.retry_after_s(), headers);
    Answer::error(StatusCode::TOO_MANY_REQUESTS, format!("{exceeded}\n"), headers)
}

/// The answer if the reply memory is used up.
fn no_memory(error: MemoryError, headers: &mut HeaderMap) -> Answer {
    Answer::error(StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n"), headers)
}

/// The answer if too many requests are in flight.
fn busy(headers: &mut HeaderMap) -> Answer {
    let text = "too many requests in flight\n";
    Answer::error(StatusCode::SERVICE_UNAVAILABLE, text, headers)
}

/// Whether the object dialect accepts a body of this type.
fn is_json(content_type: &str) -> bool {
    let kind = content_type.split_once(';').map_or(content_type, |(kind, _)| kind);
    kind.eq_ignore_ascii_case("application/json")
}
