//! Moving assets between the C-Chain and the other chains: atomic transactions, which EVM blocks carry beside
//! their own (docs/protocol/atomic-transactions.md, "Atomic transactions").
//!
//! - [`verify`], [`execute`]: whether one is valid, and what it changes.
//! - [`pool`]: those that wait for a block, and those given up lately.
//! - [`state`]: accepted ones by ID.
//! - [`wallet`]: building them from keys; [`service`]: the `nat` namespace; [`json`]: how a node shows them.
//! - [`AtomicExtension`]: all that as the extension of the chain's blocks.
//! - [`Nat`]: the chain and its extension as services see them: [`Nat::submit`], [`Nat::verify`], [`Nat::find`],
//!   [`Nat::status`], [`Nat::next_base_fee`]; names, clock and store (balances, shared memory) through [`Nat::context`] and
//!   [`Nat::evm`].
//!
//! Nothing here runs EVM code, and `evm` knows nothing of UTXOs: the two meet in `evm`'s port for extensions.
//!
//! Start with [`AtomicTx`](esker_transactions::nat::AtomicTx), then [`AtomicExtension`].

#![warn(
    clippy::wildcard_enum_match_arm,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects
)]

pub mod execute;
pub mod json;
pub mod pool;
pub mod service;
pub mod state;
pub mod verify;
pub mod wallet;

mod chain;

pub use chain::{AtomicExtension, AtomicStatus, MAX_BUILT_BYTES, Nat, SubmitError, SubmittedTx};
