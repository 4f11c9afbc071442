//! The known part of the base state, and its readers.

mod extract;
mod facts;
mod implied;
mod known;
mod view;

pub use facts::BaseAccount;
pub(crate) use facts::{Fact, Trie, decode_account, decode_slot, is_checked, is_of_asset};
pub(crate) use known::KnownState;
pub use known::StateCounts;
pub use view::{BaseAccountNodes, BaseStorageNodes, BaseView, Lookup};
