//! The host names that requests may have. Requests of other sites whose names resolve to this machine are refused
//! (DNS rebinding; docs/security.md, "Host names").

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_primitives::excerpt;

/// The entry of the list for all private names: those that no public name server has an answer for.
pub const PRIVATE_HOSTS: &str = "private";

/// Endings of private names: reserved for machines, local networks and tests (RFC 6761, 6762, 8375; `internal` by ICANN).
/// Docker's `host.docker.internal` and the services of Kubernetes (`cluster.local`) are among them.
const PRIVATE_ENDINGS: [&str; 5] = [".internal", ".local", ".localhost", ".test", ".home.arpa"];

/// Most bytes of a name, and of a part between dots.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// The allowed names.
#[derive(Debug)]
pub(super) struct Hosts {
    any: bool,
    private: bool,
    /// Lower case.
    names: HashSet<String>,
    was_logged: AtomicBool,
}

impl Hosts {
    pub(super) fn new(allowed: &[String]) -> Self {
        let names: HashSet<_> = allowed.iter().map(|name| name.to_lowercase()).collect();
        Self {
            any: names.contains("*"),
            private: names.contains(PRIVATE_HOSTS),
            names,
            was_logged: AtomicBool::new(false),
        }
    }

    /// Whether a request with this `Host` is served. Empty hosts and IP addresses are.
    ///
    /// `origins` has the request's `Origin` headers. A page whose own address is a private name is never served under
    /// that name: it may have come from elsewhere, before the name was rebound to the node. The node's own page needs its
    /// name in the list.
    pub(super) fn allow<'a>(
        &self,
        host: &[u8],
        mut origins: impl Iterator<Item = &'a [u8]>,
    ) -> bool {
        if self.any || host.is_empty() {
            return true;
        }
        let Ok(host) = std::str::from_utf8(host) else { return false };
        let name = split_port(host).unwrap_or(host);
        // The most frequent case first, without allocation: browsers and clients send lower case.
        self.names.contains(name)
            || name.parse::<IpAddr>().is_ok()
            || self.names.contains(&name.to_lowercase())
            || (self.private && is_private(name) && !origins.any(|origin| is_page_of(origin, host)))
    }

    /// Logs, for the first request that is refused, which setting decides.
    pub(super) fn log_refused(&self, host: &[u8]) {
        if !self.was_logged.swap(true, Ordering::Relaxed) {
            let host = String::from_utf8_lossy(host);
            tracing::warn!(
                host = %excerpt(&host),
                "refused a request with this Host: list its name in http-allowed-hosts if it is one of this node"
            );
        }
    }
}

/// Whether a name is one that public name servers have no answer for, by its form: a part without a dot, as services of
/// Compose and machines of a local network are called, or one with an ending that is reserved.
fn is_private(name: &str) -> bool {
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        (1..=MAX_LABEL).contains(&bytes.len())
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
    };
    if name.len() > MAX_NAME || !name.split('.').all(is_label) {
        return false;
    }
    if !name.contains('.') {
        // Digits alone are an address in an old form.
        return !name.bytes().all(|byte| byte.is_ascii_digit());
    }
    let ends_with = |ending: &&str| {
        let start = name.len().checked_sub(ending.len());
        start.is_some_and(|start| name.as_bytes()[start..].eq_ignore_ascii_case(ending.as_bytes()))
    };
    PRIVATE_ENDINGS.iter().any(ends_with)
}

/// Whether the origin is that of a page at this host and port.
fn is_page_of(origin: &[u8], host: &str) -> bool {
    let authority = origin.windows(3).position(|part| part == b"://").map(|at| &origin[at + 3..]);
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host.as_bytes()))
}

/// The host before the port, by the rules of Go's `net.SplitHostPort`; `None` where there is no port.
pub(super) fn split_port(text: &str) -> Option<&str> {
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
        let hosts = Hosts::new(&list);
        assert_eq!(hosts.allow(host.as_bytes(), [].into_iter()), allowed, "{host} in {list:?}");
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
        assert!(Hosts::new(&["*".to_owned()]).allow(b"\xff", [].into_iter()));
        assert!(!Hosts::new(&["localhost".to_owned()]).allow(b"\xff", [].into_iter()));
    }

    #[test]
    fn private_names() {
        let list = ["localhost", "private", "api.example.org"];
        for host in [
            "host.docker.internal:8545",
            "Host.Docker.Internal",
            "host.containers.internal",
            "metadata.google.internal",
            "esker",
            "esker:8545",
            "my_project-esker-1:9650",
            "laptop.local",
            "esker.default.svc.cluster.local:8545",
            "app.localhost:8545",
            "node.test",
            "router.home.arpa",
            "localhost",
            "api.example.org",
            "10.0.0.1",
            "",
        ] {
            check(&list, host, true);
        }
        for host in [
            "example.com",
            "rebind.example.com:8545",
            "127.0.0.1.nip.io",
            "localtest.me",
            "lvh.me:8545",
            "docker.internal.example.com",
            "internal.example",
            "evil-internal.com",
            "notlocal.xn--local-abc",
            "home.arpa.example",
            "ip6.arpa",
            "x.arpa",
            "esker.",
            "laptop.local.",
            ".local",
            "..local",
            "a..local",
            ".",
            "2130706433",
            "evil.com#.local",
            "evil.com/.local",
            "evil.com@x.local",
            "evil com.local",
            "x.local\0",
            "b\u{fc}cher",
            "\u{ff4c}ocal",
            "esker:1:2",
        ] {
            check(&list, host, false);
        }
        check(&list, &"a".repeat(63), true);
        check(&list, &"a".repeat(64), false);
        let long = |labels: usize| format!("{}local", "abc.".repeat(labels));
        check(&list, &long(62), true);
        check(&list, &long(63), false);
        // Without the entry, private names are treated like others.
        for host in ["esker", "host.docker.internal", "private"] {
            check(&["localhost"], host, false);
        }
    }

    #[test]
    fn no_page_reaches_the_node_under_its_own_private_name() {
        let allow = |list: &[&str], host: &str, origins: &[&str]| {
            let list: Vec<_> = list.iter().map(ToString::to_string).collect();
            Hosts::new(&list).allow(host.as_bytes(), origins.iter().map(|text| text.as_bytes()))
        };
        for (host, origins, allowed) in [
            ("esker:8545", &[][..], true),
            ("esker:8545", &["http://app:3000"], true),
            ("esker:8545", &["http://localhost:3000"], true),
            ("esker:8545", &["https://evil.example"], true),
            ("esker:8545", &["null"], true),
            ("laptop.local:8545", &["http://laptop.local:5173"], true),
            ("esker:8545", &["http://esker:8545"], false),
            ("Esker:8545", &["HTTP://ESKER:8545"], false),
            ("esker", &["https://esker"], false),
            ("x.local:8545", &["http://app:3000", "http://x.local:8545"], false),
            // Listed names, and addresses, which can't be rebound.
            ("localhost:8545", &["http://localhost:8545"], true),
            ("127.0.0.1:8545", &["http://127.0.0.1:8545"], true),
        ] {
            let found = allow(&["localhost", "private"], host, origins);
            assert_eq!(found, allowed, "{host} {origins:?}");
        }
        assert!(allow(&["private", "esker"], "esker:8545", &["http://esker:8545"]));
        assert!(allow(&["*"], "esker:8545", &["http://esker:8545"]));
    }
}
