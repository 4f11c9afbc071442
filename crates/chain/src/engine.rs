//! The interface between the machine, which executes bundles, and the engine, which orders them.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use esker_primitives::ChainId;
use thiserror::Error;
use tokio::sync::watch;

use crate::bundle::{Bundle, BundleId};
use crate::error::{ChainError, FinalizeError, ProposeError};
use crate::verdict::Verdict;

/// The position of a proposal.
#[derive(Clone, Copy, Debug)]
pub struct ProposeCtx<'a> {
    /// Height of the new bundle.
    pub height: u64,
    /// The parent bundle, final or not.
    pub parent: BundleId,
    /// Undecided bundles from the parent down to the final state, newest first. May be empty if the machine already
    /// has them.
    pub ancestry: &'a [Bundle],
    /// Deadline of the wait for work, Unix ms.
    pub wait_until_ms: u64,
}

/// The interface through which an engine drives the chains.
///
/// Several tasks may make calls; the machine executes them one after another, in order of arrival. Dropping a call's
/// future only ends the wait: a requested finalization completes, and a verified bundle is kept. The bundle of an
/// abandoned proposal call is dropped.
#[async_trait]
pub trait ChainMachine: Send + Sync + 'static {
    /// The bundle of height 0.
    fn genesis(&self) -> Bundle;

    /// Height and ID of the last final bundle; durable.
    fn last_final(&self) -> (u64, BundleId);

    /// Waits for work until `wait_until_ms`, then builds on the state after the parent, which may be undecided.
    /// `None`: no chain had work in time. If the store can't be read for a while, retries until that time.
    async fn propose(&self, at: ProposeCtx<'_>) -> Result<Option<Bundle>, ProposeError>;

    /// Builds at once on the state after the parent: as [`Self::propose`], but without work the bundle has no blocks.
    /// `wait_until_ms` is not used. While building is paused ([`crate::Machine::pause_building`]) it waits. A network whose nodes decide together uses it to go on while there is no work.
    async fn propose_now(&self, at: ProposeCtx<'_>) -> Result<Bundle, ProposeError>;

    /// Announces blocks that will probably be verified soon: helper threads check their signatures meanwhile, as far
    /// as their queue has room. Returns at once. Verdicts never depend on it.
    fn prepare(&self, _blocks: &[(ChainId, Bytes)]) {}

    /// Executes a bundle on its parent's state and keeps the writes under its ID. `ancestry` as in [`ProposeCtx`].
    ///
    /// # Errors
    /// This node can't decide: its store failed, or it has too many undecided bundles. This is not a verdict; the
    /// caller may retry.
    async fn verify(&self, ancestry: &[Bundle], bundle: &Bundle) -> Result<Verdict, ChainError>;

    /// Makes a bundle final: one atomic write for all chains, durable when this returns. Repeating the call changes
    /// nothing and is not an error. While the disk is full or fails, the call waits. It never waits for a timestamp.
    async fn finalize(&self, bundle: &Bundle, proof: Option<Bytes>) -> Result<(), FinalizeError> {
        self.finalize_all(vec![(bundle.clone(), proof)]).await
    }

    /// Makes consecutive bundles final, each with its proof, in as few writes as their size allows. If one fails, the
    /// earlier ones are final.
    async fn finalize_all(
        &self,
        bundles: Vec<(Bundle, Option<Bytes>)>,
    ) -> Result<(), FinalizeError>;

    /// Makes blocks final on the last final bundle, each in a new bundle of its own with the current time: for blocks
    /// of an origin without bundles. Otherwise as [`Self::finalize_all`].
    ///
    /// # Errors
    /// See [`Self::finalize_all`]; `on` is not the last final bundle.
    async fn finalize_blocks(
        &self,
        on: &BundleId,
        blocks: Vec<(ChainId, Bytes)>,
    ) -> Result<(), FinalizeError>;

    /// Drops an undecided bundle that can't become final, with its descendants; their transactions return to the
    /// pools. Returns the number of dropped bundles; 0 if it is unknown or final.
    async fn abandon(&self, id: &BundleId) -> Result<usize, ChainError>;

    /// A quorum voted for an undecided bundle, which is not yet final. No effect if the bundle is unknown.
    async fn notarized(&self, id: &BundleId) -> Result<(), ChainError>;

    /// A final bundle and its proof. Reads the store on the calling thread.
    fn bundle_at(&self, height: u64) -> Result<Option<(Bundle, Option<Bytes>)>, ChainError>;

    /// Height of the first bundle above 0 that [`Self::bundle_at`] returns, if the node joined from a snapshot; else 0.
    /// Reads the store on the calling thread.
    fn history_start(&self) -> Result<u64, ChainError> {
        Ok(0)
    }

    /// Height of a final bundle. `None` for an unknown ID, and on a node that decides alone for all but the
    /// first and the last one: such a node keeps no index. Reads the store on the calling thread.
    fn height_of(&self, id: &BundleId) -> Result<Option<u64>, ChainError>;
}

/// A node's role in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The only node that decides.
    Solo,
    /// One of several nodes that decide.
    Validator,
    /// A node that follows the decisions of others.
    Follower,
}

/// The state of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineStatus {
    /// The node's role.
    pub role: Role,
    /// Height of the last final bundle.
    pub tip_final: u64,
    /// Greatest height that the engine has seen, final or not.
    pub tip_seen: u64,
    /// Connected peers.
    pub peers: usize,
    /// Whether it is far behind its peers.
    pub syncing: bool,
}

/// The reason why an engine stopped by itself.
#[derive(Debug, Error)]
pub enum EngineError {
    /// No bundle could be built.
    #[error(transparent)]
    Propose(#[from] ProposeError),
    /// A bundle could not be made final.
    #[error(transparent)]
    Finalize(#[from] FinalizeError),
    /// A chain or the store failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// A peer or the engine broke the engine's protocol.
    #[error("{0}")]
    Protocol(String),
}

/// Decides which bundle comes next.
#[async_trait]
pub trait Engine: Send + Sync + 'static {
    /// Drives the machine until `stop` or a failure.
    async fn run(
        self: Arc<Self>,
        machine: Arc<dyn ChainMachine>,
        stop: Shutdown,
    ) -> Result<(), EngineError>;

    /// The current state.
    fn status(&self) -> EngineStatus;
}

/// Tells tasks to stop; cheap to clone.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

/// Triggers all matching [`Shutdown`]s; dropping it does so too.
#[derive(Debug)]
pub struct ShutdownTrigger(watch::Sender<bool>);

impl Shutdown {
    /// A pair that is not yet triggered.
    pub fn new() -> (ShutdownTrigger, Self) {
        let (sender, receiver) = watch::channel(false);
        (ShutdownTrigger(sender), Self(receiver))
    }

    /// Resolves once the trigger was used or dropped.
    pub async fn wait(&mut self) {
        // An error means that the trigger was dropped, which counts as used.
        let _gone = self.0.wait_for(|stop| *stop).await;
    }

    /// Whether the trigger was used.
    pub fn is_triggered(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}

impl ShutdownTrigger {
    /// Stops all waiting tasks.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }
}
