//! The header with a client's address, and the proxies that may set it.

use std::net::Ipv6Addr;

use esker_http::ClientAddressHeader;
use ipnet::{IpNet, Ipv6Net};

use super::Settings;

/// A header whose form is another: `for=192.0.2.60;proto=http`.
const FORWARDED: &str = "forwarded";

/// Length of the prefix that all IPv6 addresses of the internet have, 2000::/3.
const INTERNET_PREFIX: u8 = 3;

/// Whether ranges together have at least half of all IPv4 addresses, or half of the IPv6 addresses of the internet.
/// No set of proxies is that large.
fn are_for_everyone(ranges: &[IpNet]) -> bool {
    let internet = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);
    let internet = Ipv6Net::new_assert(internet, INTERNET_PREFIX);
    // In 2^-64 of all addresses. No two ranges overlap, so the sum is at most one.
    let part = |prefix_len: u8| 1_u128 << 64 >> prefix_len.min(64);
    let (mut v4, mut v6) = (0, 0);
    for range in IpNet::aggregate(&ranges.to_vec()) {
        match range {
            IpNet::V4(range) => v4 += part(range.prefix_len()),
            IpNet::V6(range) if range.contains(&internet) => v6 += part(0),
            IpNet::V6(range) if internet.contains(&range) => {
                v6 += part(range.prefix_len() - INTERNET_PREFIX);
            }
            IpNet::V6(_) => {}
        }
    }
    v4.max(v6) >= part(1)
}

/// The header and its proxies; `None`: the client's address is that of its connection.
///
/// The error names the setting at fault.
pub(super) fn header(
    settings: &Settings,
) -> Result<Option<ClientAddressHeader>, (&'static str, String)> {
    let name = settings.http_client_address_header.as_str();
    let proxies = settings.http_trusted_proxies.0.clone();
    if name.is_empty() && proxies.is_empty() {
        return Ok(None);
    }
    let fault = |reason: &str| Err(("http-client-address-header", reason.to_owned()));
    if name.is_empty() {
        let reason = "http-client-address-header has to name the header that they send, such as X-Forwarded-For";
        return Err(("http-trusted-proxies", reason.to_owned()));
    }
    if proxies.is_empty() {
        return fault("only proxies that http-trusted-proxies names are believed: set it too");
    }
    if are_for_everyone(&proxies) {
        let reason = "these ranges together have half of all IPv4 or IPv6 addresses or more, and clients there could \
                      invent their own: name the proxies alone";
        return Err(("http-trusted-proxies", reason.to_owned()));
    }
    if name.eq_ignore_ascii_case(FORWARDED) {
        return fault("Forwarded is not read: let the proxy send X-Forwarded-For or X-Real-IP");
    }
    match name.parse() {
        Ok(name) => Ok(Some(ClientAddressHeader { name, proxies })),
        Err(_) => fault("expected the name of a header, such as X-Forwarded-For"),
    }
}

/// Refuses one of the two settings without the other.
pub(super) fn check(settings: &Settings) -> Result<(), (&'static str, String)> {
    header(settings).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_together_are_everyone() {
        let check = |list: &str, expected: bool| {
            let ranges: Vec<IpNet> = list.split(',').map(|range| range.parse().unwrap()).collect();
            assert_eq!(are_for_everyone(&ranges), expected, "{list}");
        };
        for list in [
            "0.0.0.0/0",
            "::/0",
            "0.0.0.0/1,128.0.0.0/1",
            "128.0.0.0/1,10.0.0.0/8,0.0.0.0/1",
            "0.0.0.0/1",
            "64.0.0.0/2,128.0.0.0/2",
            "0.0.0.0/2,64.0.0.0/3,96.0.0.0/4,112.0.0.0/5,120.0.0.0/5",
            "::/1,8000::/1",
            "2000::/3",
            "2000::/4,3000::/4",
            "2000::/4",
        ] {
            check(list, true);
        }
        for list in [
            "127.0.0.1/32,::1/128",
            "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7,fe80::/10",
            "64.0.0.0/2",
            "64.0.0.0/2,64.0.0.0/2,64.0.0.0/3",
            "64.0.0.0/2,128.0.0.0/3,160.0.0.0/4,176.0.0.0/5,184.0.0.0/6,188.0.0.0/7",
            "8000::/1",
            "2000::/5,3000::/6",
            "2400:cb00::/32,2606:4700::/32",
        ] {
            check(list, false);
        }
        let hosts = (0..=u8::MAX).map(|n| format!("192.0.2.{n}/32")).collect::<Vec<_>>();
        check(&hosts.join(","), false);
    }
}
