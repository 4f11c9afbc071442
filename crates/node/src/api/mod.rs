//! The node's own APIs, besides those of its chains.
//!
//! [`install`] adds all of them: `/ext/info`, `/ext/status`, `/ext/health` (with its sub-paths), `/ext/metrics`, `/ext/bc/P` with
//! its aliases, and if enabled `/ext/index/<chain>/{block,tx,vtx}` and `/ext/admin`. Each API is one file: a service,
//! its method table, and a narrow trait or plain data as its input. No API uses a chain's types, or writes anything
//! except routes, aliases, log levels, profiles and backups.

pub mod admin;
mod early;
mod facts;
pub mod health;
pub mod index;
pub mod info;
pub mod platform;
mod status;
mod supply;
pub mod sync;
mod time;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::{ChainVm, Engine};
use esker_follow::Follower;
use esker_http::{Endpoint, Readiness, RouteError, Routes};
use esker_primitives::clock::Clock;
use esker_primitives::{Id, SubnetId};
use esker_storage::Store;
use esker_validators::ValidatorEngine;

pub use admin::{AdminApi, AdminDeps};
pub use early::{EarlyDeps, EarlyReport, EarlyStatus, install_early};
pub use facts::{Blockchain, FeeConfig, MinStake, NetworkFacts};
pub use health::Health;
pub use index::{Container, IndexSource};
pub use info::{TxFees, UpgradeTimes, Versions};
pub use sync::SyncDeps;

use crate::aliases::AliasTable;
use crate::discovery::node_endpoint;
use crate::identity::Identity;
use crate::metrics::{ChainFigures, Metrics};

/// The P-Chain in the paths of indexes.
const P_CHAIN: &str = "P";

/// A chain of this node.
#[derive(Clone, Debug)]
pub struct RunningChain {
    /// The chain.
    pub vm: Arc<dyn ChainVm>,
    /// The paths of its endpoints after the chain's name: empty, or for example `/wallet`.
    pub suffixes: Vec<&'static str>,
    /// The subnet that validates it.
    pub subnet_id: SubnetId,
    /// Whether it is bootstrapped.
    pub ready: Readiness,
    /// Its blocks for the index API, if that is enabled for it.
    pub index: Option<Arc<dyn IndexSource>>,
    /// Whether it was a DAG and so has (empty) indexes of transactions and vertices.
    pub was_dag: bool,
}

/// What the health report says of a follower.
#[derive(Clone, Debug)]
pub struct FollowerDeps {
    /// The engine.
    pub follower: Arc<Follower>,
    /// How long it may be behind its sources.
    pub max_lag: Duration,
}

/// The dependencies of the node's APIs. The wiring builds it, and [`install`] distributes it.
pub struct ApiDeps {
    /// The network's definition ([`NetworkFacts::of`]).
    pub network: NetworkFacts,
    /// The node's identity.
    pub identity: Arc<Identity>,
    /// Versions of the software.
    pub versions: Versions,
    /// Address for peers.
    pub node_ip: SocketAddr,
    /// Virtual machines by ID with their names, for `info.getVMs`.
    pub vms: Vec<(Id, Vec<String>)>,
    /// Feature extensions by ID, with their names.
    pub fxs: Vec<(Id, String)>,
    /// Aliases of the chains, including the P-Chain (the zero ID).
    pub aliases: Arc<AliasTable>,
    /// The running chains, without the P-Chain.
    pub chains: Vec<RunningChain>,
    /// Source of peers and progress.
    pub engine: Arc<dyn Engine>,
    /// The engine again, if this node follows others.
    pub follower: Option<FollowerDeps>,
    /// Height of the first stored bundle above 0, if the node joined from a snapshot; else 0.
    pub first_bundle: u64,
    /// The engine again, if this node is a validator.
    pub validator: Option<Arc<dyn ValidatorEngine>>,
    /// The stream for followers of this node, if it is enabled.
    pub sync: Option<SyncDeps>,
    /// The store.
    pub store: Store,
    /// Folder whose free space is checked; `None` disables the check.
    pub data_dir: Option<PathBuf>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The metrics; [`install`] registers the chains.
    pub metrics: Arc<Metrics>,
    /// What the admin API needs, if it is enabled.
    pub admin: Option<AdminDeps>,
}

/// Adds the routes of every node API and returns the health report, whose [`Health::run`] the caller spawns.
///
/// The routes of the chains themselves are added with [`Routes::chain`], before or after.
pub fn install(deps: ApiDeps, routes: &Arc<Routes>) -> Result<Arc<Health>, RouteError> {
    for chain in &deps.chains {
        // Weak, so that metrics do not keep a chain, and with it the store, alive.
        let vm = Arc::downgrade(&chain.vm);
        deps.metrics.watch_chain(&chain.vm.name(), move || {
            let figures = vm.upgrade().map(|vm| ChainFigures {
                stats: vm.stats(),
                pool: vm.pool_figures(),
                atomic: vm.atomic_pool_figures(),
            });
            figures.unwrap_or_default()
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
    if let Some(admin) = deps.admin.clone() {
        let admin = AdminApi::new(Arc::clone(&deps.aliases), routes, admin, deps.store.clone());
        routes.node("admin", node_endpoint("admin", admin.service()))?;
    }
    deps.metrics.watch_follow(
        deps.follower.as_ref().map(|deps| &deps.follower),
        deps.sync.as_ref().map(|sync| &sync.server),
    );
    deps.metrics.watch_validator(deps.validator.as_ref());
    if let Some(sync) = &deps.sync {
        sync::install(sync, routes)?;
    }
    status::install(&deps, routes)?;
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
