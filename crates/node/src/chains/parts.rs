//! The parts that the chains of a node share.

use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use esker_chain::AdjustableClock;
use esker_chain::forward::{ExchangePools, Forwarding};
use esker_evm::control::Snapshots;
use esker_evm_rpc::DevelopmentNode;
use esker_js_tracer::ScriptSlots;
use esker_keystore::Keystore;

use super::MachineSlot;
use crate::diagnostics::Diagnostics;
use crate::metrics::Metrics;

/// The further parts that the chains of a development network share.
#[derive(Clone, Debug)]
pub struct Development {
    /// Their clock, which controls move.
    pub clock: AdjustableClock,
    /// Snapshots of all chains.
    pub snapshots: Arc<Snapshots>,
    /// Loads and dumps the C-Chain's state. Its endpoint owns it.
    node: Arc<OnceLock<Weak<DevelopmentNode>>>,
}

impl Development {
    /// Shared parts over this clock.
    pub fn new(clock: AdjustableClock) -> Self {
        let snapshots = Arc::new(Snapshots::new(clock.clone()));
        Self { clock, snapshots, node: Arc::default() }
    }

    /// Sets the part that loads and dumps states. Only the first call counts.
    pub(super) fn set_node(&self, node: &Arc<DevelopmentNode>) {
        // Further EVM chains have no files.
        let _already = self.node.set(Arc::downgrade(node));
    }

    /// Loads and dumps states, under `esker dev`.
    pub fn node(&self) -> Option<Arc<DevelopmentNode>> {
        self.node.get()?.upgrade()
    }
}

/// The node's parts for the services over its chains, made before the chains.
#[derive(Clone, Copy, Debug)]
pub struct ServiceParts<'a> {
    /// The users of the node.
    pub keystore: &'a Arc<Keystore>,
    /// The data folder, in which chains keep files beside the store; `None` if they keep none.
    pub data_folder: Option<&'a Path>,
    /// Log levels, and folders of profiles.
    pub diagnostics: &'a Diagnostics,
    /// The metrics in which the clients' open subscriptions and filters are registered.
    pub metrics: &'a Metrics,
}

/// The parts that the chains of a node share, made with them.
#[derive(Debug, Default)]
pub struct SharedParts {
    /// The machine, once it is open.
    pub machine: Arc<MachineSlot>,
    /// Places for processes that run scripts.
    pub script_slots: Arc<ScriptSlots>,
    /// The further parts that the chains of a development network share; `None` on other networks.
    pub development: Option<Development>,
}

/// The nodes to which transactions of clients are passed on, besides the chains' pools.
#[derive(Clone, Debug, Default)]
pub struct TxRelays {
    /// The nodes that this one follows; `None`: this node decides.
    pub forwarding: Option<Arc<Forwarding>>,
    /// Other validators; `None`: this node is not a validator.
    pub exchange: Option<Arc<ExchangePools>>,
}
