//! The unread rest of a request's body. A small rest is read, so that the connection can serve the next request. With
//! a large rest the connection closes, and the reply announces it.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use hyper::body::{Body as _, Incoming};

use super::connections::Connection;
use super::phase::Phase;

/// Largest rest of a body that is read, in bytes.
const MAX_BYTES: u64 = 64 * 1024;
/// Time for the rest to arrive. Clients send small bodies together with the head.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads the rest of an unused body. Returns whether the connection can serve another request.
///
/// A client that waits for `100 Continue` does not get it, but gets the reply.
pub(super) async fn finish(
    connection: &Connection,
    body: &mut Option<Incoming>,
    expects_continue: bool,
) -> bool {
    // A handler that took the body is responsible for it.
    let Some(body) = body else { return true };
    // The rest of a stream is refused without closing its connection.
    if connection.is_stream() {
        return true;
    }
    if body.is_end_stream() {
        connection.set_unread(false);
        return true;
    }
    connection.set_unread(true);
    if expects_continue || body.size_hint().lower() > MAX_BYTES {
        return false;
    }
    connection.enter(Phase::Body);
    let is_finished = tokio::time::timeout(READ_TIMEOUT, read_to_end(body)).await.unwrap_or(false);
    connection.set_unread(!is_finished);
    is_finished
}

/// Whether the end came within the limit.
async fn read_to_end(body: &mut Incoming) -> bool {
    let mut bytes = 0;
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => {
                bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                if bytes > MAX_BYTES {
                    return false;
                }
            }
        }
    }
}
