//! Builds a running node from a configuration, in the order of the data flow: store, identity, chains, machine,
//! engine, APIs, HTTP. [`Node::start`] is the whole sequence; the files of this folder have the steps.

mod asking;
mod avalanchego;
mod beginning;
mod chain_file;
mod chain_file_error;
mod chains;
mod dashboard;
mod data;
mod early;
mod engine;
mod error;
mod first_start;
mod fixture;
mod follow;
mod fork;
mod index;
mod keystore;
mod listen;
mod parameter_error;
mod parameters;
mod place;
mod replacing;
mod running;
mod server;
mod snapshot;
mod stages;
mod takeover;
mod unserved;
mod versions;

use esker_chain::Shutdown;
use esker_settings::config::Config;

pub use beginning::start as network_start;
pub use chain_file_error::ChainFileError;
pub use chains::{OpenChains, UncheckedChains, open_offline, open_unchecked};
pub use error::StartError;
pub use error::of_storage as storage_exit_code;
pub use first_start::exported as exported_by_p;
pub use replacing::{Replacement, Replacements};
pub use running::RunningNode;

use self::stages::{ChainStage, OrderStage, StoreStage};
use crate::environment::Environment;

/// Starts nodes.
#[derive(Clone, Copy, Debug)]
pub struct Node;

impl Node {
    /// Starts a node. It answers requests when this returns.
    ///
    /// Logging begins with the first node of the process. The calling thread is blocked on the disk for some
    /// milliseconds.
    ///
    /// # Errors
    /// See [`StartError`]. Nothing keeps running, and a temporary folder is removed.
    pub async fn start(
        config: Config,
        environment: Environment,
    ) -> Result<RunningNode, StartError> {
        let (_never, stop) = Shutdown::new();
        Box::pin(Self::start_unless_stopped(config, environment, stop)).await
    }

    /// Like [`Self::start`], but a start that takes long ends at `stop` with [`StartError::Stopped`].
    pub async fn start_unless_stopped(
        config: Config,
        environment: Environment,
        stop_start: Shutdown,
    ) -> Result<RunningNode, StartError> {
        let store = Box::pin(StoreStage::open(config, environment, stop_start)).await?;
        let chains = Box::pin(ChainStage::open(store)).await?;
        let order = Box::pin(OrderStage::begin(chains)).await?;
        Box::pin(order.serve()).await
    }
}
