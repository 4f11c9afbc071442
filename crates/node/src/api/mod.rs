//! The node's own APIs, besides those of its chains.
//!
//! [`install`] adds all of them: `/ext/info`, `/ext/status`, `/ext/health` (with its sub-paths), `/ext/metrics`, `/ext/bc/P` with
//! its aliases (the first and the last of these where the network has an X-Chain), and if enabled `/ext/index/<chain>/{block,tx,vtx}` and `/ext/admin`. Each API is one file: a service,
//! its method table, and a narrow trait or plain data as its input. No API uses a chain's types, or writes anything
//! except routes, aliases, log levels, profiles and backups.

pub mod admin;
mod early;
mod facts;
mod fork;
pub mod health;
pub mod index;
pub mod info;
mod inputs;
pub mod platform;
mod status;
mod supply;
pub mod sync;
mod time;

use std::net::SocketAddr;
use std::sync::Arc;

use esker_http::{Endpoint, RouteError, Routes};

pub use admin::{AdminApi, AdminDeps, ShownSettings};
pub use early::{EarlyDeps, EarlyReport, EarlyStatus, install_early};
pub use facts::{Blockchain, FeeConfig, MinStake, NetworkFacts, TxFees, UpgradeTimes};
pub use health::Health;
pub use index::{Container, IndexError, IndexSource};
pub use info::{Software, Versions};
pub use inputs::{BaseInputs, ChainInputs, FollowerDeps, OrderInputs, RunningChain};
pub use sync::SyncDeps;

use crate::discovery::node_endpoint;
use crate::metrics::ChainFigures;

/// The P-Chain in the paths of indexes.
const P_CHAIN: &str = "P";

/// From the last stage: the other things that it serves.
#[derive(Debug)]
pub struct ServeInputs {
    /// Versions and parts of the software.
    pub software: Software,
    /// Address for peers.
    pub node_ip: SocketAddr,
    /// The stream for followers of this node, if it is enabled.
    pub sync: Option<SyncDeps>,
    /// The parts of the admin API, if it is enabled.
    pub admin: Option<AdminDeps>,
}

/// Adds the routes of every node API and returns the health report, whose [`Health::run`] the caller spawns.
///
/// The routes of the chains themselves are added with [`Routes::chain`], before or after.
pub fn install(
    (base, chains, order): (&BaseInputs, &ChainInputs, &OrderInputs),
    own: ServeInputs,
    routes: &Arc<Routes>,
) -> Result<Arc<Health>, RouteError> {
    let ServeInputs { software, node_ip, sync, admin } = own;
    watch(base, chains, order, sync.as_ref());
    let health = health::standard((base, chains, order), routes);
    health::install(&health, routes)?;
    routes.node("metrics", Endpoint::Page(base.metrics.clone()))?;
    install_indexes(&base.network, chains, routes)?;
    let has_admin = admin.is_some();
    if let Some(admin) = admin {
        let admin = AdminApi::new(Arc::clone(&chains.aliases), routes, admin, base.store.clone());
        routes.node("admin", node_endpoint("admin", admin.service()))?;
    }
    if let Some(sync) = &sync {
        sync::install(sync, routes)?;
    }
    let server = sync.as_ref().map(|sync| Arc::clone(&sync.server));
    status::install((base, chains, order), (server, has_admin), routes)?;
    if base.network.has_x_chain {
        platform::install(base, chains, routes)?;
        info::install((base, chains, &order.engine), software, node_ip, routes)?;
    }
    Ok(health)
}

/// Registers chains and engine with the metrics.
fn watch(base: &BaseInputs, chains: &ChainInputs, order: &OrderInputs, sync: Option<&SyncDeps>) {
    let metrics = &base.metrics;
    if let Some(fork) = &base.fork {
        metrics.watch_fork(fork.downgrade());
    }
    for chain in &chains.running {
        // Weak, so that metrics do not keep a chain, and with it the store, alive.
        let vm = Arc::downgrade(&chain.vm);
        metrics.watch_chain(&chain.vm.name(), move || {
            let figures = vm.upgrade().map(|vm| ChainFigures {
                stats: vm.stats(),
                pool: vm.pool_figures(),
                atomic: vm.atomic_pool_figures(),
            });
            figures.unwrap_or_default()
        });
    }
    metrics.watch_follow(
        order.follower.as_ref().map(|deps| &deps.follower),
        sync.map(|sync| &sync.server),
    );
    metrics.watch_validator(order.validator.as_ref());
}

/// Adds the index API of the chains that have one.
fn install_indexes(
    network: &NetworkFacts,
    chains: &ChainInputs,
    routes: &Routes,
) -> Result<(), RouteError> {
    for chain in &chains.running {
        if let Some(source) = &chain.index {
            let blocks = index::IndexContent::Blocks(Arc::clone(source));
            index::install(&chain.vm.name(), blocks, chain.was_dag, routes)?;
        }
    }
    if network.has_x_chain && chains.running.iter().any(|chain| chain.index.is_some()) {
        index::install(P_CHAIN, index::IndexContent::NotStored, false, routes)?;
    }
    Ok(())
}
