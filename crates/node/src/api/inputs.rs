//! The parts that the stages of a start hand on to the node's own APIs.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::{ChainVm, Engine};
use esker_follow::Follower;
use esker_fork::Fork;
use esker_http::Readiness;
use esker_primitives::SubnetId;
use esker_primitives::clock::Clock;
use esker_storage::Store;
use esker_validators::ValidatorEngine;

use super::facts::NetworkFacts;
use super::index::IndexSource;
use crate::aliases::AliasTable;
use crate::identity::Identity;
use crate::metrics::Metrics;
use crate::taken_over::TakenOver;

/// From the first stage: the store and the identity of the node.
pub struct BaseInputs {
    /// The network's definition ([`NetworkFacts::for_network`]).
    pub network: NetworkFacts,
    /// The node's identity.
    pub identity: Arc<Identity>,
    /// The store.
    pub store: Store,
    /// Folder whose free space is checked; `None` disables the check.
    pub data_dir: Option<PathBuf>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The metrics, with which [`super::install`] registers the chains.
    pub metrics: Arc<Metrics>,
    /// The source of a forked chain.
    pub fork: Option<Fork>,
}

/// From the second stage: the chains.
#[derive(Debug)]
pub struct ChainInputs {
    /// Aliases of the chains, including the P-Chain (the zero ID).
    pub aliases: Arc<AliasTable>,
    /// The running chains, without the P-Chain.
    pub running: Vec<RunningChain>,
    /// Height of the first stored bundle above 0, if the node joined from a snapshot; else 0.
    pub first_bundle: u64,
    /// What the X-Chain took over from another network.
    pub taken_over: Option<TakenOver>,
}

/// From the third stage: the engine.
pub struct OrderInputs {
    /// The source of peers and progress.
    pub engine: Arc<dyn Engine>,
    /// The engine again, if this node follows others.
    pub follower: Option<FollowerDeps>,
    /// The engine again, if this node is a validator.
    pub validator: Option<Arc<dyn ValidatorEngine>>,
}

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
    /// Whether it was a DAG and therefore has (empty) indexes of transactions and vertices.
    pub was_dag: bool,
}

/// The health report's view of a follower.
#[derive(Clone, Debug)]
pub struct FollowerDeps {
    /// The engine.
    pub follower: Arc<Follower>,
    /// The time that it may be behind its sources.
    pub max_lag: Duration,
}

impl fmt::Debug for BaseInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BaseInputs").field("network", &self.network.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for OrderInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderInputs").field("follower", &self.follower).finish_non_exhaustive()
    }
}
