//! The address of a running node, as commands take it: `http://HOST:PORT`.

use std::net::{SocketAddr, ToSocketAddrs as _};

/// The address of a URL. `over_https` says what to do about a node with TLS. The error is the reason.
pub(crate) fn address(url: &str, over_https: &str) -> Result<SocketAddr, String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("expected http://HOST:PORT; {over_https}"))?;
    let host = rest.trim_end_matches('/');
    let mut found = host.to_socket_addrs().map_err(|error| error.to_string())?;
    found.next().ok_or_else(|| "the name has no address".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_nodes() {
        for url in ["http://127.0.0.1:9650", "http://127.0.0.1:9650/", "http://[::1]:9650"] {
            assert_eq!(address(url, "").unwrap().port(), 9650, "{url}");
        }
        for (url, reason) in [
            ("https://127.0.0.1:9650", "expected http://HOST:PORT; use curl"),
            ("127.0.0.1:9650", "expected http://HOST:PORT"),
            ("http://127.0.0.1", "invalid socket address"),
            ("http://127.0.0.1:9650/ext", "invalid port value"),
        ] {
            let error = address(url, "use curl").unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
