//! Connections of HTTP/2: the limits of the library, and the way of a stream to the layers.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use super::body::MemoryShare;
use super::config::MAX_HEADERS;
use super::connections::Connection;
use super::dispatch::HttpState;
use super::io::Io;
use super::reply::ReplyBody;
use super::streams::{OpenStream, StreamBody};

/// Most streams of a connection. Those that are not served yet wait.
pub(super) const MAX_STREAMS: u32 = 100;
/// Bytes of bodies that a client may send before the node reads them: for a stream, and for all of a connection.
const WINDOW: u32 = 65_535;
/// Bytes of a stream's reply that the library takes before the client reads them; a whole reply may exceed it.
const SEND_BUFFER: usize = 64 * 1024;
/// Streams that a client may give up before the node has seen them. More end the connection.
const MAX_EARLY_RESETS: usize = 20;
/// Faulty streams that the node resets before it ends the connection.
const MAX_FAULTY_STREAMS: usize = 100;

/// Bytes that the standard counts for a header in addition to name and value.
const HEADER_OVERHEAD: usize = 32;

/// Serves a connection until either side ends it.
pub(super) async fn serve(io: Io, state: &Arc<HttpState>) -> hyper::Result<()> {
    let connection = Arc::clone(io.connection());
    let service = {
        let (state, connection) = (Arc::clone(state), Arc::clone(&connection));
        service_fn(move |request| {
            let (state, connection) = (Arc::clone(&state), Arc::clone(&connection));
            async move { Ok::<_, Infallible>(answer(&state, &connection, request).await) }
        })
    };
    let mut serving = pin!(builder(state).serve_connection(TokioIo::new(io), service));
    let mut is_closing = false;
    poll_fn(|cx| {
        connection.wake_on_stop(cx.waker());
        if connection.is_stopping() && !is_closing {
            is_closing = true;
            serving.as_mut().graceful_shutdown();
        }
        serving.as_mut().poll(cx)
    })
    .await
}

fn builder(state: &HttpState) -> http2::Builder<TokioExecutor> {
    let config = state.config();
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(config.head_limit).unwrap_or(u32::MAX))
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .max_pending_accept_reset_streams(MAX_EARLY_RESETS)
        .max_local_error_reset_streams(MAX_FAULTY_STREAMS)
        // A client that is gone without a word is noticed.
        .keep_alive_interval(config.ping_interval)
        .keep_alive_timeout(config.ping_interval);
    http
}

/// Answers one request of a stream.
async fn answer(
    state: &HttpState,
    connection: &Arc<Connection>,
    request: Request<Incoming>,
) -> Response<StreamBody> {
    let head = reserve_head(state, &request);
    let stream = OpenStream::open(connection).await.expect("the connection has streams");
    let is_head = request.method() == Method::HEAD;
    let mut response = if head.is_none() {
        refuse(StatusCode::SERVICE_UNAVAILABLE, "too many large requests at once\n")
    } else if request.headers().len() > MAX_HEADERS {
        refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "too many headers\n")
    } else {
        state.answer(stream.connection(), request).await
    };
    // It is of HTTP/1.1.
    response.headers_mut().remove(CONNECTION);
    if is_head {
        drop_body(&mut response);
    }
    response.map(|body| StreamBody::new(body, stream))
}

/// Counts the head against the memory of request bodies: each of many waiting streams has one. `None` if there is no
/// room.
fn reserve_head(state: &HttpState, request: &Request<Incoming>) -> Option<MemoryShare> {
    let headers = request.headers().iter();
    let bytes: usize =
        headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER_OVERHEAD).sum();
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let mut share = MemoryShare::above(&state.bodies, 0);
    share.grow_to(bytes + path).ok()?;
    Some(share)
}

fn refuse(status: StatusCode, text: &'static str) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::full(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// A reply to HEAD has the length of a body, and no body.
fn drop_body(response: &mut Response<ReplyBody>) {
    let body = std::mem::replace(response.body_mut(), ReplyBody::empty());
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}
