//! Engines that order bundles of blocks by driving [`esker_chain::ChainMachine`].
//!
//! [`Solo`] is a network of one validator: what it proposes is final at once. [`GatedSolo`] is the same with
//! a gate before finality, for tests that look at what is undecided. Engines know nothing of
//! transactions, and nothing here is a consensus protocol.

mod gated;
mod next;
mod solo;

pub use gated::{Gate, GatedSolo};
pub use solo::Solo;
