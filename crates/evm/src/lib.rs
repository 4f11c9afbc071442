//! The C-Chain: an EVM chain with real state, rules and fees. The forms of its blocks, its state and the index of its
//! logs are `esker-evm-state`, below this crate.
//!
//! - [`oracle`]: what fees are suggested.
//! - [`accounts`]: accounts whose keys the node holds.
//! - [`pool`]: transactions that wait for a block.
//! - [`rules`]: what holds when, one file a fork phase; nothing else asks which chain it is.
//! - [`executor`]: running transactions, with revm.
//! - [`call`]: unsigned calls, gas estimates, access lists.
//! - [`simulate`]: blocks of calls that are not made.
//! - [`trace`]: watching transactions run.
//! - [`extension`]: the port for what blocks carry beside EVM transactions.
//! - [`control`]: controls of a development network.
//! - [`view`]: what services read of the chain and of the pool.
//! - [`genesis`]: the first block.
//! - [`verify`]: verifying blocks, and giving one's own their final form.

pub mod accounts;
mod audit;
pub mod call;
pub mod chain;
pub mod control;
pub mod executor;
pub mod extension;
pub mod genesis;
pub mod oracle;
pub mod pool;
pub mod rules;
pub mod simulate;
pub mod trace;
pub mod verify;
pub mod view;
