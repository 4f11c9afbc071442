//! Websockets: messages in, replies and events out, in the dialect of the path (docs/protocol/positional-dialect.md,
//! "Websockets").
//!
//! `handshake.rs` checks the request, `connection.rs` runs an open socket, `frames.rs` and `outgoing.rs` decode and
//! encode its frames. A socket counts as a connection. It is closed when the server stops, and when its client does
//! not read, does not answer pings, or leaves a message incomplete.
//!
//! Calls of a socket run concurrently: a slow call delays neither later replies nor notifications. Replies are sent
//! in the order of completion. A subscription sends nothing before its reply.

mod connection;
mod frames;
mod handshake;
mod outgoing;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use esker_rpc::Caller;
use esker_rpc::socket::SocketDialect;
use http::HeaderMap;
use http::header::SEC_WEBSOCKET_VERSION;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;

use self::connection::Socket;
pub(super) use self::handshake::is_requested;
use super::answer::Answer;
use super::body::BodyMemory;
use super::connections::Connection;
use super::in_flight::Handlers;
use super::io::Io;
use super::metrics::HttpMetrics;
use super::reply::ReplyBody;
use super::routes::Target;

/// A websocket's part of the server's state.
#[derive(Debug)]
pub(super) struct SocketContext {
    pub(super) dialect: Arc<dyn SocketDialect>,
    /// The caller that opened it.
    pub(super) caller: Caller,
    /// That caller's address, for the log.
    pub(super) client_address: Option<IpAddr>,
    pub(super) target: Arc<Target>,
    pub(super) metrics: Arc<dyn HttpMetrics>,
    pub(super) handlers: Handlers,
    pub(super) memory: Arc<BodyMemory>,
    /// Most bytes of a message.
    pub(super) message_limit: usize,
    pub(super) ping_interval: Duration,
}

/// Answers a handshake. The socket is open once the answer has been sent.
pub(super) fn open(
    connection: &Arc<Connection>,
    context: SocketContext,
    parts: &mut Parts,
    headers: &mut HeaderMap,
) -> Answer {
    let upgrade = match handshake::accept(parts, headers) {
        Ok(()) => parts.extensions.remove::<OnUpgrade>().ok_or(StatusCode::BAD_REQUEST),
        Err(status) => Err(status),
    };
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(status) => {
            headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            let text = status.canonical_reason().unwrap_or_default();
            return Answer::error(status, format!("{text}\n"), headers);
        }
    };
    let Some(place) = connection.reserve_socket() else {
        let text = "too many websockets\n";
        return Answer::error(StatusCode::SERVICE_UNAVAILABLE, text, headers);
    };
    let of_task = Arc::clone(connection);
    let task = tokio::spawn(async move {
        let Some((io, early)) = upgrade.await.ok().and_then(raw) else { return };
        let socket = Socket::new(io, &early, of_task, Arc::new(context), place);
        if let Err(error) = socket.await {
            // Clients may disconnect at any time.
            tracing::debug!(%error, "websocket ended");
        }
    });
    connection.set_upgraded(task.abort_handle());
    Answer::new(StatusCode::SWITCHING_PROTOCOLS, ReplyBody::empty())
}

/// The socket below HTTP, and the bytes that the client has sent already.
fn raw(upgraded: Upgraded) -> Option<(Io, bytes::Bytes)> {
    let parts = upgraded.downcast::<TokioIo<Io>>().ok()?;
    Some((parts.io.into_inner(), parts.read_buf))
}
