//! The chain's state: accounts, storage, code, and the tries over them.
//!
//! Only the latest state is in the tables. Replaced values are kept besides it as *undo rows*, whose keys are the
//! replaced key and the height of the block. A read at any old height takes two look-ups: the first undo row above
//! the height, else the latest row. Undecided blocks are write sets over the store, so the same code reads them.
//!
//! - [`StateView`] reads the newest state or the state at a height.
//! - [`BlockState`] turns the [`StateChanges`] of a block into rows and the new state root.
//! - [`StateTries`] computes the roots of simulated blocks.
//! - [`StateView::walk_accounts`] and [`StateView::walk_slots`] walk over the whole state in parts.
//! - [`StateRestore`] checks a whole state from another node, and writes its tries.
//! - [`StateBase`] is a state below the store's, for chains that began on top of another node's block; [`ChangedBase`] is one
//!   with other accounts.
//! - [`prune`] deletes the undo rows of a height.

mod apply;
mod base;
mod changed_base;
mod changes;
mod recorder;
mod restore;
mod rows;
pub mod tables;
mod tries;
mod view;
mod walk;

use esker_storage::StorageError;
use thiserror::Error;

use crate::not_fetched::NotFetched;
use crate::trie::TrieError;

pub use apply::{ApplyOptions, BlockState, prune};
pub use base::StateBase;
pub use changed_base::{BaseChange, ChangedBase};
pub use changes::{AccountChange, AccountParts, StateChanges};
pub use recorder::StateRecorder;
pub use restore::{RestoreError, StateRestore};
pub use rows::{StoredAccount, StoredSlot, StoredSum, UndoKeys};
pub use tries::StateTries;
pub use view::{AccountNodes, StateVersion, StateView, StorageNodes, asset_slot};
pub use walk::WalkPart;

/// The reason why state can't be read or written.
#[derive(Debug, Error)]
pub enum StateError {
    /// A trie can't be read.
    #[error(transparent)]
    Trie(#[from] TrieError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The code of an account is missing.
    #[error("code {0} is missing")]
    MissingCode(alloy_primitives::B256),
    /// The state is that of a fork, of which only what was read is here.
    #[error(
        "the accounts and slots of a forked chain can't be listed: only those that were read are here"
    )]
    NotWhole,
    /// The address or slot of a hash is not known, so that it can't be looked up in the state below the store's.
    #[error(
        "the account or slot of hash {0} was not read from the forked state: only its address shows it"
    )]
    MissingPreimage(alloy_primitives::B256),
    /// A part of the state below the store's is not here yet. It may be read again once it was fetched.
    #[error(transparent)]
    NotFetched(#[from] NotFetched),
}

impl StateError {
    /// What was lacking, if the run may begin again once it was fetched.
    pub fn not_fetched(&self) -> Option<&NotFetched> {
        match self {
            Self::NotFetched(error) | Self::Trie(TrieError::NotFetched(error)) => Some(error),
            _ => None,
        }
    }

    /// Everything that several reads lack, to be fetched together. Other errors count as nothing: they come again.
    pub fn all_not_fetched<T>(reads: impl Iterator<Item = Result<T, Self>>) -> Option<NotFetched> {
        let lacking = reads.filter_map(|read| read.err()?.not_fetched().cloned());
        lacking.reduce(|mut all, more| {
            all.add(&more);
            all
        })
    }
}
