//! The answer of a handler, and the answers of the layers before it.

use bytes::Bytes;
use esker_rpc::work::{MemoryError, RateExceeded};
use http::header::{
    ACCESS_CONTROL_EXPOSE_HEADERS, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::metrics::{MethodName, Outcome};
use super::reply::ReplyBody;

/// The content type of the texts.
pub(super) const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
pub(super) const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// A handler's part of a reply. The handler writes headers directly.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: ReplyBody,
    pub(super) method: Option<MethodName>,
    /// `None`: derived from the status.
    pub(super) outcome: Option<Outcome>,
}

impl Answer {
    pub(super) fn new(status: StatusCode, body: ReplyBody) -> Self {
        Self { status, body, method: None, outcome: None }
    }

    /// An error as a line of text, as Go's `http.Error` writes it.
    pub(super) fn error(
        status: StatusCode,
        text: impl Into<Bytes>,
        headers: &mut HeaderMap,
    ) -> Self {
        headers.insert(CONTENT_TYPE, TEXT);
        headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        Self::new(status, ReplyBody::full(text))
    }

    pub(super) fn outcome(&self) -> Outcome {
        self.outcome.unwrap_or(match self.status.as_u16() {
            ..300 => Outcome::Ok,
            300..500 => Outcome::Refused,
            500.. => Outcome::Failed,
        })
    }
}

/// The reply to a page that may not call this path.
pub(super) fn origin_refused(headers: &mut HeaderMap) -> Answer {
    Answer::error(StatusCode::FORBIDDEN, "origin not allowed\n", headers)
}

/// Says when to try again; pages may read it too.
pub(super) fn set_retry_after(seconds: u32, headers: &mut HeaderMap) {
    headers.insert(RETRY_AFTER, seconds.into());
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Retry-After"));
}

/// The answer to a request without a call if its address has used up its units.
pub(super) fn rate_exceeded(exceeded: RateExceeded, headers: &mut HeaderMap) -> Answer {
    set_retry_after(exceeded.retry_after_s(), headers);
    Answer::error(StatusCode::TOO_MANY_REQUESTS, format!("{exceeded}\n"), headers)
}

/// The answer if the reply memory is used up.
pub(super) fn no_memory(error: MemoryError, headers: &mut HeaderMap) -> Answer {
    Answer::error(StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n"), headers)
}

/// The answer if too many requests are in flight.
pub(super) fn busy(headers: &mut HeaderMap) -> Answer {
    let text = "too many requests in flight\n";
    Answer::error(StatusCode::SERVICE_UNAVAILABLE, text, headers)
}
