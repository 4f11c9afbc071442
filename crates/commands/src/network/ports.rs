//! The ports of a network's nodes: whether they are free, and whether the nodes answer there.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::path::PathBuf;
use std::time::Duration;

use esker_client::HttpClient;
use esker_settings::config::{Config, ConfigError, Flags, Mode, ValidatorError};
use thiserror::Error;

use super::NodeName;

/// Time that a node may take for a part of its answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Another program has a port of the network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "port in use: {address}, the {setting} of {name}: stop the other program (`esker dev` has 9650 and 8545), or make \
     the network with another --base-port; {where_set} has the port"
)]
pub struct PortTaken {
    address: SocketAddr,
    setting: &'static str,
    name: NodeName,
    /// The file that sets it.
    where_set: String,
}

/// The reason why the configuration of a node can't be used.
#[derive(Debug, Error)]
pub enum MemberError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The settings of a validator are invalid.
    #[error(transparent)]
    Validator(#[from] ValidatorError),
    /// The host's name can't be resolved.
    #[error("http-host {host}: {error}")]
    Resolve {
        /// The name.
        host: String,
        /// The system's error.
        error: io::Error,
    },
    /// The host's name has no address.
    #[error("http-host {0} has no address")]
    NoAddress(String),
}

/// A node of a network on this machine.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: NodeName,
    /// Its configuration file.
    pub(super) file: PathBuf,
    /// Its address for requests.
    http: SocketAddr,
    /// Its address for peers, if they connect to it.
    peers: Option<SocketAddr>,
    scheme: &'static str,
}

impl Member {
    /// Reads its configuration, as the node will.
    pub(super) fn read(name: NodeName, file: PathBuf) -> Result<Self, MemberError> {
        let flags = Flags::from([("config", file.display().to_string())]);
        let env = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        });
        let config = Config::load(Mode::Node, flags, env)?;
        let data = config.data_dir.clone().unwrap_or_default();
        let validator = config.validator(&data)?;
        let settings = &config.settings;
        let host = settings.http_host.trim_start_matches('[').trim_end_matches(']');
        let ip = match host {
            "" => IpAddr::from(Ipv6Addr::UNSPECIFIED),
            host => {
                let found = (host, settings.http_port).to_socket_addrs();
                let mut found =
                    found.map_err(|error| MemberError::Resolve { host: host.to_owned(), error })?;
                let first = found.next();
                first.ok_or_else(|| MemberError::NoAddress(host.to_owned()))?.ip()
            }
        };
        Ok(Self {
            name,
            file,
            http: SocketAddr::new(ip, settings.http_port),
            peers: validator.map(|validator| validator.listen).filter(|peers| peers.port() > 0),
            scheme: if config.tls_files().is_some() { "https" } else { "http" },
        })
    }

    /// Whether the ports are free.
    ///
    /// # Errors
    /// The first that is not.
    pub(super) fn check_ports(&self) -> Result<(), PortTaken> {
        let peers = self.peers.map(|peers| (peers, "validator-listen"));
        for (address, setting) in [(self.http, "http-port")].into_iter().chain(peers) {
            let is_taken = TcpListener::bind(address)
                .is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse);
            if is_taken && address.port() > 0 {
                let where_set = self.file.display().to_string();
                return Err(PortTaken { address, setting, name: self.name, where_set });
            }
        }
        Ok(())
    }

    /// Its address for clients of this machine.
    pub(super) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.reachable())
    }

    fn reachable(&self) -> SocketAddr {
        let ip = match self.http.ip() {
            // A node on all addresses has this one, also where the machine has no IPv6.
            ip if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.http.port())
    }

    /// Whether it answers that it is healthy; one with HTTPS, whose certificate this process does not know, whether it
    /// takes connections.
    pub(super) async fn is_healthy(&self) -> bool {
        let (address, scheme) = (self.reachable(), self.scheme);
        let asked = tokio::task::spawn_blocking(move || {
            if scheme == "https" {
                return std::net::TcpStream::connect_timeout(&address, PATIENCE).is_ok();
            }
            let mut node = HttpClient::new(address).without_keep_alive().with_timeout(PATIENCE);
            node.request("GET", "/ext/health", &[], b"").is_ok_and(|reply| reply.status == 200)
        });
        asked.await.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::NodeKind;
    use super::*;

    #[test]
    fn a_node_on_all_addresses_is_reached_without_ipv6() {
        let url = |http: &str| {
            let name = NodeName { kind: NodeKind::Validator, number: 1 };
            let http = http.parse().unwrap();
            Member { name, file: PathBuf::new(), http, peers: None, scheme: "http" }.url()
        };
        assert_eq!(url("[::]:9650"), "http://127.0.0.1:9650");
        assert_eq!(url("0.0.0.0:9650"), "http://127.0.0.1:9650");
        assert_eq!(url("[::1]:9650"), "http://[::1]:9650");
        assert_eq!(url("192.0.2.1:9650"), "http://192.0.2.1:9650");
    }
}
