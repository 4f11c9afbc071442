//! Changes of the validators at a height (docs/protocol/validators.md, "Changes of the validators").
//!
//! * `signing.rs`: signatures of changes, whose form `esker-validators` has.
//! * `history.rs`: the validators of each epoch, from the network file and the changes.
//! * `agreement.rs`: approvals and promises, until a change is agreed.
//! * `state.rs`: what a running validator has of all that, and its files.
//! * `gossip.rs`: passes it on to the peers.
//! * `adapter.rs`, `channel.rs`: the same for the library.

mod adapter;
mod agreement;
mod channel;
mod gossip;
#[cfg(test)]
pub(crate) mod harm;
mod history;
mod message;
mod promise;
mod signing;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use adapter::{Epochs, Guarded, Schemes};
pub(crate) use channel::of_epoch;
pub(crate) use gossip::{Gossip, Track, run};
pub use history::ChangeHistory;
pub(crate) use state::ChangeState;
