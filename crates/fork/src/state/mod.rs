//! The known part of the base state, and its readers.

mod facts;
mod known;
mod view;

pub use facts::BaseAccount;
pub(crate) use facts::{Fact, Trie, decode_account, decode_slot};
pub(crate) use known::KnownState;
pub use known::StateCounts;
pub use view::{BaseAccountNodes, BaseStorageNodes, BaseView, Lookup};
