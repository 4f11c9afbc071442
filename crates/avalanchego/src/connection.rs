//! One kept HTTP/1.1 connection to a node: one request after the other, each with a deadline and a limit of bytes.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use esker_outbound::{Dialer, HttpConnection, SourceUrl};
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::error::ClientError;

/// Deadline of one request, its connection and its answer included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The connection to a node; it opens with the first request, and again after a failure.
#[derive(Debug)]
pub(crate) struct Connection {
    url: SourceUrl,
    dialer: Dialer,
    timeout: Duration,
    open: Option<Open>,
}

type Open = HttpConnection<Full<Bytes>>;

/// A status and a body.
pub(crate) type Answer = (StatusCode, Bytes);

impl Connection {
    pub(crate) const fn new(url: SourceUrl, dialer: Dialer) -> Self {
        Self { url, dialer, timeout: REQUEST_TIMEOUT, open: None }
    }

    pub(crate) const fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    pub(crate) const fn url(&self) -> &SourceUrl {
        &self.url
    }

    /// Sends a request of JSON. An answer has at most `max` bytes. The request may be sent twice: it must change nothing.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        body: String,
        max: usize,
    ) -> Result<Answer, ClientError> {
        let body = Bytes::from(body);
        let kept = self.open.take_if(|open| !open.sender.is_closed());
        match timeout(self.timeout, self.attempt(kept, path, body, max)).await {
            Ok(answer) => answer,
            Err(_) => Err(ClientError::Timeout {
                ms: u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
            }),
        }
    }

    async fn attempt(
        &mut self,
        kept: Option<Open>,
        path: &str,
        body: Bytes,
        max: usize,
    ) -> Result<Answer, ClientError> {
        // The node may have closed a kept connection just now: that is no failure.
        if let Some(open) = kept {
            match self.exchange(open, path, body.clone(), max).await {
                Err(ClientError::Unreachable(_)) => {}
                done => return done,
            }
        }
        let open = self.dialer.connect(&self.url).await;
        let open = open.map_err(|error| ClientError::Unreachable(error.to_string()))?;
        self.exchange(open, path, body, max).await
    }

    /// One request; the connection is kept if its answer was read to the end.
    async fn exchange(
        &mut self,
        mut open: Open,
        path: &str,
        body: Bytes,
        max: usize,
    ) -> Result<Answer, ClientError> {
        let unreachable = |error: hyper::Error| ClientError::Unreachable(error.to_string());
        let host = HeaderValue::try_from(self.url.authority());
        let host = host.map_err(|error| ClientError::Unreachable(error.to_string()))?;
        let request = Request::post(path)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| ClientError::Unreachable(error.to_string()))?;
        open.sender.ready().await.map_err(unreachable)?;
        let answer = open.sender.send_request(request).await.map_err(unreachable)?;
        let status = answer.status();
        let body = read(answer.into_body(), max).await?;
        self.open = Some(open);
        Ok((status, body))
    }
}

async fn read(mut body: Incoming, max: usize) -> Result<Bytes, ClientError> {
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ClientError::Unreachable(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len().saturating_add(data.len()) > max {
            return Err(ClientError::TooLong { max });
        }
        read.extend_from_slice(&data);
    }
    Ok(read.freeze())
}
