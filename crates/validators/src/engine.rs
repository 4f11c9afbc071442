//! The port of the node to a consensus library.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use esker_chain::{BundleId, Engine, ProofVerifier};
use esker_primitives::Randomness;

use crate::address::ValidatorAddress;
use crate::change::{ChangeError, VerifiedChange};
use crate::config::ValidatorConfig;
use crate::keys::ValidatorPublicKey;
use crate::status::{ApprovalError, ChangeStatus, ValidatorStats};

/// A consensus library, by which several validators decide together. A build without one has no validators.
pub trait Consensus: fmt::Debug + Send + Sync {
    /// The engine of a validator, or of a follower among the validators' peers. It is not started yet.
    fn engine(&self, config: ValidatorConfig) -> Arc<dyn ValidatorEngine>;

    /// The validators of a network, for a node that checks their certificates. `network` and `genesis` name the network,
    /// `members` are those of the network file, `changes` the agreed changes since then, in order. `randomness` is for
    /// checking many votes at once.
    ///
    /// # Errors
    /// No network can have these validators, or a change is not the next one of this network.
    fn committees(
        &self,
        network: (u32, BundleId),
        members: Vec<(ValidatorPublicKey, ValidatorAddress)>,
        changes: &[Bytes],
        randomness: Randomness,
    ) -> Result<Arc<dyn Committees>, CommitteesError>;
}

/// A validator, or a follower among the validators' peers.
pub trait ValidatorEngine: Engine + fmt::Debug {
    /// The public key of this node.
    fn public_key(&self) -> ValidatorPublicKey;

    /// The current validators and the next change of them.
    ///
    /// # Errors
    /// The engine has not started.
    fn change_status(&self) -> Result<ChangeStatus, ApprovalError>;

    /// The agreed changes of the validators, in order. Anybody can check them.
    fn changes(&self) -> Vec<Bytes>;

    /// The operator's approval of a change: from this height on these validators decide. It is passed on to the others;
    /// when a quorum has approved the same change, it is agreed. An approval can be repeated, and replaced until then.
    ///
    /// # Errors
    /// The set or the height is wrong, or another change is under way.
    fn approve_change(
        &self,
        first_height: u64,
        members: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    ) -> Result<ChangeStatus, ApprovalError>;

    /// Counts of rounds.
    fn stats(&self) -> ValidatorStats;

    /// The votes of each current validator that this one has seen since the start of the epoch, its own included. The order
    /// is constant.
    fn votes_by_validator(&self) -> Vec<(ValidatorPublicKey, u64)>;
}

/// The validators of a network since its first bundle, whose certificates it checks.
pub trait Committees: ProofVerifier {
    /// The last epoch that is known.
    fn newest_epoch(&self) -> u64;

    /// Verifies the next change, without adding it; `None`: it is known already.
    ///
    /// # Errors
    /// The bytes are no change, it is not the next one, or too few of the validators before it have signed.
    fn verify_change(&self, document: &[u8]) -> Result<Option<VerifiedChange>, ChangeError>;

    /// Adds a change that [`Self::verify_change`] returned. A change that is known already has no effect.
    ///
    /// # Errors
    /// It is not the next change any more.
    fn add_change(&self, verified: VerifiedChange) -> Result<(), ChangeError>;
}

/// The reason why the validators of a network can't be known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitteesError {
    /// No network can have these validators.
    #[error("{0}")]
    Members(String),
    /// A change is not the next one of this network.
    #[error(transparent)]
    Change(#[from] ChangeError),
}
