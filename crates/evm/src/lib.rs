//! The C-Chain: an EVM chain with real state, rules and fees. Below this crate are `esker-evm-execution`, which runs
//! transactions under the rules, and `esker-evm-state`: the forms of blocks, the state and the index of logs.
//!
//! - [`oracle`]: what fees are suggested.
//! - [`accounts`]: accounts whose keys the node holds.
//! - [`pool`]: transactions that wait for a block.
//! - [`extension`]: the port for what blocks carry beside EVM transactions.
//! - [`control`]: controls of a development network.
//! - [`view`]: what services read of the chain and of the pool.
//! - [`verify`]: verifying blocks, and giving one's own their final form.

pub mod accounts;
mod audit;
pub mod chain;
pub mod control;
pub mod extension;
pub mod oracle;
pub mod pool;
pub mod verify;
pub mod view;
