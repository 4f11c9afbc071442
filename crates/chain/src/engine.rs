//! The seam between what is ordered and who orders it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use thiserror::Error;
use tokio::sync::watch;

use crate::{Bundle, BundleId, ChainError, FinalizeError};

/// Where a proposal goes.
#[derive(Clone, Copy, Debug)]
pub struct ProposeCtx<'a> {
    /// Height of the bundle to make.
    pub height: u64,
    /// The bundle to build on, final or not.
    pub parent: BundleId,
    /// Undecided bundles from the parent down to the final state, newest first; may be empty when the
    /// machine has them already.
    pub ancestry: &'a [Bundle],
    /// How long to wait for work, Unix ms.
    pub wait_until_ms: u64,
}

/// What the machine makes of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Executed on its parent; its writes are kept under its ID.
    Valid,
    /// Breaks a rule and always will.
    Invalid(String),
}

/// How far an undecided bundle has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// This node executed it.
    Verified,
    /// A quorum voted for it; it is not final yet.
    Notarized,
}

/// The chains, driven by an engine. The engine calls it from one task.
#[async_trait]
pub trait ChainMachine: Send + Sync + 'static {
    /// The bundle of height 0.
    fn genesis(&self) -> Bundle;

    /// Height and ID of the last final bundle; durable.
    fn last_final(&self) -> (u64, BundleId);

    /// Waits for work up to `wait_until_ms`, then builds on the state after the parent. `None`: there
    /// was none in time, or the parent is unknown.
    async fn propose(&self, at: ProposeCtx<'_>) -> Option<Bundle>;

    /// Executes a bundle on its parent's state and keeps the writes under its ID. Waits, rather than
    /// refuse, for what may become valid. `ancestry` as in [`ProposeCtx`].
    async fn verify(&self, ancestry: &[Bundle], bundle: &Bundle) -> Result<Verdict, ChainError>;

    /// Makes a bundle final: one atomic write for all chains, durable when this returns. The same
    /// bundle again is no error and changes nothing. While the disk is full or fails, it waits: that is
    /// no fault of the bundle.
    async fn finalize(&self, bundle: &Bundle, proof: Option<Bytes>) -> Result<(), FinalizeError>;

    /// Tells how far an undecided bundle has come.
    fn seen(&self, bundle: &Bundle, stage: Stage);

    /// A final bundle and the proof that was given with it.
    fn bundle_at(&self, height: u64) -> Result<Option<(Bundle, Option<Bytes>)>, ChainError>;
}

/// What part a node plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Decides alone.
    Solo,
    /// One of several that decide.
    Validator,
    /// Follows what others decide.
    Follower,
}

/// Where an engine stands.
#[derive(Clone, Copy, Debug)]
pub struct EngineStatus {
    /// The node's part.
    pub role: Role,
    /// Height of the last final bundle.
    pub tip_final: u64,
    /// Greatest height that the engine has heard of.
    pub tip_seen: u64,
    /// Other nodes that it talks to.
    pub peers: usize,
    /// Is it far behind the others?
    pub syncing: bool,
}

/// Why an engine stopped before it was told to.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A bundle could not be made final.
    #[error(transparent)]
    Finalize(#[from] FinalizeError),
    /// A chain or the store failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The engine's own rules were broken.
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

    /// Where it stands.
    fn status(&self) -> EngineStatus;
}

/// Tells tasks to end; cheap to clone.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

/// Ends what holds the matching [`Shutdown`]; dropping it does so too.
#[derive(Debug)]
pub struct ShutdownTrigger(watch::Sender<bool>);

impl Shutdown {
    /// A pair that is not yet triggered.
    pub fn new() -> (ShutdownTrigger, Self) {
        let (sender, receiver) = watch::channel(false);
        (ShutdownTrigger(sender), Self(receiver))
    }

    /// Resolves once the trigger was pulled or dropped.
    pub async fn wait(&mut self) {
        // An error means that the trigger is gone, which counts as pulled.
        let _gone = self.0.wait_for(|stop| *stop).await;
    }

    /// Was the trigger pulled?
    pub fn is_triggered(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}

impl ShutdownTrigger {
    /// Ends everything that waits.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }
}
