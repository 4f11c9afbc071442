//! The node's own APIs, beside those of its chains.
//!
//! [`install`] puts all of them behind their paths: `/ext/info`, `/ext/health` (with its sub-paths), `/ext/metrics`,
//! `/ext/bc/P` with its aliases, and where they are switched on `/ext/index/<chain>/{block,tx,vtx}` and `/ext/admin`.
//! Each API is one file: a service, its method table, and the narrow trait or plain data it asks for. None of them
//! knows a chain's types or writes anything but routes, aliases and log levels.

pub mod admin;
mod facts;
pub mod health;
pub mod index;
pub mod info;
pub mod platform;
mod supply;
mod time;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use esker_chain::{ChainVm, Engine};
use esker_http::{Endpoint, Readiness, RouteError, Routes};
use esker_primitives::clock::Clock;
use esker_primitives::{Id, SubnetId};
use esker_storage::Store;

pub use admin::AdminApi;
pub use facts::{Blockchain, NetworkFacts};
pub use health::Health;
pub use index::{Container, IndexSource};
pub use info::{TxFees, UpgradeTimes, Versions};
pub use platform::{FeeConfig, MinStake};

use crate::aliases::AliasTable;
use crate::identity::Identity;
use crate::logging::LogLevels;
use crate::metrics::Metrics;

/// The P-Chain in the paths of indexes.
const P_CHAIN: &str = "P";

/// A chain that this node runs.
#[derive(Clone, Debug)]
pub struct RunningChain {
    /// The chain.
    pub vm: Arc<dyn ChainVm>,
    /// The subnet that validates it.
    pub subnet_id: SubnetId,
    /// Whether it is in normal operation.
    pub ready: Readiness,
    /// Its blocks for the index API, if that is switched on for it.
    pub index: Option<Arc<dyn IndexSource>>,
    /// Whether it once was a graph: then it has indexes of transactions and vertices, which are empty.
    pub was_dag: bool,
}

/// Everything that the node's APIs rest on. Built once by the wiring, taken apart by [`install`].
pub struct ApiDeps {
    /// The network's definition ([`NetworkFacts::of`]).
    pub network: NetworkFacts,
    /// Who this node is.
    pub identity: Arc<Identity>,
    /// What runs.
    pub versions: Versions,
    /// Address at which peers would reach the node.
    pub node_ip: SocketAddr,
    /// Virtual machines by ID, with their names, as `info.getVMs` shows them.
    pub vms: Vec<(Id, Vec<String>)>,
    /// Feature extensions by ID, with their names.
    pub fxs: Vec<(Id, String)>,
    /// Names of the chains, the P-Chain's (the zero ID) among them.
    pub aliases: Arc<AliasTable>,
    /// The chains that run, without the P-Chain.
    pub chains: Vec<RunningChain>,
    /// Asked for peers and progress.
    pub engine: Arc<dyn Engine>,
    /// The store.
    pub store: Store,
    /// Folder whose disk must have room; without one there is no such check.
    pub data_dir: Option<PathBuf>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The figures; [`install`] lets them watch the chains.
    pub metrics: Arc<Metrics>,
    /// The loggers, if the admin API is switched on.
    pub admin: Option<LogLevels>,
}

/// Adds the routes of every node API and returns the health report, whose [`Health::run`] the caller spawns.
///
/// The routes of the chains themselves are added with [`Routes::chain`], before or after.
pub fn install(deps: ApiDeps, routes: &Arc<Routes>) -> Result<Arc<Health>, RouteError> {
    for chain in &deps.chains {
        // Weak, so that figures never keep a chain, and with it the store, alive.
        let vm = Arc::downgrade(&chain.vm);
        deps.metrics.watch_chain(&chain.vm.name(), move || {
            vm.upgrade().map(|vm| (vm.stats(), vm.pool_figures())).unwrap_or_default()
        });
    }
    let health = health::standard(&deps, routes);
    health::install(&health, routes)?;
    routes.node("metrics", Endpoint::Page(deps.metrics.clone()))?;
    for chain in &deps.chains {
        if let Some(source) = &chain.index {
            let blocks = index::IndexContent::Blocks(Arc::clone(source));
            index::install(&chain.vm.name(), blocks, chain.was_dag, routes)?;
        }
    }
    if deps.chains.iter().any(|chain| chain.index.is_some()) {
        index::install(P_CHAIN, index::IndexContent::NotStored, false, routes)?;
    }
    if let Some(levels) = &deps.admin {
        let admin = AdminApi::new(Arc::clone(&deps.aliases), routes, levels.clone());
        routes.node("admin", Endpoint::Object(admin.service()))?;
    }
    platform::install(&deps, routes)?;
    info::install(deps, routes)?;
    Ok(health)
}

impl std::fmt::Debug for ApiDeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiDeps")
            .field("network", &self.network.id)
            .field("chains", &self.chains)
            .finish_non_exhaustive()
    }
}
