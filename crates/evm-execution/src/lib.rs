//! The execution of EVM chains: rules, and transactions and calls that run under them on a state. This crate has no
//! block tree, no pool and no verifier: these are in `esker-evm`, above this crate.
//!
//! - [`rules`]: the interface of a chain's rules, and the C-Chain's. Nothing else depends on which chain it is.
//! - [`executor`]: executing transactions with revm.
//! - [`call`]: unsigned calls, gas estimates, access lists.
//! - [`simulate`]: simulated blocks of calls.
//! - [`trace`]: tracing transactions.
//! - [`console`]: texts that contracts print for their developers.
//! - [`witness`]: what a block needs of the state before it.
//! - [`genesis`]: the first block.

pub mod call;
pub mod console;
pub mod executor;
pub mod genesis;
pub mod rules;
pub mod simulate;
pub mod trace;
pub mod witness;
