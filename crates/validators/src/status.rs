//! The status of a validator that operators see.

use esker_primitives::Id;
use thiserror::Error;

use crate::address::ValidatorAddress;
use crate::change::{ChangeError, SetChange};
use crate::keys::ValidatorPublicKey;

/// Counts since the start of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValidatorStats {
    /// The current epoch. It begins at 0 and grows by one with each change of the validators.
    pub epoch: u64,
    /// The current validators.
    pub validators: usize,
    /// Whether this node is one of them.
    pub is_member: bool,
    /// Number of votes that decide.
    pub quorum: usize,
    /// Whether this node votes. A follower never votes. A validator does not vote while it waits because its earlier
    /// votes are lost, or when it is not one of the current validators.
    pub votes: bool,
    /// Connected followers of the network file.
    pub followers: usize,
    /// The last round with a result.
    pub round: u64,
    /// Rounds in which a quorum voted for a bundle.
    pub notarized: u64,
    /// Rounds that a quorum voted to skip.
    pub skipped: u64,
    /// Rounds whose bundle is final by votes of its own.
    pub finalized: u64,
    /// Votes that it has seen.
    pub votes_seen: VoteCounts,
}

/// Votes that a validator has seen since the start, its own included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VoteCounts {
    /// For the bundle of a round.
    pub notarize: u64,
    /// For the bundle of a round to be final.
    pub finalize: u64,
    /// To skip a round.
    pub skip: u64,
    /// Votes that contradict another one of the same validator and round: it is dishonest, or its key runs twice.
    pub conflicting: u64,
}

/// The next change, as operators see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeStatus {
    /// The epoch in which this node is.
    pub epoch: u64,
    /// Its first height.
    pub first_height: u64,
    /// The current validators.
    pub validators: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    /// Number of them that must agree on a change.
    pub quorum: usize,
    /// A change that is agreed and not yet in force at this node.
    pub agreed: Option<SetChange>,
    /// Changes that are not agreed.
    pub proposals: Vec<Proposal>,
}

/// A change that is not agreed yet, and its supporters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The change.
    pub change: SetChange,
    /// Validators whose operators approved it.
    pub approvals: Vec<ValidatorPublicKey>,
    /// Validators that promised it.
    pub promises: Vec<ValidatorPublicKey>,
    /// Whether this node's operator approved it.
    pub is_own: bool,
}

/// The reason why an operator's approval is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ApprovalError {
    /// The engine has not started, or is between two epochs.
    #[error("the validator has not started yet; try again")]
    NotRunning,
    /// Only current validators decide.
    #[error("this node is not one of the current validators")]
    NotValidator,
    /// The votes of this validator are lost, so it waits.
    #[error("this validator does not vote yet: its earlier votes are lost")]
    NoVotes,
    /// The set is the current one.
    #[error("these are the current validators already")]
    SameSet,
    /// The height is too near or too far.
    #[error("height {found} is not from {least} to {most}: the network is at {tip}")]
    Height {
        /// The requested height.
        found: u64,
        /// The least height.
        least: u64,
        /// The greatest height.
        most: u64,
        /// The last known bundle.
        tip: u64,
    },
    /// A change is agreed and has not come into force.
    #[error("a change at height {0} is agreed; the next one can be made when it is in force")]
    Agreed(u64),
    /// This validator has promised to end the epoch at another change.
    #[error(
        "this validator has promised a change at height {height} ({id}); another one is possible only when the network \
         has passed that height without it"
    )]
    Promised {
        /// The change's height.
        height: u64,
        /// The change's ID.
        id: Id,
    },
    /// The set is not a valid one.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The approval can't be stored.
    #[error("{0}")]
    Storage(String),
}
