//! Why a chain or the machine could not do what it was asked.

use esker_storage::StorageError;
use thiserror::Error;

use crate::{BundleId, Verdict};

/// A chain failed for a reason that lies in the node, not in a block or a request.
#[derive(Debug, Error)]
pub enum ChainError {
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A row of the store can't be understood: the data is damaged.
    #[error("the stored data is damaged: {0}")]
    Corrupted(String),
    /// The genesis can't be used.
    #[error("invalid genesis: {0}")]
    Genesis(String),
    /// The store belongs to another genesis or configuration.
    #[error("{0}")]
    Mismatch(String),
    /// The machine takes no further bundle until one is made final or abandoned.
    #[error("too many undecided bundles: {bundles} of {bytes} bytes")]
    TooManyUndecided {
        /// Undecided bundles.
        bundles: usize,
        /// Their bytes, and those of their write sets.
        bytes: usize,
    },
    /// The machine was closed, or its thread has panicked.
    #[error("the machine has stopped")]
    Stopped,
}

impl ChainError {
    /// Whether the same call may succeed later, without a restart.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Storage(error) => error.is_temporary(),
            Self::TooManyUndecided { .. } => true,
            Self::Corrupted(_) | Self::Genesis(_) | Self::Mismatch(_) | Self::Stopped => false,
        }
    }
}

/// Why a block was not taken.
#[derive(Debug, Error)]
pub enum BlockError {
    /// The block breaks a rule and always will; the text is the reference's where it has one.
    #[error("{0}")]
    Invalid(String),
    /// The block may become valid, not before the given Unix time in ms.
    #[error("{reason}")]
    NotYet {
        /// Unix time in ms to wait for.
        until_ms: u64,
        /// What is waited for.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

impl From<StorageError> for BlockError {
    fn from(error: StorageError) -> Self {
        Self::Chain(error.into())
    }
}

/// Why no bundle was built.
#[derive(Debug, Error)]
pub enum ProposeError {
    /// The parent can't be built on.
    #[error("cannot build on bundle {id}: {verdict}")]
    Parent {
        /// The parent.
        id: BundleId,
        /// What it is; never [`Verdict::Valid`].
        verdict: Verdict,
    },
    /// The bundle was to have another height than follows from its parent.
    #[error("a bundle of height {wanted} was asked for, its parent has {parent}")]
    Height {
        /// The height that was asked for.
        wanted: u64,
        /// The parent's.
        parent: u64,
    },
    /// A chain or the store failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// Why a bundle was not made final. Nothing of it was written unless the store itself failed half-way
/// through its answer; a restart then shows the state before or after, never between.
#[derive(Debug, Error)]
pub enum FinalizeError {
    /// Another bundle is final at this height.
    #[error("bundle {id} at height {height} conflicts with the final one")]
    Conflict {
        /// ID of the refused bundle.
        id: esker_primitives::Id,
        /// Its height.
        height: u64,
    },
    /// The parent is not the last final bundle.
    #[error("bundle {id} at height {height} does not follow the last final height {last}")]
    OutOfOrder {
        /// ID of the refused bundle.
        id: esker_primitives::Id,
        /// Its height.
        height: u64,
        /// Height of the last final bundle.
        last: u64,
    },
    /// The bundle is not valid on the final state.
    #[error("bundle is invalid: {0}")]
    Invalid(String),
    /// The bundle was not verified yet and is ahead of the clock: the same call later may succeed.
    #[error("bundle is ahead of the clock: {reason}")]
    NotYet {
        /// Unix time in ms to wait for.
        until_ms: u64,
        /// What is waited for.
        reason: String,
    },
    /// A chain or the store failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// Why no bundle was taken back. Store and memory are as they were.
#[derive(Debug, Error)]
pub enum RewindError {
    /// Other nodes decide too, and go on from the bundles that they know.
    #[error("final bundles can be taken back only by a node that decides alone")]
    SeveralNodes,
    /// The height is not reached.
    #[error("there is no bundle {height}: the last one is {last}")]
    Above {
        /// The height that was asked for.
        height: u64,
        /// Height of the last final bundle.
        last: u64,
    },
    /// What would take bundles back is not kept.
    #[error(
        "bundle {last} can't be taken back: nothing was kept that would do it. Start the node with rewind-depth above 0 to \
         keep it for the bundles that come"
    )]
    NothingKept {
        /// Height of the last final bundle.
        last: u64,
    },
    /// What would take bundles back is not kept for all of them.
    #[error(
        "bundle {height} can't be gone back to: bundles can be taken back down to {lowest}, of {last}"
    )]
    NotKept {
        /// The height that was asked for.
        height: u64,
        /// The lowest one that can be gone back to.
        lowest: u64,
        /// Height of the last final bundle.
        last: u64,
    },
    /// A chain or the store failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

impl From<StorageError> for RewindError {
    fn from(error: StorageError) -> Self {
        Self::Chain(error.into())
    }
}

impl From<StorageError> for FinalizeError {
    fn from(error: StorageError) -> Self {
        Self::Chain(error.into())
    }
}
