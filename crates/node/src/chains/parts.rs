//! What the chains of a node share.

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

/// What the chains of a development network share, besides.
#[derive(Clone, Debug)]
pub struct Development {
    /// Their clock, which controls move.
    pub clock: AdjustableClock,
    /// Snapshots of all of them.
    pub snapshots: Arc<Snapshots>,
    /// What loads and dumps the C-Chain's state. Its endpoint owns it.
    node: Arc<OnceLock<Weak<DevelopmentNode>>>,
}

impl Development {
    /// Shared parts over this clock.
    pub fn new(clock: AdjustableClock) -> Self {
        let snapshots = Arc::new(Snapshots::new(clock.clone()));
        Self { clock, snapshots, node: Arc::default() }
    }

    /// Sets what loads and dumps states; the first call counts.
    pub(super) fn set_node(&self, node: &Arc<DevelopmentNode>) {
        // Further EVM chains have no files.
        let _already = self.node.set(Arc::downgrade(node));
    }

    /// What loads and dumps states, under `esker dev`.
    pub fn node(&self) -> Option<Arc<DevelopmentNode>> {
        self.node.get()?.upgrade()
    }
}

/// What a node has for the services over its chains before there are any.
#[derive(Clone, Copy, Debug)]
pub struct ServiceParts<'a> {
    /// The users of the node.
    pub keystore: &'a Arc<Keystore>,
    /// The data folder, in which chains keep files beside the store; `None`: they keep none.
    pub data_folder: Option<&'a Path>,
    /// Log levels, and folders of profiles.
    pub diagnostics: &'a Diagnostics,
    /// What the chains' clients keep open is registered here.
    pub metrics: &'a Metrics,
}

/// What the chains of a node share, made with them.
#[derive(Debug, Default)]
pub struct SharedParts {
    /// The machine, once it is open.
    pub machine: Arc<MachineSlot>,
    /// Places for processes that run scripts.
    pub script_slots: Arc<ScriptSlots>,
    /// What the chains of a development network share besides; `None` on other networks.
    pub development: Option<Development>,
}

/// Where transactions of clients go besides the chains' pools.
#[derive(Clone, Debug, Default)]
pub struct TxRelays {
    /// To the nodes that this one follows; `None`: this node decides.
    pub forwarding: Option<Arc<Forwarding>>,
    /// To other validators; `None`: this node is none.
    pub exchange: Option<Arc<ExchangePools>>,
}
