//! What answers behind the layers: each kind of endpoint.

use std::sync::Arc;

use esker_rpc::go_json::Document;
use esker_rpc::{Lookup, Service, evm, j2};
use http::header::{CONTENT_TYPE, HeaderName, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::{Body as _, Incoming};
use tower::ServiceExt as _;

use super::body::{BodyError, Excess, ReadBody, ReplyBody};
use super::connections::{Connection, Phase, StreamGuard};
use super::dispatch::{Answer, HttpState, NOSNIFF};
use super::routes::{Endpoint, Target};
use super::socket::{self, Site};
use crate::metrics::{MethodName, Outcome};

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");

impl HttpState {
    pub(super) async fn call(
        &self,
        connection: &Arc<Connection>,
        target: &Arc<Target>,
        mut parts: Parts,
        body: Incoming,
        headers: &mut HeaderMap,
    ) -> Answer {
        match &target.endpoint {
            Endpoint::J2(service) => self.j2(connection, service, &parts, body, headers).await,
            Endpoint::EvmSocket(server) => {
                socket::open(connection, self.site(server, target), &mut parts, headers)
            }
            Endpoint::EvmBoth(server) if socket::is_asked_for(&parts) => {
                socket::open(connection, self.site(server, target), &mut parts, headers)
            }
            Endpoint::Evm(server) | Endpoint::EvmBoth(server) => {
                self.evm(connection, server, &parts, body, headers).await
            }
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
            match self.read(&mut body, self.config().body_limit, Excess::Refuse).await {
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
        let Some(_in_flight) = self.handlers.try_start() else {
            return busy(headers);
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

    async fn evm(
        &self,
        connection: &Connection,
        server: &evm::Server,
        parts: &Parts,
        mut body: Incoming,
        headers: &mut HeaderMap,
    ) -> Answer {
        let content_type = parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let content_type = content_type.map(String::from_utf8_lossy);
        let head = evm::http::Head {
            method: parts.method.as_str(),
            content_type: content_type.as_deref(),
            content_length: body.size_hint().exact(),
            has_query: parts.uri.query().is_some_and(|query| !query.is_empty()),
        };
        let reply = match evm::http::admit(server, &head) {
            Some(reply) => reply,
            None => {
                // A longer body that did not tell is cut, so that it is most likely no JSON.
                let limit = server.limits().body_bytes;
                let read = match self.read(&mut body, limit, Excess::Cut).await {
                    Ok(read) => read,
                    Err(error) => return self.body_refused(&error, headers),
                };
                connection.set_unread(!body.is_end_stream());
                let Some(_in_flight) = self.handlers.try_start() else {
                    return busy(headers);
                };
                connection.enter(Phase::Handling);
                evm::http::answer(server, &read.bytes).await
            }
        };
        if let Some(kind) = reply.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        if reply.nosniff {
            headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        }
        let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
        Answer {
            method: reply.answer.method,
            outcome: reply.answer.failed.then_some(Outcome::Error),
            ..Answer::new(status, ReplyBody::full(reply.answer.body))
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
        let Some(_in_flight) = self.handlers.try_start() else {
            return busy(headers);
        };
        connection.enter(Phase::Handling);
        let request = Request::from_parts(parts, axum::body::Body::new(body));
        let Ok(response) = router.oneshot(request).await;
        let (parts, body) = response.into_parts();
        headers.extend(parts.headers);
        Answer::new(parts.status, ReplyBody::Stream(body, StreamGuard::new(connection)))
    }

    async fn read(
        &self,
        body: &mut Incoming,
        limit: usize,
        excess: Excess,
    ) -> Result<ReadBody, BodyError> {
        let read = self.bodies.read(body, limit, excess).await?;
        self.metrics.received_bytes.inc_by(read.bytes.len() as u64);
        Ok(read)
    }

    fn body_refused(&self, error: &BodyError, headers: &mut HeaderMap) -> Answer {
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

    /// What a websocket at `target` has of this server.
    fn site(&self, server: &evm::Server, target: &Arc<Target>) -> Site {
        Site {
            server: server.clone(),
            target: Arc::clone(target),
            metrics: Arc::clone(&self.metrics),
            handlers: self.handlers.clone(),
            memory: Arc::clone(&self.bodies),
            message_limit: self.config().message_limit,
            ping_interval: self.config().ping_interval,
        }
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

/// The answer where as many requests are in handlers as may be.
fn busy(headers: &mut HeaderMap) -> Answer {
    let text = "too many requests in flight\n";
    Answer::error(StatusCode::SERVICE_UNAVAILABLE, text, headers)
}

/// Would the object dialect read a body of this type?
fn is_json(content_type: &str) -> bool {
    let kind = content_type.split_once(';').map_or(content_type, |(kind, _)| kind);
    kind.eq_ignore_ascii_case("application/json")
}
