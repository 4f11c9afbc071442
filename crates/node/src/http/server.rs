//! Accepts connections and ends them.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::Shutdown;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};

use super::dispatch::HttpState;

/// Smallest buffer that the HTTP library takes for a request's head.
const LEAST_HEAD_LIMIT: usize = 8192;
/// Open files of a node besides its connections: store, logs, listeners, with room to spare.
const OTHER_FILES: u64 = 512;
/// How long accepting rests after the system refused a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves these listeners until `stop`, then ends: listeners at once, waiting connections at once, running requests
/// with their reply or after the configured grace. Nothing of the server runs when it returns, upgraded
/// connections apart.
///
/// Raises the process's limit of open files to what the configured connections need, as far as the system lets it.
pub async fn serve(listeners: Vec<TcpListener>, state: Arc<HttpState>, mut stop: Shutdown) {
    raise_file_limit(state.config().max_connections);
    let accepting = async {
        let accepts = listeners.iter().map(|listener| accept(listener, &state));
        futures_util::future::join_all(accepts).await;
        pending::<()>().await;
    };
    let connections = state.connections();
    tokio::select! {
        () = accepting => {}
        () = connections.watch() => {}
        () = stop.wait() => {}
    }
    drop(listeners);
    connections.stop(state.config().shutdown_grace).await;
}

/// Systems start processes with a limit of about a thousand and let them raise it.
fn raise_file_limit(connections: usize) {
    let mut limit = getrlimit(Resource::Nofile);
    let needed = connections as u64 + OTHER_FILES;
    let most = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_some_and(|current| current < needed.min(most)) {
        limit.current = Some(needed.min(most));
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
    }
}

async fn accept(listener: &TcpListener, state: &Arc<HttpState>) {
    let mut failing = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                failing = false;
                state.connections().make_room().await;
                spawn(stream, state);
            }
            // The client has gone already.
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                if !failing {
                    tracing::warn!(%error, "cannot accept connections");
                }
                failing = true;
                // Most likely there are no file descriptors left.
                state.connections().close_longest_waiting();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_of_the_client(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

fn spawn(stream: TcpStream, state: &Arc<HttpState>) {
    // Replies are written whole, so there is nothing to wait for. A socket that does not take the option works.
    let _ = stream.set_nodelay(true);
    let (io, connection) = state.connections().open(stream);
    let config = state.config();
    let mut http = http1::Builder::new();
    // The table of connections keeps the time.
    http.header_read_timeout(None)
        .keep_alive(config.keep_alive)
        .max_buf_size(config.head_limit.max(LEAST_HEAD_LIMIT));
    let service = {
        let (state, connection) = (Arc::clone(state), Arc::clone(&connection));
        service_fn(move |request| {
            let (state, connection) = (Arc::clone(&state), Arc::clone(&connection));
            async move { Ok::<_, Infallible>(state.answer(&connection, request).await) }
        })
    };
    let serving = http.serve_connection(TokioIo::new(io), service).with_upgrades();
    let task = tokio::spawn(async move {
        if let Err(error) = serving.await {
            // Clients break connections as they like.
            tracing::debug!(%error, "connection ended");
        }
    });
    connection.set_task(task.abort_handle());
}
