//! The P-Chain as an observed chain: a follower of AvalancheGo applies what P's blocks change in shared memory, and
//! nothing else of them.
//!
//! [`Block::parse`] reads any block of P up to Etna. Of its transactions only imports and exports matter here; all
//! others are read to their end and skipped. Stakes, rewards, validators, P's own UTXOs and all signatures are neither
//! verified nor kept: the followed node has decided.
//!
//! [`Platform`] is the chain for the machine, so that a block of P is one write like any other, is exported and imported
//! with the others, and can be verified on the disk. It never builds and has no pool.
//!
//! Start with `txs/block.rs`; `txs/tx.rs` lists the types of transactions, `execute.rs` has what they change, and
//! `chain` is the chain.

#![warn(
    clippy::wildcard_enum_match_arm,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects
)]

mod chain;
mod execute;
mod state;
mod txs;

pub use chain::Platform;
pub use txs::{Block, BlockKind, Exchange, ParseError, Tx, TxKind};
