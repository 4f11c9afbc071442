//! Engines that order bundles of blocks by driving [`esker_chain::ChainMachine`].
//!
//! [`Solo`] is a network of one validator: its proposals are final at once. [`Idle`] makes no blocks. [`GatedSolo`] has a gate before finality,
//! for tests of undecided state. Engines do not inspect transactions, and this crate has no consensus protocol.

mod gated;
mod idle;
mod next;
mod solo;

pub use gated::{Gate, GatedSolo};
pub use idle::Idle;
pub use solo::Solo;
