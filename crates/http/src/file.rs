//! Files of a web page that the node has in memory, and which requests are for the page rather than for JSON-RPC.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::answer::{Answer, NOSNIFF};
use super::gzip;
use super::hosts::split_port;
use super::reply::ReplyBody;

/// What the page may load: its own files, and JSON-RPC of any node whose URL the user gives. No other page may frame it.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; connect-src 'self' http: https: ws: wss:; object-src 'none'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);

/// A file in memory. It is stored compressed, as most browsers take it.
#[derive(Clone, Debug)]
pub struct StaticFile {
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The content, compressed with gzip.
    pub gzip: Bytes,
    /// Length of the content in bytes.
    pub length: usize,
    /// A quoted text that changes with the content.
    pub etag: &'static str,
}

impl StaticFile {
    /// Answers `GET` and `HEAD`; 304 if the browser has this content.
    pub(super) fn answer(&self, parts: &Parts, headers: &mut HeaderMap) -> Answer {
        if parts.method != Method::GET && parts.method != Method::HEAD {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Answer::error(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n", headers);
        }
        headers.insert(ETAG, HeaderValue::from_static(self.etag));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(CONTENT_SECURITY_POLICY, POLICY);
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        if parts.headers.get_all(IF_NONE_MATCH).iter().any(|tags| self.is_named(tags)) {
            return Answer::new(StatusCode::NOT_MODIFIED, ReplyBody::empty());
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        if gzip::accepted(parts.headers.get(ACCEPT_ENCODING)) {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            return Answer::new(StatusCode::OK, ReplyBody::full(self.gzip.clone()));
        }
        match self.content() {
            Ok(content) => Answer::new(StatusCode::OK, ReplyBody::full(content)),
            Err(error) => {
                tracing::error!(%error, "a file of the page is damaged");
                let text = "internal server error\n";
                Answer::error(StatusCode::INTERNAL_SERVER_ERROR, text, headers)
            }
        }
    }

    /// Whether the header has this tag. Tags are compared weakly, as the protocol has it for `If-None-Match`.
    fn is_named(&self, tags: &HeaderValue) -> bool {
        let tags = tags.to_str().unwrap_or_default().split(',').map(str::trim);
        let mut tags = tags.map(|tag| tag.strip_prefix("W/").unwrap_or(tag));
        tags.any(|tag| tag == "*" || tag == self.etag)
    }

    fn content(&self) -> std::io::Result<Vec<u8>> {
        let mut content = Vec::with_capacity(self.length);
        GzDecoder::new(&*self.gzip).take(self.length as u64).read_to_end(&mut content)?;
        Ok(content)
    }
}

/// What a browser that opens a path gets in place of JSON-RPC.
#[derive(Clone, Debug)]
pub enum BrowserPage {
    /// A file.
    File(StaticFile),
    /// The page is at `/` of another port of the same host.
    OtherPort(u16),
}

impl BrowserPage {
    pub(super) fn answer(&self, host: &[u8], parts: &Parts, headers: &mut HeaderMap) -> Answer {
        headers.append(VARY, HeaderValue::from_static("Accept"));
        let port = match self {
            Self::File(file) => return file.answer(parts, headers),
            Self::OtherPort(port) => port,
        };
        let host = std::str::from_utf8(host).unwrap_or_default();
        if host.is_empty() {
            return Answer::error(StatusCode::NOT_FOUND, "404 page not found\n", headers);
        }
        // The scheme stays: all ports have TLS, or none has.
        let location = match split_port(host).unwrap_or(host).trim_matches(['[', ']']) {
            host if host.contains(':') => format!("//[{host}]:{port}/"),
            host => format!("//{host}:{port}/"),
        };
        match HeaderValue::try_from(location) {
            Ok(location) => {
                headers.insert(LOCATION, location);
                headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                Answer::new(StatusCode::TEMPORARY_REDIRECT, ReplyBody::empty())
            }
            Err(_) => Answer::error(StatusCode::NOT_FOUND, "404 page not found\n", headers),
        }
    }
}

/// Whether a browser opens this path as a page. Programs that ask for JSON, and load balancers, are none.
pub(super) fn is_navigation(parts: &Parts) -> bool {
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    let mut accepted = parts.headers.get_all(ACCEPT).iter();
    reads && accepted.any(|kinds| kinds.to_str().is_ok_and(|kinds| kinds.contains("text/html")))
}
