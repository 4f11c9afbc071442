//! What a node that takes the place of a running one needs.

use esker_evm_rpc::ResetPort;
use tokio::net::TcpListener;

use crate::environment::Environment;

/// What a node that takes the place of a running one needs.
#[derive(Debug)]
pub(super) struct Place {
    /// The port.
    pub(super) listener: TcpListener,
    /// Those of further hosts.
    pub(super) further: Vec<TcpListener>,
    pub(super) environment: Environment,
    /// Resets to other chains.
    pub(super) resets: ResetPort,
}
