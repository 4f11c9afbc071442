//! Whether the keystore is served, and on which networks it is refused (docs/decisions.md, "When the keystore is
//! served").

use std::net::IpAddr;

use esker_keystore::HashLimits;
use esker_primitives::network;

use super::value::Switch;
use super::{Config, ConfigError, Settings, tls};
use crate::networks::Network;

impl Config {
    /// Whether the keystore is served.
    pub fn keystore_enabled(&self) -> bool {
        self.keystore_off().is_none()
    }

    /// The reason why the keystore is not served; `None` if it is.
    pub fn keystore_off(&self) -> Option<String> {
        let settings = &self.settings;
        match settings.api_keystore_enabled {
            Switch::On => None,
            _ if settings.public => Some("the node is public".to_owned()),
            Switch::Off => Some("api-keystore-enabled is false".to_owned()),
            Switch::Auto => {
                let reason = if is_shared(&self.network) {
                    format!("users' keys do not belong on a node of network {}", self.network.name)
                } else if !is_local(settings) {
                    format!("others can reach {}", address(settings))
                } else {
                    return None;
                };
                Some(format!("{reason}; set api-keystore-enabled to true to serve it anyway"))
            }
        }
    }

    /// Limits on concurrent password checks.
    pub fn hash_limits(&self) -> HashLimits {
        let s = &self.settings;
        HashLimits {
            at_once: s.keystore_hashes_at_once.count(),
            queue: s.keystore_hash_queue.count(),
            max_wait: s.keystore_hash_wait,
        }
    }
}

/// Refuses a keystore that others can reach on networks with valuable keys. On other networks returns a warning.
pub(super) fn check(settings: &Settings, network: &Network) -> Result<Option<String>, ConfigError> {
    let served_by_wish = settings.api_keystore_enabled == Switch::On;
    if !served_by_wish || is_local(settings) {
        return Ok(None);
    }
    let place = address(settings);
    if is_shared(network) && !settings.allow_keystore_on_public_address {
        return Err(ConfigError::Conflict(format!(
            "api-keystore-enabled: the keystore holds users' private keys, and others can reach {place}: leave it \
             off, or listen on 127.0.0.1 (http-host), or set allow-keystore-on-public-address if this is what you want"
        )));
    }
    let clear =
        if tls::files(settings).is_none() { " are sent there in the clear, and" } else { "" };
    Ok(Some(format!(
        "the keystore is served at {place}: passwords{clear} can be guessed by anyone who reaches it"
    )))
}

/// Networks whose assets have value beyond this machine.
fn is_shared(network: &Network) -> bool {
    [network::MAIN_ID, network::TEST_ID].contains(&network.id)
}

pub(super) fn address(settings: &Settings) -> String {
    match settings.http_host.as_str() {
        "" => "every address of this machine".to_owned(),
        host => host.to_owned(),
    }
}

/// Whether only this machine can reach the node.
pub(super) fn is_local(settings: &Settings) -> bool {
    let mut further = settings.http_further_hosts.0.iter();
    is_loopback(&settings.http_host) && further.all(|host| is_loopback(host))
}

/// Whether only this machine can reach the address. The only such host name is `localhost`.
fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => bare.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_only_this_machine_reaches() {
        for host in
            ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "::ffff:127.0.0.1", "localhost", "LocalHost"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in
            ["", "0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1", "example.com", "127.0.0.1x"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
