//! One kept HTTP/1.1 connection to a node: one request after the other, each with a deadline and a limit of bytes.

use std::time::Duration;

use bytes::Bytes;
use esker_outbound::{Dialer, ExchangeError, HttpConnection, SourceUrl};
use http::StatusCode;
use http_body_util::Full;
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
        let answer = open.post_json(&self.url, path, body, max).await;
        let answer = answer.map_err(|error| match error {
            ExchangeError::NotSent(reason) | ExchangeError::Lost(reason) => {
                ClientError::Unreachable(reason)
            }
            ExchangeError::TooLong => ClientError::TooLong { max },
        })?;
        self.open = Some(open);
        Ok(answer)
    }
}
