//! Connections to other nodes, for followers and for commands: addresses, and HTTP/1.1 over TCP or TLS.
//!
//! A [`Dialer`] opens connections to a [`SourceUrl`]. [`HttpConnection::post_json`] sends a request and reads a reply of
//! limited length. Callers set deadlines.

mod dialer;
mod exchange;
mod url;

pub use dialer::{BlockingTls, Dialer, HttpConnection, RootsError};
pub use exchange::ExchangeError;
pub use url::{SourceKind, SourceUrl, UrlError};
