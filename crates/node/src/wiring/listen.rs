//! The listeners: one for all paths, and one for the C-Chain's JSON-RPC.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use esker_chain::Shutdown;
use esker_http::{IpcListener, RouteError, Routes, Tls, listen};
use esker_settings::config::{Config, Mode};
use tokio::net::TcpListener;

use super::StartError;
use crate::chains::EVM_RPC;

/// Time between two checks of the certificate's files.
const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(2);

/// The certificate of the listeners, if they have TLS.
pub(super) fn tls(config: &Config) -> Result<Option<Tls>, StartError> {
    Ok(config.tls_files().map(Tls::open).transpose()?)
}

/// Replaces the certificate when its files change, until the node stops.
pub(super) async fn follow_certificate(tls: Tls, mut stop: Shutdown) {
    tokio::select! {
        () = tls.follow_files(CERTIFICATE_INTERVAL) => {}
        _ = stop.wait() => {}
    }
}

/// The listener for all paths, and its bound address. If only the other port was configured, as for a second `esker
/// dev`, the listener uses the next free port.
pub(super) async fn http(config: &Config) -> Result<(TcpListener, SocketAddr), StartError> {
    let (port, setting) = config.listen_port();
    let mut bound = bind(config, port).await;
    if config.moves_http_port() {
        let further = (1..=FURTHER_PORTS).filter_map(|further| port.checked_add(further));
        for further in further {
            if !bound.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse) {
                break;
            }
            bound = bind(config, further).await;
        }
    }
    bound.map_err(|error| fault(config, port, setting, error))
}

/// The listeners of the further hosts. They have the port of the first one, or free ports of their own if that was left to
/// the system.
///
/// # Errors
/// The node can't listen there.
pub(super) async fn further(config: &Config, first: SocketAddr) -> Result<Vec<Bound>, StartError> {
    let (configured, setting) = config.listen_port();
    let port = if configured == 0 { 0 } else { first.port() };
    let mut all = Vec::new();
    for host in &config.settings.http_further_hosts.0 {
        let host = without_brackets(host);
        let failed = |error| StartError::from_bind(display_address(host, port), setting, error);
        let listener = listen(host, port).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        all.push((listener, address));
    }
    Ok(all)
}

/// A listener with its bound address.
pub(super) type Bound = (TcpListener, SocketAddr);

/// The number of ports after its own that a node tries at most.
const FURTHER_PORTS: u16 = 100;

/// Checks that a validator can listen for its peers. Its engine, which listens, starts later.
pub(super) fn check_validator(address: SocketAddr) -> Result<(), StartError> {
    let failed = |error| StartError::from_bind(address.to_string(), "validator-listen", error);
    std::net::TcpListener::bind(address).map(drop).map_err(failed)
}

/// The listener that serves the C-Chain at `/`.
pub(super) struct EvmListener {
    pub(super) listener: TcpListener,
    pub(super) addr: SocketAddr,
    pub(super) routes: Routes,
}

/// The outcome of that listener.
pub(super) enum EvmPort {
    /// There is none.
    Off,
    /// It listens.
    Bound(Box<EvmListener>),
    /// Another program uses its default address, given as text.
    InUse(String),
}

impl EvmPort {
    /// The bound address.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Bound(evm) => Some(evm.addr),
            Self::Off | Self::InUse(_) => None,
        }
    }
}

/// Binds that listener, if enabled. A default port that is in use is not an error.
pub(super) async fn evm(config: &Config, routes: &Routes) -> Result<EvmPort, StartError> {
    let port = config.settings.evm_port.filter(|_| config.mode != Mode::Evm);
    let Some(port) = port else { return Ok(EvmPort::Off) };
    let Some(routes) = routes.rooted_at(&rpc_path(config)) else { return Ok(EvmPort::Off) };
    match bind(config, port).await {
        Ok((listener, addr)) => {
            Ok(EvmPort::Bound(Box::new(EvmListener { listener, addr, routes })))
        }
        Err(error) if config.is_evm_port_set() => Err(fault(config, port, "evm-port", error)),
        Err(error) => {
            let address = display_address(host(config), port);
            tracing::warn!(
                "no JSON-RPC of the C-Chain at {address}: {error}; choose another --evm-port (0 picks one)"
            );
            Ok(EvmPort::InUse(address))
        }
    }
}

/// The socket of the file system, if there is one.
pub(super) fn ipc(config: &Config) -> Result<Option<IpcListener>, StartError> {
    let Some(path) = &config.settings.ipc else { return Ok(None) };
    let address = path.display().to_string();
    let bound = IpcListener::bind(path).map_err(|error| StartError::Listen { address, error });
    bound.map(Some)
}

/// Serves the JSON-RPC of the chain that is alone at `/`, with websockets.
pub(super) fn serve_alone(config: &Config, routes: &Routes) -> Result<(), RouteError> {
    routes.serve_at_root(&rpc_path(config))
}

/// The path of the EVM chain's JSON-RPC.
fn rpc_path(config: &Config) -> String {
    format!("/ext/bc/{}{EVM_RPC}", config.network.evm_chain().id)
}

/// An empty host means all addresses of the machine, as in the reference.
fn host(config: &Config) -> &str {
    match config.settings.http_host.as_str() {
        "" => "::",
        host => without_brackets(host),
    }
}

/// Brackets are only for URLs.
fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

async fn bind(config: &Config, port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = match listen(host(config), port).await {
        // The machine has no IPv6.
        Err(_) if config.settings.http_host.is_empty() => listen("0.0.0.0", port).await,
        result => result,
    }?;
    let addr = listener.local_addr()?;
    Ok((listener, addr))
}

fn fault(config: &Config, port: u16, setting: &'static str, error: io::Error) -> StartError {
    StartError::from_bind(display_address(host(config), port), setting, error)
}

fn display_address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
