//! The parts that the chains of a node share.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};

use esker_chain::AdjustableClock;
use esker_chain::forward::{ExchangePools, Forwarding};
use esker_evm::control::Snapshots;
use esker_evm::fork_point::ForkPoint;
use esker_evm_rpc::{DevelopmentNode, ResetPort};
use esker_fork::Fork;
use esker_keystore::Keystore;
use esker_primitives::Randomness;
use esker_xvm::Takeover;

use crate::diagnostics::Diagnostics;
use crate::metrics::Metrics;
use crate::own_addresses::OwnAddresses;

/// The parts that the chains of a development network share.
#[derive(Clone, Debug)]
pub struct Development {
    /// Their clock, which controls move.
    pub clock: AdjustableClock,
    /// Snapshots of all chains.
    pub snapshots: Arc<Snapshots>,
    /// Loads and dumps the C-Chain's state. Its endpoint owns it.
    node: Weak<DevelopmentNode>,
}

impl Development {
    pub(super) fn new(
        clock: AdjustableClock,
        snapshots: Arc<Snapshots>,
        node: Option<&Arc<DevelopmentNode>>,
    ) -> Self {
        Self { clock, snapshots, node: node.map_or_else(Weak::new, Arc::downgrade) }
    }

    /// Loads and dumps states, under `esker dev`.
    pub fn node(&self) -> Option<Arc<DevelopmentNode>> {
        self.node.upgrade()
    }
}

/// What a chain is built with, besides its specification.
#[derive(Clone, Copy, Debug)]
pub struct ChainInputs<'a> {
    /// The node's keystore.
    pub keystore: &'a Arc<Keystore>,
    /// The clock of a development network.
    pub clock: Option<&'a AdjustableClock>,
    /// The block of another node on which the chain begins.
    pub fork: Option<&'a ForkPoint>,
    /// What the chain took over from another network's chain.
    pub takeover: Option<&'a Arc<Takeover>>,
}

/// The node's parts for the services over its chains.
#[derive(Clone, Copy)]
pub struct ServiceParts<'a> {
    /// The users of the node.
    pub keystore: &'a Arc<Keystore>,
    /// The data folder, in which chains keep files beside the store; `None` if they keep none.
    pub data_folder: Option<&'a Path>,
    /// Log levels, and folders of profiles.
    pub diagnostics: &'a Diagnostics,
    /// The metrics in which the clients' open subscriptions and filters are registered.
    pub metrics: &'a Metrics,
    /// For IDs of filters and subscriptions, and for new keys.
    pub randomness: &'a Randomness,
    /// The source of a forked chain.
    pub fork: Option<&'a Fork>,
    /// Where resets to other chains go.
    pub resets: &'a ResetPort,
    /// Where the node listens.
    pub(crate) own_addresses: &'a OwnAddresses,
}

impl fmt::Debug for ServiceParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceParts")
            .field("data_folder", &self.data_folder)
            .finish_non_exhaustive()
    }
}

/// The nodes to which transactions of clients are passed on, besides the chains' pools.
#[derive(Clone, Debug, Default)]
pub struct TxRelays {
    /// The nodes that this one follows; `None`: this node decides.
    pub forwarding: Option<Arc<Forwarding>>,
    /// Other validators; `None`: this node is not a validator.
    pub exchange: Option<Arc<ExchangePools>>,
}
