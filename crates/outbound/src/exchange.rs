//! One JSON request and its reply, of limited length.

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use thiserror::Error;

use crate::dialer::HttpConnection;
use crate::url::SourceUrl;

/// The reason why a request has no reply.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// The node did not get the request.
    #[error("{0}")]
    NotSent(String),
    /// The node may have got the request.
    #[error("{0}")]
    Lost(String),
    /// The reply is longer than allowed.
    #[error("length limit exceeded")]
    TooLong,
}

impl HttpConnection<Full<Bytes>> {
    /// Posts JSON to a path of the node, and reads a reply of at most `max` bytes. The caller sets the deadline. Only after
    /// a reply may the connection be used again.
    ///
    /// # Errors
    /// There is no complete reply.
    pub async fn post_json(
        &mut self,
        url: &SourceUrl,
        path: &str,
        body: Bytes,
        max: usize,
    ) -> Result<(StatusCode, Bytes), ExchangeError> {
        let host = HeaderValue::try_from(url.authority());
        let request = Request::post(path)
            .header(header::HOST, host.map_err(|error| not_sent(&error))?)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| not_sent(&error))?;
        self.sender.ready().await.map_err(|error| not_sent(&error))?;
        let reply = self.sender.send_request(request).await.map_err(|error| {
            // A canceled request was not written.
            if error.is_canceled() { not_sent(&error) } else { lost(&error) }
        })?;
        let (status, mut body) = (reply.status(), reply.into_body());
        let mut read = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|error| lost(&error))?.into_data() else { continue };
            if read.len().saturating_add(data.len()) > max {
                return Err(ExchangeError::TooLong);
            }
            read.extend_from_slice(&data);
        }
        Ok((status, read.freeze()))
    }
}

fn not_sent(error: &dyn std::fmt::Display) -> ExchangeError {
    ExchangeError::NotSent(error.to_string())
}

fn lost(error: &dyn std::fmt::Display) -> ExchangeError {
    ExchangeError::Lost(error.to_string())
}
