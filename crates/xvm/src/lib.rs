//! The asset VM: a chain of UTXO transactions over any number of assets, the X-Chain among others.
//!
//! Consensus data ([`esker_transactions::xvm`], [`genesis`]) is immutable and carries what is derived from it. Its
//! rules that need no state are plain functions ([`verify::syntactic`]); those that do read it through
//! [`state::ChainState`] ([`verify::semantic`]).
//!
//! [`Xvm`] is one chain: [`Xvm::issue`] takes transactions in, the machine builds, verifies and accepts blocks of
//! them through [`esker_chain::ChainVm`], and [`Xvm::view`] is what services read. Everything that a block changes
//! is one write set; nothing here writes to the store but maintenance, in small commits of its own. No lock is held
//! while a signature is checked or the store is read.
//!
//! Where the node signs for users of its keystore, [`spend`] builds the transactions.
//!
//! Start with [`Tx`](esker_transactions::xvm::Tx) for the data, [`state::tables`] for what is stored, `vm.rs` for the chain.

#![warn(
    clippy::wildcard_enum_match_arm,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects
)]

pub mod genesis;
pub mod service;
pub mod spend;
pub mod state;
pub mod verify;

mod assets;
mod audit;
mod builder;
mod built;
mod events;
mod execute;
mod figures;
mod forward;
mod index;
mod issue;
mod journal;
mod log;
mod maintenance;
mod mempool;
mod rewind;
mod snapshot;
mod status;
mod vm;
mod wallet;

pub use assets::GenesisAssets;
pub use builder::{MAX_FUTURE_S, TARGET_BLOCK_BYTES};
pub use execute::{BlockPayload, exported_element};
pub use forward::Issued;
pub use index::IndexProgress;
pub use issue::IssueError;
pub use mempool::{MempoolError, MempoolLimits};
pub use status::TxStatus;
pub use vm::{Xvm, XvmConfig};
pub use wallet::{MAX_WALLET_BYTES, MAX_WALLET_TXS, WalletFull};
