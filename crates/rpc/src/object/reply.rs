//! Answers as the HTTP layer sends them.

use super::envelope::write_or_null;
use crate::error::RpcError;
use crate::work::{RateExceeded, ReplyBytes};
use esker_go_json::Document;

const JSON: &str = "application/json; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// The reply that the HTTP layer sends.
#[derive(Debug, PartialEq, Eq)]
pub struct ObjectReply {
    /// HTTP status: 200, 405, 415 or 429.
    pub status: u16,
    /// With status 429: the seconds of the `Retry-After` header.
    pub retry_after_s: Option<u32>,
    /// The `Content-Type` header; none with an empty answer.
    pub content_type: Option<&'static str>,
    /// Whether `X-Content-Type-Options: nosniff` is set: a method was invoked.
    pub nosniff: bool,
    /// The method is deprecated: the `Deprecation` header says so.
    pub deprecation: Option<DeprecationNote>,
    /// The body, with its closing newline where the reference writes one.
    pub body: ReplyBytes,
}

/// Which method is deprecated, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeprecationNote {
    /// The canonical namespace.
    pub namespace: &'static str,
    /// The canonical name, without the namespace.
    pub method: &'static str,
    /// The release of the reference in which it became deprecated, such as `v1.9.12`.
    pub since: &'static str,
}

impl DeprecationNote {
    /// The value of the `Deprecation` header.
    ///
    /// ```
    /// let note = esker_rpc::object::DeprecationNote {
    ///     namespace: "xvm",
    ///     method: "getBalance",
    ///     since: "v1.9.12",
    /// };
    /// assert_eq!(note.header_value(), "xvm.getBalance since v1.9.12");
    /// ```
    #[must_use]
    pub fn header_value(&self) -> String {
        format!("{}.{} since {}", self.namespace, self.method, self.since)
    }
}

impl ObjectReply {
    /// The answer to a notification.
    pub(super) fn empty() -> Self {
        Self::new(200, None, ReplyBytes::default())
    }

    /// An answer outside JSON-RPC.
    pub(super) fn text(status: u16, text: String) -> Self {
        Self::new(status, Some(TEXT), text.into_bytes().into())
    }

    fn json(body: ReplyBytes) -> Self {
        Self::new(200, Some(JSON), body)
    }

    fn new(status: u16, content_type: Option<&'static str>, body: ReplyBytes) -> Self {
        Self { status, retry_after_s: None, content_type, nosniff: false, deprecation: None, body }
    }
}

/// A buffer that ends where a method appends its result.
pub(super) fn start_result() -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"result\":");
    out
}

/// Completes the buffer to which a method has appended its result.
pub(super) fn result(mut out: ReplyBytes, id: Document<'_>) -> ObjectReply {
    end(out.tail(), Some(id));
    ObjectReply::json(out)
}

/// An error of a service.
pub(super) fn rpc_error(error: &RpcError, id: Option<Document<'_>>) -> ObjectReply {
    let data = error.data.as_ref().and_then(|data| esker_go_json::to_go_vec(data).ok());
    self::error(error.code, &error.message, data.as_deref(), id)
}

/// The error of an address that has used its units. It is not silent for notifications: the client has to know.
pub(super) fn rate_exceeded(exceeded: RateExceeded, id: Option<Document<'_>>) -> ObjectReply {
    let retry_after_s = Some(exceeded.retry_after_s());
    ObjectReply { status: 429, retry_after_s, ..rpc_error(&exceeded.into(), id) }
}

/// An error with its data as JSON.
pub(super) fn error(
    code: i64,
    message: &str,
    data: Option<&[u8]>,
    id: Option<Document<'_>>,
) -> ObjectReply {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":");
    out.extend_from_slice(code.to_string().as_bytes());
    out.extend_from_slice(b",\"message\":");
    esker_go_json::write_str(message, &mut out);
    out.extend_from_slice(b",\"data\":");
    out.extend_from_slice(data.unwrap_or(b"null"));
    out.push(b'}');
    end(&mut out, id);
    ObjectReply::json(out.into())
}

fn end(out: &mut Vec<u8>, id: Option<Document<'_>>) {
    out.extend_from_slice(b",\"id\":");
    write_or_null(id, out);
    out.extend_from_slice(b"}\n");
}
