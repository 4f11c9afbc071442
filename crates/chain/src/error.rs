//! Errors of the chains and of the machine.

use esker_storage::StorageError;
use thiserror::Error;

use crate::bundle::BundleId;
use crate::verdict::Verdict;

/// A chain failed because of the node, not because of a block or a request.
#[derive(Debug, Error)]
pub enum ChainError {
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A stored row can't be decoded: the data is damaged.
    #[error("the stored data is damaged: {0}")]
    Corrupted(String),
    /// The genesis is unusable.
    #[error("invalid genesis: {0}")]
    Genesis(String),
    /// The store belongs to another genesis or configuration.
    #[error("{0}")]
    Mismatch(String),
    /// The machine refuses further bundles until one is final or abandoned.
    #[error("too many undecided bundles: {bundles} of {bytes} bytes")]
    TooManyUndecided {
        /// Undecided bundles.
        bundles: usize,
        /// Bytes of these bundles and their write sets.
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

/// The reason why a block was refused.
#[derive(Debug, Error)]
pub enum BlockError {
    /// The block breaks a rule, permanently. The text is the reference's where it has one.
    #[error("{0}")]
    Invalid(String),
    /// The block may become valid, but not before the given Unix time in ms.
    #[error("{reason}")]
    NotYet {
        /// Unix time in ms.
        until_ms: u64,
        /// The reason.
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

/// The reason why no bundle was built.
#[derive(Debug, Error)]
pub enum ProposeError {
    /// The parent can't be built on.
    #[error("cannot build on bundle {id}: {verdict}")]
    Parent {
        /// The parent.
        id: BundleId,
        /// The verdict on it; never [`Verdict::Valid`].
        verdict: Verdict,
    },
    /// The requested height does not follow the parent's.
    #[error("a bundle of height {wanted} was requested, but its parent has height {parent}")]
    Height {
        /// The requested height.
        wanted: u64,
        /// The parent's.
        parent: u64,
    },
    /// A chain or the store failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// The reason why a bundle is not final. Nothing was written, unless the store failed after its write began; then a
/// restart shows the state before or after the write, never a part of it.
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
    /// Blocks were to follow a bundle that is not the last final one.
    #[error("bundle {id} is not the last final one, which has height {last}")]
    NotLast {
        /// ID of that bundle.
        id: esker_primitives::Id,
        /// Height of the last final bundle.
        last: u64,
    },
    /// The bundle is not valid on the final state.
    #[error("bundle is invalid: {0}")]
    Invalid(String),
    /// The bundle was not verified before and is ahead of the clock. A later call may succeed.
    #[error("bundle is ahead of the clock: {reason}")]
    NotYet {
        /// Unix time in ms.
        until_ms: u64,
        /// The reason.
        reason: String,
    },
    /// A chain or the store failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// The reason why no bundle was rewound. Store and memory are unchanged.
#[derive(Debug, Error)]
pub enum RewindError {
    /// Other nodes decide too, and continue from the bundles that they have.
    #[error("only a node that decides alone can rewind final bundles")]
    SeveralNodes,
    /// The chain has not reached the height.
    #[error("there is no bundle {height}: the last one is {last}")]
    AboveLast {
        /// The requested height.
        height: u64,
        /// Height of the last final bundle.
        last: u64,
    },
    /// The store has no undo rows.
    #[error(
        "bundle {last} can't be rewound: it has no undo data. Start the node with rewind-depth above 0 to keep undo data of \
         later bundles"
    )]
    NoUndoRows {
        /// Height of the last final bundle.
        last: u64,
    },
    /// The store does not have undo rows for all of the bundles.
    #[error("can't rewind to bundle {height}: the lowest possible is {lowest}, the last is {last}")]
    BelowUndoRows {
        /// The requested height.
        height: u64,
        /// The lowest height that a rewind can reach.
        lowest: u64,
        /// Height of the last final bundle.
        last: u64,
    },
    /// Another bundle has become final meanwhile.
    #[error("bundle {last} is not the last one: {found} is")]
    NotLast {
        /// The bundle that was expected.
        last: BundleId,
        /// The last one.
        found: BundleId,
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
