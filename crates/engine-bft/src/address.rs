//! Addresses of validators in a network file.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

use commonware_p2p::{Address, Ingress};
use commonware_utils::Hostname;
use thiserror::Error;

/// A text is no address of a validator.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no address: HOST:PORT is needed, with a port above 0")]
pub struct AddressError(String);

/// Where a validator's peers reach it: `host:port`, with an IP address or a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatorAddress(Ingress);

impl ValidatorAddress {
    /// The IP address and port, unless the host is a name.
    #[must_use]
    pub fn socket(&self) -> Option<SocketAddr> {
        match self.0 {
            Ingress::Socket(address) => Some(address),
            Ingress::Dns { .. } => None,
        }
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.port()
    }

    pub(crate) fn library(&self) -> Address {
        // Peers prove their key: the address that they connect from does not count.
        let egress = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        match &self.0 {
            Ingress::Socket(address) => Address::Symmetric(*address),
            ingress @ Ingress::Dns { .. } => {
                Address::Asymmetric { ingress: ingress.clone(), egress }
            }
        }
    }
}

impl FromStr for ValidatorAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError(text.to_owned());
        let ingress = if let Ok(address) = text.parse::<SocketAddr>() {
            Ingress::Socket(address)
        } else {
            let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
            let host = Hostname::new(host).map_err(|_| wrong())?;
            Ingress::Dns { host, port: port.parse().map_err(|_| wrong())? }
        };
        if ingress.port() == 0 {
            return Err(wrong());
        }
        Ok(Self(ingress))
    }
}

impl fmt::Display for ValidatorAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ingress::Socket(address) => write!(f, "{address}"),
            Ingress::Dns { host, port } => write!(f, "{host}:{port}"),
        }
    }
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
        for text in ["", "127.0.0.1", "127.0.0.1:0", "host:", "host:70000", "a b:1", ":1", "::1"] {
            let parsed = text.parse::<ValidatorAddress>();
            assert!(parsed.is_err(), "{text}: {parsed:?}");
        }
    }
}
