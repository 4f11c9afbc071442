//! The host names that requests may have. Requests of other sites whose names resolve to this machine are refused
//! (DNS rebinding).

use std::collections::HashSet;
use std::net::IpAddr;

/// The allowed names.
#[derive(Debug)]
pub(super) struct Hosts {
    any: bool,
    /// Lower case.
    names: HashSet<String>,
}

impl Hosts {
    pub(super) fn new(allowed: &[String]) -> Self {
        Self {
            any: allowed.iter().any(|name| name == "*"),
            names: allowed.iter().map(|name| name.to_lowercase()).collect(),
        }
    }

    /// Whether a request with this `Host` is served. Empty hosts and IP addresses are.
    pub(super) fn allow(&self, host: &[u8]) -> bool {
        if self.any || host.is_empty() {
            return true;
        }
        let Ok(host) = std::str::from_utf8(host) else { return false };
        let name = split_port(host).unwrap_or(host);
        // The most frequent case first, without allocation: browsers and clients send lower case.
        self.names.contains(name)
            || name.parse::<IpAddr>().is_ok()
            || self.names.contains(&name.to_lowercase())
    }
}

/// The host before the port, by the rules of Go's `net.SplitHostPort`; `None` where there is no port.
fn split_port(text: &str) -> Option<&str> {
    let colon = text.rfind(':')?;
    if let Some(rest) = text.strip_prefix('[') {
        let end = rest.find(']')?;
        let host = &rest[..end];
        // The bracket and the last colon must be adjacent.
        return (end + 2 == colon && !host.contains('[') && !rest[end + 1..].contains(['[', ']']))
            .then_some(host);
    }
    let host = &text[..colon];
    (!host.contains(':') && !text.contains(['[', ']'])).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(list: &[&str], host: &str, allowed: bool) {
        let list: Vec<_> = list.iter().map(ToString::to_string).collect();
        assert_eq!(Hosts::new(&list).allow(host.as_bytes()), allowed, "{host} in {list:?}");
    }

    #[test]
    fn the_default_list() {
        for host in [
            "",
            "localhost",
            "LocalHost",
            "localhost:9650",
            "localhost:",
            "localhost:x",
            "127.0.0.1",
            "127.0.0.1:9650",
            "10.1.2.3",
            "::1",
            "[::1]:9650",
            "[::1]:",
            "fe80::1",
        ] {
            check(&["localhost"], host, true);
        }
        for host in [
            "[::1]",
            "example.com",
            "localhost.",
            "x:y:z",
            "[localhost",
            "[127.0.0.1]x:1",
            "]:1",
            "127.0.0.1.example.com",
            "1.2.3",
            "localhost:1:2",
            "[fe80::1%eth0]:1",
            " ",
        ] {
            check(&["localhost"], host, false);
        }
    }

    #[test]
    fn a_list() {
        let list = ["example.com", "Api.Example.org"];
        for host in ["example.com", "Example.COM:80", "api.example.org", "API.EXAMPLE.ORG:9650"] {
            check(&list, host, true);
        }
        for host in ["localhost", "www.example.com", "example.org"] {
            check(&list, host, false);
        }
    }

    #[test]
    fn any() {
        for host in ["example.com", "x:y:z", "[::1]"] {
            check(&["localhost", "*"], host, true);
        }
        assert!(Hosts::new(&["*".to_owned()]).allow(b"\xff"));
        assert!(!Hosts::new(&["localhost".to_owned()]).allow(b"\xff"));
    }
}
