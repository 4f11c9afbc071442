//! Requests to a source over HTTP/1.1, and the bodies of its answers.

use std::time::Duration;

use bytes::Bytes;
use esker_outbound::{Dialer, HttpConnection, SourceUrl};
use esker_primitives::excerpt;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;

use crate::feed::SourceError;

/// Most bytes of a refusal's text that are read.
const MAX_REFUSAL: usize = 4096;

/// The times that a follower waits for a source.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the connection and the first record.
    pub connect: Duration,
    /// Limit for a record, and for a bundle if the source reports that it has more. An honest source sends a record
    /// every second. A long record may take longer if its bytes arrive fast enough.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), idle: Duration::from_secs(10) }
    }
}

/// Requests a path; returns the body of an answer with status 200. A body that sends nothing for `idle` is a failure.
pub(crate) async fn get(
    dialer: &Dialer,
    url: &SourceUrl,
    path: &str,
    idle: Duration,
) -> Result<SourceBody, SourceError> {
    let lost = |error: &dyn std::fmt::Display| SourceError::Unreachable(error.to_string());
    let mut connection = dialer.connect(url).await.map_err(|error| lost(&error))?;
    let request = Request::builder()
        .method(Method::GET)
        .uri(path)
        .header(header::HOST, url.authority())
        .body(Empty::<Bytes>::new())
        .map_err(|error| lost(&error))?;
    let reply = connection.sender.send_request(request).await.map_err(|error| lost(&error))?;
    let status = reply.status();
    if status != StatusCode::OK {
        return Err(refusal(status, reply.into_body()).await);
    }
    Ok(SourceBody { body: reply.into_body(), idle, _connection: connection })
}

/// The reason why a source answered with a status other than 200.
async fn refusal(status: StatusCode, body: Incoming) -> SourceError {
    let body = Limited::new(body, MAX_REFUSAL).collect().await;
    let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let text = format!("{}: {}", status.as_u16(), excerpt(text.trim()));
    match status {
        StatusCode::CONFLICT => SourceError::Behind(text),
        StatusCode::NOT_FOUND => SourceError::Refused(format!(
            "{text}; a source serves followers with --api-sync-enabled"
        )),
        StatusCode::GONE => SourceError::Refused(format!(
            "{text}; follow a node that has the whole history, or join from a snapshot"
        )),
        _ => SourceError::Refused(text),
    }
}

/// The body of a source's answer.
pub(crate) struct SourceBody {
    body: Incoming,
    idle: Duration,
    _connection: HttpConnection<Empty<Bytes>>,
}

impl SourceBody {
    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        loop {
            let frame = tokio::time::timeout(self.idle, self.body.frame()).await;
            match frame.map_err(|_| SourceError::Stalled(self.idle))? {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return Err(SourceError::Unreachable(error.to_string())),
                None => return Ok(None),
            }
        }
    }
}
