//! The C-Chain: an EVM chain with real state, rules and fees. Below this crate are `esker-evm-execution`, which runs
//! transactions under the rules, and `esker-evm-state`: the forms of blocks, the state and the index of logs.
//!
//! - [`oracle`]: suggested fees.
//! - [`accounts`]: accounts whose keys the node holds.
//! - [`pool`]: transactions that wait for a block.
//! - [`extension`]: the port for the ext data of blocks.
//! - [`fork_point`]: the block of another node on which a chain began.
//! - [`control`]: controls of a development network.
//! - [`printed`]: what the code of calls prints, for those who follow it.
//! - [`call_lines`]: the calls of a run as lines, with names.
//! - [`runs`]: reports of what calls and transactions ran.
//! - [`view`]: the ports through which services read the chain and the pool.
//! - [`verify`]: verifying blocks, and assembling the node's own.

pub mod accounts;
mod audit;
pub mod call_lines;
pub mod chain;
mod contracts;
pub mod control;
pub mod extension;
pub mod fork_point;
mod names;
pub mod oracle;
pub mod pool;
pub mod printed;
pub mod runs;
mod total_difficulty;
pub mod verify;
pub mod view;
