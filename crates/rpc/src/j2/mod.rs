//! The object dialect: `service.method`, one object of named arguments, no batches.

use crate::Service;

/// What the HTTP layer sends back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct J2Reply {
    /// HTTP status: 200, 405 or 415.
    pub status: u16,
    /// The `Content-Type` header; none with an empty answer.
    pub content_type: Option<&'static str>,
    /// Whether `X-Content-Type-Options: nosniff` is set: a method was invoked.
    pub nosniff: bool,
    /// The method is deprecated: the `Deprecation` header says so.
    pub deprecation: Option<DeprecationNote>,
    /// The body, with its closing newline where the reference writes one.
    pub body: Vec<u8>,
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
    #[must_use]
    pub fn header_value(&self) -> String {
        format!("{}.{} since {}", self.namespace, self.method, self.since)
    }
}

/// Answers one request of the object dialect. Any bytes have an answer.
pub async fn handle(
    service: &Service,
    http_method: &str,
    content_type: Option<&str>,
    body: &[u8],
) -> J2Reply {
    let _ = (service, http_method, content_type, body);
    J2Reply { status: 200, content_type: None, nosniff: false, deprecation: None, body: Vec::new() }
}
