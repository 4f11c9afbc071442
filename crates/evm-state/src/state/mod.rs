//! The chain's state: accounts, storage, code, and the tries over them.
//!
//! Only the latest state lies in the tables; what a block replaces is kept beside it as *undo rows*, keyed by
//! what was replaced and the height of the block. A read at an old height is two look-ups at any age: the
//! first undo row above the height, else the latest row. Undecided blocks are write sets over the store, so
//! the same code reads them.
//!
//! - [`StateView`] reads, at the newest state or at a height.
//! - [`BlockState`] turns the [`StateChanges`] of a block into rows and the new state root.
//! - [`StateTries`] computes the roots of simulated blocks.
//! - [`StateView::walk_accounts`] and [`StateView::walk_slots`] go through all of it, in parts.
//! - [`StateRestore`] checks a whole state that comes from elsewhere, and writes its tries.
//! - [`prune`] forgets the undo rows of a height.

mod apply;
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
pub use changes::{AccountChange, AccountParts, StateChanges};
pub use restore::{RestoreError, StateRestore};
pub use rows::{StoredAccount, StoredSlot, StoredSum, UndoKeys};
pub use tries::StateTries;
pub use view::{AccountNodes, At, StateView, StorageNodes, asset_slot};
pub use walk::WalkPart;

/// Why state can't be read or written.
#[derive(Debug, Error)]
pub enum StateError {
    /// A trie can't be read.
    #[error(transparent)]
    Trie(#[from] TrieError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// An account names code that is not there.
    #[error("code {0} is missing")]
    MissingCode(alloy_primitives::B256),
}
