//! The client's address where a trusted proxy names it in a header.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

/// A header with the address of the client, and the trusted proxies. From other peers the header is ignored.
///
/// The header is a list to which each proxy appends the address of its own client, as `X-Forwarded-For`, or a single
/// address, as `X-Real-IP`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAddressHeader {
    /// The header.
    pub name: HeaderName,
    /// The proxies.
    pub proxies: Vec<IpNet>,
}

/// The address of a request's client, as an extension of requests to [`super::Endpoint::Axum`]; `None` without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub Option<IpAddr>);

impl ClientAddressHeader {
    /// The address of the client for which this peer sent the request; `None`: the peer is the client.
    pub(super) fn client_of(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.trusts(peer?) {
            return None;
        }
        let lists = headers.get_all(&self.name).iter().collect::<Vec<_>>();
        let mut nearest_first =
            lists.into_iter().rev().flat_map(|list| list.as_bytes().rsplit(|byte| *byte == b','));
        let mut farthest = None;
        // Entries to the left of the first untrusted address may be forged.
        loop {
            let Some(entry) = nearest_first.next() else { return farthest };
            let address = parse(entry)?;
            if !self.trusts(address) {
                return Some(address);
            }
            farthest = Some(address);
        }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.proxies.iter().any(|range| range.contains(&address))
    }
}

/// An entry: an address, with or without a port, an IPv6 address with or without brackets.
fn parse(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok().or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    /// The client's address for a request with these header lines, from this peer.
    fn client(peer: &str, lines: &[&str]) -> Option<String> {
        let name = HeaderName::from_static("x-forwarded-for");
        let proxies = ["127.0.0.1/32", "10.0.0.0/8", "2001:db8::/32"];
        let proxies = proxies.map(|range| range.parse().unwrap()).to_vec();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(&name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        let header = ClientAddressHeader { name, proxies };
        header.client_of(Some(peer.parse().unwrap()), &headers).map(|address| address.to_string())
    }

    #[test]
    fn a_trusted_proxy_names_the_client() {
        for (lines, expected) in [
            (&["192.0.2.1"][..], "192.0.2.1"),
            (&[" 192.0.2.1 "], "192.0.2.1"),
            (&["192.0.2.1:4711"], "192.0.2.1"),
            (&["::ffff:192.0.2.1"], "192.0.2.1"),
            (&["2001:ffff::1"], "2001:ffff::1"),
            (&["[2001:ffff::1]"], "2001:ffff::1"),
            (&["[2001:ffff::1]:80"], "2001:ffff::1"),
            // The client itself sent the entries on the left.
            (&["198.51.100.7, 192.0.2.1"], "192.0.2.1"),
            (&["garbage, 192.0.2.1"], "192.0.2.1"),
            (&["198.51.100.7", "192.0.2.1"], "192.0.2.1"),
            // Proxies behind each other.
            (&["192.0.2.1, 10.1.2.3, 2001:db8::9"], "192.0.2.1"),
            (&["192.0.2.1", "10.1.2.3"], "192.0.2.1"),
            // A client whose own address is in a trusted range.
            (&["10.9.9.9, 10.1.2.3"], "10.9.9.9"),
        ] {
            assert_eq!(client("127.0.0.1", lines).as_deref(), Some(expected), "{lines:?}");
            assert_eq!(client("::ffff:10.0.0.1", lines).as_deref(), Some(expected), "{lines:?}");
        }
    }

    #[test]
    fn otherwise_the_peer_is_the_client() {
        for lines in [
            &[][..],
            &[""],
            &["unknown"],
            &["192.0.2.1, garbage"],
            &["192.0.2.1,"],
            &["for=192.0.2.1"],
            &["192.0.2.1 198.51.100.7"],
            &["192.0.2.1/32"],
        ] {
            assert_eq!(client("127.0.0.1", lines), None, "{lines:?}");
        }
        assert_eq!(client("192.0.2.9", &["192.0.2.1"]), None, "not a trusted proxy");
        assert_eq!(client("2001:db9::1", &["192.0.2.1"]), None, "not a trusted proxy");
    }

    proptest! {
        #[test]
        fn the_nearest_address_that_is_not_trusted_counts(
            chain in prop::collection::vec((any::<bool>(), any::<u8>()), 1..6),
            invented in "[ -~]{0,40}",
            lines in 1_usize..4,
        ) {
            let address = |(is_proxy, n): &(bool, u8)| match is_proxy {
                true => format!("10.0.0.{n}"),
                false => format!("192.0.2.{n}"),
            };
            let addresses: Vec<_> = chain.iter().map(address).collect();
            let client_at = chain.iter().rposition(|(is_proxy, _)| !is_proxy);
            let expected = addresses[client_at.unwrap_or(0)].clone();
            // The list may be split into header lines anywhere.
            let mut cut: Vec<_> =
                addresses.chunks(addresses.len().div_ceil(lines)).map(|part| part.join(",")).collect();
            if client_at.is_some() {
                cut.insert(0, invented);
            }
            let lines: Vec<_> = cut.iter().map(String::as_str).collect();
            prop_assert_eq!(client("127.0.0.1", &lines), Some(expected));
        }

        #[test]
        fn any_header_is_read(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let name = HeaderName::from_static("x-real-ip");
            let header = ClientAddressHeader {
                name: name.clone(),
                proxies: vec!["127.0.0.1/32".parse().unwrap()],
            };
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let headers = HeaderMap::from_iter([(name, value)]);
                let peer = "127.0.0.1".parse().ok();
                let found = header.client_of(peer, &headers);
                prop_assert!(found.is_none_or(|found| found.to_canonical() == found));
            }
        }
    }

    #[test]
    fn a_peer_without_an_address_is_not_trusted() {
        let header = ClientAddressHeader {
            name: HeaderName::from_static("x-real-ip"),
            proxies: vec!["0.0.0.0/0".parse().unwrap()],
        };
        let headers = [(header.name.clone(), HeaderValue::from_static("192.0.2.1"))];
        assert_eq!(header.client_of(None, &headers.into_iter().collect()), None);
    }
}
