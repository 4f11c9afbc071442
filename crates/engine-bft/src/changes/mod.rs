//! Changes of the validators at a height (docs/protocol/validators.md, "Changes of the validators").
//!
//! * `document.rs`: a change, and a change with the signatures of a quorum. It can be checked without any other data.
//! * `history.rs`: the validators of each epoch, from the network file and the changes.
//! * `agreement.rs`: approvals and promises, until a change is agreed.
//! * `state.rs`: what a running validator has of all that, and its files.
//! * `gossip.rs`: passes it on to the peers.
//! * `adapter.rs`, `channel.rs`: the same for the library.

mod adapter;
mod agreement;
mod channel;
mod document;
mod gossip;
mod history;
mod message;
mod promise;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use adapter::{Epochs, Guarded, Schemes};
pub use agreement::{ApprovalError, Proposal};
pub(crate) use channel::of_epoch;
pub use document::{ChangeError, SetChange, SignedChange};
pub(crate) use gossip::{Gossip, Track, run};
pub use history::ChangeHistory;
pub(crate) use state::ChangeState;
pub use state::{ChangeLog, ChangeStatus, MemoryChangeLog};
