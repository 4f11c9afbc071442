//! Accepting and closing connections.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use super::connections::OpenConnection;
use super::dispatch::HttpState;
use super::http2;
use super::io::{Io, Transport};
use super::tls::{Handshake, Tls, handshake};

/// Bytes of a connection that the system buffers before sending.
const MAX_UNSENT: u32 = 128 * 1024;
/// Smallest buffer that the HTTP library accepts.
const MIN_BUFFER: usize = 8192;
/// Pause after the system failed to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The reply to a request without TLS where it is required.
const PLAIN_REFUSED: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// The reason why a connection ended early.
#[derive(Debug, Error)]
enum ServeError {
    #[error(transparent)]
    Http(#[from] hyper::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Serves these listeners, with TLS if a certificate is given, until `stop` resolves. Then closes listeners and idle connections at once, and running
/// requests after their reply or the configured grace. When it returns, only upgraded connections may still run.
/// After [`HttpState::hand_over`] it only waits for the connections that are open.
pub async fn serve(
    listeners: Vec<TcpListener>,
    tls: Option<Tls>,
    state: Arc<HttpState>,
    stop: impl Future<Output = ()>,
) {
    let accepting = async {
        let accepts = listeners.iter().map(|listener| accept(listener, tls.as_ref(), &state));
        futures_util::future::join_all(accepts).await;
        pending::<()>().await;
    };
    let connections = state.connections();
    tokio::pin!(stop);
    let is_handed_over = tokio::select! {
        () = accepting => false,
        () = connections.watch() => false,
        () = &mut stop => false,
        () = connections.handing_over() => true,
    };
    drop(listeners);
    if is_handed_over {
        tokio::select! {
            () = connections.finish() => return,
            () = connections.watch() => {}
            () = &mut stop => {}
        }
    }
    connections.stop(state.config().shutdown_grace).await;
}

async fn accept(listener: &TcpListener, tls: Option<&Tls>, state: &Arc<HttpState>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                state.connections().make_room().await;
                spawn(stream, tls, state);
            }
            // The client has disconnected already.
            Err(error) if is_client_error(&error) => {}
            Err(error) => {
                // Most likely there are no file descriptors left, in the process or in the system.
                state.connections().on_accept_error(&error);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_client_error(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Makes the system buffer little of what a client does not read, so that unread bytes count against the node's own
/// limits. Bytes in flight are not limited by this, so throughput is not either.
fn limit_unsent(stream: &TcpStream) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(MAX_UNSENT);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = stream;
}

fn spawn(stream: TcpStream, tls: Option<&Tls>, state: &Arc<HttpState>) {
    // Replies are written whole, so delaying them has no benefit. The socket works without the option.
    let _ = stream.set_nodelay(true);
    limit_unsent(&stream);
    let place = state.connections().open(stream.peer_addr().ok());
    let connection = Arc::clone(place.connection());
    let (tls, state) = (tls.cloned(), Arc::clone(state));
    let task = tokio::spawn(async move {
        let served = match tls {
            None => serve_http1(Io::new(Transport::Plain(stream), place), &state).await,
            Some(tls) => Box::pin(serve_tls(stream, place, &tls, &state)).await,
        };
        if let Err(error) = served {
            // Clients may disconnect at any time.
            tracing::debug!(%error, "connection ended");
        }
    });
    connection.set_task(task.abort_handle());
}

async fn serve_tls(
    stream: TcpStream,
    place: OpenConnection,
    tls: &Tls,
    state: &Arc<HttpState>,
) -> Result<(), ServeError> {
    match handshake(tls, stream).await? {
        Handshake::Http1(stream) => {
            serve_http1(Io::new(Transport::Tls(stream), place), state).await
        }
        Handshake::Http2(stream) => {
            Ok(http2::serve(Io::multiplexed(Transport::Tls(stream), place), state).await?)
        }
        Handshake::Plain(stream) => {
            Ok(refuse_plain(Io::new(Transport::Plain(stream), place)).await?)
        }
    }
}

async fn serve_http1(io: Io, state: &Arc<HttpState>) -> Result<(), ServeError> {
    let config = state.config();
    let mut http = http1::Builder::new();
    // The table of connections has the timeouts.
    http.header_read_timeout(None)
        .keep_alive(config.keep_alive)
        // Counted from a head's first byte to its end, in any number of reads.
        .max_header_size(config.head_limit)
        .max_buf_size(config.head_limit.max(MIN_BUFFER));
    let service = {
        let (state, connection) = (Arc::clone(state), Arc::clone(io.connection()));
        service_fn(move |request| {
            let (state, connection) = (Arc::clone(&state), Arc::clone(&connection));
            async move { Ok::<_, Infallible>(state.answer(&connection, request).await) }
        })
    };
    Ok(http.serve_connection(TokioIo::new(io), service).with_upgrades().await?)
}

/// Answers a request that came without TLS, as Go does.
async fn refuse_plain(mut io: Io) -> std::io::Result<()> {
    // The client may not have sent all of it yet.
    io.connection().set_unread(true);
    io.write_all(PLAIN_REFUSED).await?;
    io.shutdown().await
}
