//! The addresses at which this node listens.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

/// The addresses at which this node listens; none before it does.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnAddresses(Arc<OnceLock<Vec<SocketAddr>>>);

impl OwnAddresses {
    /// Sets them. Only the first call counts.
    pub(crate) fn set(&self, addresses: Vec<SocketAddr>) {
        let _set_before = self.0.set(addresses);
    }

    /// Whether a URL is that of this node, as far as it shows.
    pub(crate) fn has(&self, url: &str) -> bool {
        self.0.get().is_some_and(|own| own.iter().any(|own| is_at(url, *own)))
    }
}

/// Whether a URL is that of an address of this computer, as far as it shows.
pub(crate) fn is_at(url: &str, own: SocketAddr) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else { return false };
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_here = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified() || ip == own.ip();
    let is_own_host = host == "localhost" || host.parse().is_ok_and(is_here);
    is_own_host && uri.port_u16() == Some(own.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_urls() {
        let own = OwnAddresses::default();
        assert!(!own.has("http://127.0.0.1:8545"));
        own.set(vec!["127.0.0.1:8545".parse().unwrap(), "10.0.0.7:9650".parse().unwrap()]);
        for url in [
            "http://127.0.0.1:8545",
            "http://localhost:8545/",
            "http://[::1]:8545",
            "http://0.0.0.0:8545",
            "http://u:p@127.0.0.1:8545/x",
            "https://10.0.0.7:9650/ext/bc/C/rpc",
        ] {
            assert!(own.has(url), "{url}");
        }
        for url in ["", "http://127.0.0.1:8546", "http://10.0.0.8:9650", "http://10.0.0.7"] {
            assert!(!own.has(url), "{url}");
        }
    }
}
