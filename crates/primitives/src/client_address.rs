//! The address of a client, for limits.

use std::net::{IpAddr, Ipv6Addr};

/// The address for which limits count a call: a whole IPv4 address, or the first half of an IPv6 address, since a
/// client can have any number of second halves. It is the connection's own address, or the one from a trusted proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddress(Option<IpAddr>);

impl ClientAddress {
    /// The address of a program inside the process, which has no connection.
    pub const IN_PROCESS: Self = Self(None);

    /// The address of the other end of a connection, if it has one.
    #[must_use]
    pub fn from_peer(peer: Option<IpAddr>) -> Self {
        Self(peer.map(|peer| match peer.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            v4 @ IpAddr::V4(_) => v4,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_half_of_an_ipv6_address_counts() {
        let of = |text: &str| ClientAddress::from_peer(Some(text.parse().unwrap()));
        assert_eq!(of("127.0.0.1"), of("::ffff:127.0.0.1"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("127.0.0.1"), of("127.0.0.2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(ClientAddress::from_peer(None), ClientAddress::IN_PROCESS);
    }
}
