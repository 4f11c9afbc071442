//! Addresses of validators in a network file.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use thiserror::Error;

/// Most bytes of a host name, and of a part of it between dots (RFC 1035, section 2.3.4).
const MAX_HOST: usize = 253;
const MAX_LABEL: usize = 63;

/// A text that is not an address of a validator.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no address: HOST:PORT is needed, with a port above 0")]
pub struct AddressError(String);

/// The address at which a validator's peers reach it: `host:port`, with an IP address or a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidatorAddress {
    /// An IP address and a port.
    Socket(SocketAddr),
    /// A name of the DNS and a port.
    Name(HostName, u16),
}

/// A name of the DNS: letters, digits and hyphens, with dots between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ValidatorAddress {
    /// The IP address and port, unless the host is a name.
    #[must_use]
    pub fn socket(&self) -> Option<SocketAddr> {
        match self {
            Self::Socket(address) => Some(*address),
            Self::Name(..) => None,
        }
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        match self {
            Self::Socket(address) => address.port(),
            Self::Name(_, port) => *port,
        }
    }
}

impl FromStr for ValidatorAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError(text.to_owned());
        let address = if let Ok(address) = text.parse::<SocketAddr>() {
            Self::Socket(address)
        } else {
            let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
            if !is_host_name(host) {
                return Err(wrong());
            }
            Self::Name(HostName(host.to_owned()), port.parse().map_err(|_| wrong())?)
        };
        match address.port() {
            0 => Err(wrong()),
            _ => Ok(address),
        }
    }
}

impl fmt::Display for ValidatorAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(address) => write!(f, "{address}"),
            Self::Name(host, port) => write!(f, "{}:{port}", host.0),
        }
    }
}

/// Whether a text is a name of the DNS (RFC 1123, section 2.1).
fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= MAX_HOST && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_hosts_with_a_port() {
        for text in ["127.0.0.1:9700", "[::1]:9700", "one.example.org:9700", "localhost:1"] {
            let address: ValidatorAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
        }
        let (label, long) = ("a".repeat(64), ["a"; 128].join("."));
        let (label, long) = (format!("{label}:1"), format!("{long}:1"));
        for text in [
            "",
            "127.0.0.1",
            "127.0.0.1:0",
            "host:",
            "host:70000",
            "a b:1",
            ":1",
            "::1",
            "a..b:1",
            "-a:1",
            "a-:1",
            ".:1",
            &label,
            &long,
        ] {
            let parsed = text.parse::<ValidatorAddress>();
            assert!(parsed.is_err(), "{text}: {parsed:?}");
        }
        assert!(label[1..].parse::<ValidatorAddress>().is_ok(), "63 bytes between dots");
        assert!(long[2..].parse::<ValidatorAddress>().is_ok(), "253 bytes");
    }
}
