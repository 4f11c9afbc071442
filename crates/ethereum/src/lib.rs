//! Ethereum's rules as functions over plain values: which fork a block belongs to, how its header follows from its
//! parent's, and what the block does at its beginning and end. Only [`rules`] touches a state; `esker-evm-execution`
//! executes code.
//!
//! - [`forks`]: the forks, and the configuration of a chain as a genesis file has it.
//! - [`genesis`]: the first block of a genesis file.
//! - [`block`]: headers and blocks and their bytes.
//! - [`check`]: a header against its parent, a body and requests against the header.
//! - [`difficulty`], [`ommers`]: proof of work, without its seal.
//! - [`blobs`]: the excess of blob gas.
//! - [`system`]: calls of the system, withdrawals, rewards and requests, as descriptions.
//! - [`execution`]: the rules of code and transactions.
//! - [`rules`]: all of it behind the interface of `esker-evm-execution`.
//!
//! Texts of errors are those of go-ethereum, where it has one.

pub mod blobs;
pub mod block;
pub mod check;
pub mod difficulty;
pub mod execution;
pub mod forks;
pub mod genesis;
pub mod ommers;
pub mod rules;
pub mod system;
