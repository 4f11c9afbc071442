//! Connections to the nodes that this one follows: their addresses, and HTTP/1.1 over TCP or TLS.
//!
//! A [`Dialer`] opens connections to a [`SourceUrl`]. It knows no request; deadlines are the caller's.

mod dialer;
mod url;

pub use dialer::{Dialer, HttpConnection, RootsError};
pub use url::{SourceKind, SourceUrl, UrlError};
