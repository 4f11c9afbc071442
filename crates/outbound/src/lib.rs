//! Connections to other nodes, for followers and for commands: addresses, and HTTP/1.1 over TCP or TLS.
//!
//! A [`Dialer`] opens connections to a [`SourceUrl`]. Callers build requests and set deadlines.

mod dialer;
mod url;

pub use dialer::{BlockingTls, Dialer, HttpConnection, RootsError};
pub use url::{SourceKind, SourceUrl, UrlError};
