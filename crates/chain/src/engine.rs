//! The seam between what is ordered and who orders it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use thiserror::Error;
use tokio::sync::watch;

use crate::{Bundle, BundleId, ChainError, FinalizeError, ProposeError};

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

/// What the machine makes of a bundle. Only [`Verdict::Valid`] and [`Verdict::Invalid`] follow from the bundle and
/// its parent's state, so that all correct nodes agree; the others say where this node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Executed on its parent; its writes are kept under its ID.
    Valid,
    /// The bundle, or one of its ancestors, breaks a rule and always will.
    Invalid(String),
    /// The bundle, or one of its ancestors, is ahead of the clock. The engine decides whether to wait.
    NotYet {
        /// Unix time in ms before which it is not valid.
        until_ms: u64,
        /// What is waited for.
        reason: String,
    },
    /// The state of the parent is not known, and the ancestry that was given does not lead to it.
    ParentMissing,
    /// The bundle is final.
    AlreadyFinal,
    /// Another bundle is final in its place, or in an ancestor's place.
    Abandoned,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Valid => f.write_str("valid"),
            Self::Invalid(reason) | Self::NotYet { reason, .. } => f.write_str(reason),
            Self::ParentMissing => f.write_str("the parent bundle is unknown"),
            Self::AlreadyFinal => f.write_str("the bundle is final already"),
            Self::Abandoned => f.write_str("another bundle is final in its place"),
        }
    }
}

/// The chains, driven by an engine.
///
/// Calls may come from several tasks; the machine works them off one after the other, in the order in which they
/// come. Who drops the future of a call stops waiting and nothing else: a finalization that was asked for takes place
/// as a whole, and a verified bundle is kept. The bundle of a proposal that nobody waits for is dropped.
#[async_trait]
pub trait ChainMachine: Send + Sync + 'static {
    /// The bundle of height 0.
    fn genesis(&self) -> Bundle;

    /// Height and ID of the last final bundle; durable.
    fn last_final(&self) -> (u64, BundleId);

    /// Waits for work up to `wait_until_ms`, then builds on the state after the parent, which may be undecided.
    /// `None`: there was none in time. While the store can't be read for a while, it tries again until that time.
    async fn propose(&self, at: ProposeCtx<'_>) -> Result<Option<Bundle>, ProposeError>;

    /// Executes a bundle on its parent's state and keeps the writes under its ID. `ancestry` as in [`ProposeCtx`].
    ///
    /// # Errors
    /// This node could not find out: its store failed, or it holds too many undecided bundles. That is no verdict; the
    /// same call may be made again.
    async fn verify(&self, ancestry: &[Bundle], bundle: &Bundle) -> Result<Verdict, ChainError>;

    /// Makes a bundle final: one atomic write for all chains, durable when this returns. The same
    /// bundle again is no error and changes nothing. While the disk is full or fails, it waits: that is
    /// no fault of the bundle. It never waits for time.
    async fn finalize(&self, bundle: &Bundle, proof: Option<Bytes>) -> Result<(), FinalizeError> {
        self.finalize_all(vec![(bundle.clone(), proof)]).await
    }

    /// Makes bundles final that follow each other, each with its proof, in as few writes as their size allows. If one
    /// can't be made final, those before it are.
    async fn finalize_all(
        &self,
        bundles: Vec<(Bundle, Option<Bytes>)>,
    ) -> Result<(), FinalizeError>;

    /// An undecided bundle is dead: it is dropped with all that follow it, and its transactions wait again. Returns how
    /// many bundles were dropped; 0 if it is unknown or final.
    async fn abandon(&self, id: &BundleId) -> Result<usize, ChainError>;

    /// A quorum voted for an undecided bundle, which is not final yet. No effect if it is unknown.
    async fn notarized(&self, id: &BundleId) -> Result<(), ChainError>;

    /// A final bundle and the proof that was given with it. Reads the store on the calling thread.
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

/// Why an engine stopped on its own.
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

/// Signals tasks to end; cheap to clone.
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
