//! Addresses of sources: `http://host:port`, `avalanchego+https://host:port`.

use std::fmt;
use std::str::FromStr;

use esker_primitives::excerpt;
use http::Uri;
use thiserror::Error;

/// The port of an address with `http` and without a port: that of the node's API.
const DEFAULT_PORT: u16 = 9650;
/// The port of an address with `https` and without a port.
const DEFAULT_TLS_PORT: u16 = 443;
/// The prefix of the addresses of AvalancheGo nodes.
const AVALANCHEGO: &str = "avalanchego+";

/// The kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A node of this program, with its stream of bundles.
    Esker,
    /// An AvalancheGo node, with its index API.
    AvalancheGo,
}

/// The address of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceUrl {
    /// The kind of the source.
    pub kind: SourceKind,
    /// Whether connections use TLS.
    pub is_tls: bool,
    /// A name or an address; an IPv6 address without its brackets.
    pub host: String,
    /// The port of its API.
    pub port: u16,
}

/// The reason why a text is not the address of a source.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{}: {reason}; expected http://HOST:PORT or https://HOST:PORT of an Esker node, with {AVALANCHEGO} before it for an AvalancheGo node",
    excerpt(.text)
)]
pub struct UrlError {
    text: String,
    reason: &'static str,
}

impl UrlError {
    /// The fault, without the expected form.
    pub const fn reason(&self) -> &'static str {
        self.reason
    }
}

impl SourceUrl {
    /// `host:port`, as in the header `Host`.
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

impl FromStr for SourceUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let fault = |reason| UrlError { text: text.to_owned(), reason };
        let (kind, plain) = match text.strip_prefix(AVALANCHEGO) {
            Some(rest) => (SourceKind::AvalancheGo, rest),
            None => (SourceKind::Esker, text),
        };
        let uri: Uri = plain.parse().map_err(|_| fault("not a URL"))?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(fault("not a URL with http:// or https://")),
        };
        let host = uri.host().unwrap_or_default();
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(fault("a path is not expected"));
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err(fault("a user name is not expected"));
        }
        let port = match (authority.len() == host.len(), is_tls) {
            (true, false) => DEFAULT_PORT,
            (true, true) => DEFAULT_TLS_PORT,
            (false, _) => {
                uri.port_u16().filter(|port| *port > 0).ok_or_else(|| fault("not a port"))?
            }
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(fault("no host"));
        }
        Ok(Self { kind, is_tls, host, port })
    }
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.kind {
            SourceKind::Esker => "",
            SourceKind::AvalancheGo => AVALANCHEGO,
        };
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{prefix}{scheme}://{}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, shown) in [
            ("http://writer:9650", "http://writer:9650"),
            ("http://writer", "http://writer:9650"),
            ("http://10.0.0.1:80/", "http://10.0.0.1:80"),
            ("http://[::1]:9651", "http://[::1]:9651"),
            ("http://[::1]", "http://[::1]:9650"),
            ("https://writer:9650", "https://writer:9650"),
            ("https://writer.example", "https://writer.example:443"),
            ("avalanchego+http://node:9650", "avalanchego+http://node:9650"),
            ("avalanchego+http://node.example/", "avalanchego+http://node.example:9650"),
            ("avalanchego+https://[::1]:1234", "avalanchego+https://[::1]:1234"),
        ] {
            let url: SourceUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(shown.parse(), Ok(url));
        }
        let url: SourceUrl = "avalanchego+https://[::1]".parse().unwrap();
        assert_eq!((url.kind, url.is_tls), (SourceKind::AvalancheGo, true));
        assert_eq!((url.host.as_str(), url.authority().as_str()), ("::1", "[::1]:443"));
    }

    #[test]
    fn other_texts() {
        for (text, reason) in [
            ("", "not a URL"),
            ("writer:9650", "not a URL with http://"),
            ("ftp://writer", "not a URL with http://"),
            ("avalanchego+avalanchego+http://writer", "not a URL with http://"),
            ("avalanchego+http:127.0.0.1", "not a URL"),
            ("http://", "not a URL"),
            ("http://writer/ext/bc/X", "a path is not expected"),
            ("http://writer?x=1", "a path is not expected"),
            ("http://user@writer", "a user name is not expected"),
            ("http://writer:99999", "not a port"),
            ("avalanchego+https://writer:0", "not a port"),
        ] {
            let error = text.parse::<SourceUrl>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
