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
//! - [`StateBase`] is a state below the store's, for chains that began on top of another node's block.
//! - [`prune`] deletes the undo rows of a height.

mod apply;
mod base;
mod changes;
mod restore;
mod rows;
pub mod tables;
mod tries;
mod view;
mod walk;

use esker_storage::StorageError;
use thiserror::Error;

use crate::trie::TrieError;

pub use apply::{ApplyOptions, BlockState, prune};
pub use base::StateBase;
pub use changes::{AccountChange, AccountParts, StateChanges};
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
    /// A part of the state below the store's is not here yet. It may be read again once it was fetched.
    #[error("{0} of the forked state is not fetched yet")]
    NotFetched(String),
}
