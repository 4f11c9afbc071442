//! Local origins: is an `Origin` header that of a page of this machine?

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether an origin is local: `http` or `https`, `localhost` or a loopback address, any port.
///
/// Only the form that browsers send is local. `null` is the origin of all sandboxed pages, and a name server resolves
/// other names (`x.localhost`, `localhost.`), so these are not local.
pub(super) fn is_local(origin: &[u8]) -> bool {
    let Ok(origin) = std::str::from_utf8(origin) else { return false };
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return false;
    }
    let host = match authority.rsplit_once(':') {
        // A colon within brackets is a part of the address.
        Some((host, port)) if !port.ends_with(']') => {
            if !is_port(port) {
                return false;
            }
            host
        }
        _ => authority,
    };
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
    }
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_this_machine() {
        for origin in [
            "http://localhost",
            "https://localhost",
            "http://localhost:3000",
            "HTTP://LocalHost:65535",
            "http://127.0.0.1",
            "http://127.0.0.1:8545",
            "https://127.255.0.9:1",
            "http://[::1]",
            "http://[::1]:3000",
            "http://[::ffff:7f00:1]:3000",
        ] {
            assert!(is_local(origin.as_bytes()), "{origin}");
        }
    }

    #[test]
    fn other_pages() {
        for origin in [
            "",
            "null",
            "localhost",
            "//localhost",
            "file://",
            "ftp://localhost",
            "chrome-extension://localhost",
            "http://localhost.",
            "http://localhost.:80",
            "http://x.localhost",
            "http://localhost.evil.example",
            "http://localhost@evil.example",
            "http://evil.example@localhost",
            "http://evil.example:80@localhost",
            "http://localhost:80:80",
            "http://localhost:",
            "http://localhost:+1",
            "http://localhost:65536",
            "http://localhost/",
            "http://localhost:80/x",
            "http://localhost evil",
            "http:// localhost",
            " http://localhost",
            "http://localhost,http://evil.example",
            "http://0.0.0.0",
            "http://128.0.0.1",
            "http://127.0.0.1.evil.example",
            "http://127.1",
            "http://0x7f000001",
            "http://[::]",
            "http://[::2]",
            "http://[::1",
            "http://::1",
            "http://::1]",
            "http://[::1]x:80",
            "http://[[::1]]",
            "http://[localhost]",
            "http://[127.0.0.1]",
            "http://192.168.0.1",
        ] {
            assert!(!is_local(origin.as_bytes()), "{origin}");
        }
        assert!(!is_local(b"http://localhost\xff"));
    }
}
