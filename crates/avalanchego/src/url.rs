//! The address of a followed AvalancheGo node: `avalanchego+http://host:9650`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The scheme of the addresses.
pub const SCHEME: &str = "avalanchego+http";

/// The port of an address without one.
const DEFAULT_PORT: u16 = 9650;

/// Host and port of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceUrl {
    /// A name or an address; an IPv6 address without its brackets.
    pub host: String,
    /// The port of its HTTP server.
    pub port: u16,
}

/// Why a text is no address of a node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// Another scheme.
    #[error("expected {SCHEME}://HOST:PORT")]
    Scheme,
    /// TLS.
    #[error(
        "TLS is not supported: expected {SCHEME}://HOST:PORT, for example the end of a tunnel on this machine"
    )]
    Https,
    /// No host, no port, or more than both.
    #[error("expected {SCHEME}://HOST:PORT, without path, user and query")]
    Authority,
}

impl FromStr for SourceUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if text.starts_with("avalanchego+https://") {
            return Err(UrlError::Https);
        }
        let rest = text.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix("://"));
        let rest = rest.ok_or(UrlError::Scheme)?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let parsed: http::uri::Authority = authority.parse().map_err(|_| UrlError::Authority)?;
        let port = match authority.rsplit_once(':') {
            Some((before, port)) if !before.is_empty() && !port.ends_with(']') => {
                port.parse().map_err(|_| UrlError::Authority)?
            }
            _ => DEFAULT_PORT,
        };
        let host = parsed.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() || port == 0 || authority.contains('@') {
            return Err(UrlError::Authority);
        }
        Ok(Self { host, port })
    }
}

impl SourceUrl {
    /// `host:port`, as in the header `Host`.
    #[must_use]
    pub fn authority(&self) -> String {
        let Self { host, port } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}://{}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, shown) in [
            ("avalanchego+http://127.0.0.1:9650", "avalanchego+http://127.0.0.1:9650"),
            ("avalanchego+http://node.example/", "avalanchego+http://node.example:9650"),
            ("avalanchego+http://[::1]:1234", "avalanchego+http://[::1]:1234"),
            ("avalanchego+http://[::1]", "avalanchego+http://[::1]:9650"),
        ] {
            let parsed: SourceUrl = text.parse().unwrap();
            assert_eq!(parsed.to_string(), shown);
            assert_eq!(shown.parse(), Ok(parsed));
        }
        for (text, error) in [
            ("http://127.0.0.1:9650", UrlError::Scheme),
            ("avalanchego+http:127.0.0.1", UrlError::Scheme),
            ("avalanchego+https://host:9650", UrlError::Https),
            ("avalanchego+http://", UrlError::Authority),
            ("avalanchego+http://host:0", UrlError::Authority),
            ("avalanchego+http://host:70000", UrlError::Authority),
            ("avalanchego+http://host:1/ext", UrlError::Authority),
            ("avalanchego+http://user@host:1", UrlError::Authority),
        ] {
            assert_eq!(text.parse::<SourceUrl>(), Err(error), "{text}");
        }
    }
}
