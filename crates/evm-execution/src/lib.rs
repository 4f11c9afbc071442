//! What code of the C-Chain does: rules, and transactions and calls that run under them on a state. It knows no block
//! tree, no pool and no verifier: the chain is `esker-evm`, above this crate.
//!
//! - [`rules`]: what holds when, one file a fork phase; nothing else asks which chain it is.
//! - [`executor`]: running transactions, with revm.
//! - [`call`]: unsigned calls, gas estimates, access lists.
//! - [`simulate`]: blocks of calls that are not made.
//! - [`trace`]: watching transactions run.
//! - [`genesis`]: the first block.

pub mod call;
pub mod executor;
pub mod genesis;
pub mod rules;
pub mod simulate;
pub mod trace;
