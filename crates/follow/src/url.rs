//! Addresses of sources: `http://host:port`, `avalanchego+http://host:port`.

use std::fmt;
use std::str::FromStr;

use esker_primitives::excerpt;
use http::Uri;
use thiserror::Error;

/// The port of a URL without one: that of the node's API.
const DEFAULT_PORT: u16 = 9650;

/// What a source is.
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
    /// What the source is.
    pub kind: SourceKind,
    /// Host name or address; an IPv6 address in brackets.
    pub host: String,
    /// Port of its API.
    pub port: u16,
}

/// Why a text is not the address of a source.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}: {reason}; expected http://HOST:PORT of an Esker node, or avalanchego+http://HOST:PORT", excerpt(.text))]
pub struct UrlError {
    text: String,
    reason: &'static str,
}

impl SourceUrl {
    /// `host:port`.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl FromStr for SourceUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let fault = |reason| UrlError { text: text.to_owned(), reason };
        let (kind, plain) = match text.strip_prefix("avalanchego+") {
            Some(rest) => (SourceKind::AvalancheGo, rest),
            None => (SourceKind::Esker, text),
        };
        if plain.starts_with("https://") {
            return Err(fault("a source is followed over http; put a tunnel or a proxy between"));
        }
        let uri: Uri = plain.parse().map_err(|_| fault("not a URL"))?;
        if uri.scheme_str() != Some("http") {
            return Err(fault("not a URL with http://"));
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| fault("no host"))?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(fault("a path is not expected"));
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err(fault("a user name is not expected"));
        }
        let port = match authority.len() == host.len() {
            true => DEFAULT_PORT,
            false => uri.port_u16().ok_or_else(|| fault("not a port"))?,
        };
        Ok(Self { kind, host: host.to_owned(), port })
    }
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.kind {
            SourceKind::Esker => "",
            SourceKind::AvalancheGo => "avalanchego+",
        };
        write!(f, "{prefix}http://{}:{}", self.host, self.port)
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
            ("http://[::1]:9650", "http://[::1]:9650"),
            ("avalanchego+http://node:9650", "avalanchego+http://node:9650"),
        ] {
            assert_eq!(text.parse::<SourceUrl>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn other_texts() {
        for (text, reason) in [
            ("", "not a URL"),
            ("writer:9650", "not a URL with http://"),
            ("ftp://writer", "not a URL with http://"),
            ("https://writer", "followed over http"),
            ("http://", "not a URL"),
            ("http://writer/ext/bc/X", "a path is not expected"),
            ("http://writer?x=1", "a path is not expected"),
            ("http://user@writer", "a user name is not expected"),
            ("http://writer:99999", "not a port"),
        ] {
            let error = text.parse::<SourceUrl>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
