//! Connections to other nodes, those that this one follows and those that commands ask: their addresses, and HTTP/1.1 over
//! TCP or TLS.
//!
//! A [`Dialer`] opens connections to a [`SourceUrl`]. It knows no request; deadlines are the caller's.

mod dialer;
mod url;

pub use dialer::{BlockingTls, Dialer, HttpConnection, RootsError};
pub use url::{SourceKind, SourceUrl, UrlError};
