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
//! Where the node signs for users of its keystore, [`wallet`] builds the transactions.
//!
//! Start with [`Tx`](esker_transactions::xvm::Tx) for the data, [`state::tables`] for what is stored, `chain` for the chain.

#![warn(
    clippy::wildcard_enum_match_arm,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects
)]

pub mod genesis;
pub mod service;
pub mod state;
pub mod verify;
pub mod wallet;

mod assets;
mod chain;
mod execute;
mod pool;
mod takeover;

pub use assets::GenesisAssets;
pub use chain::{IssueError, Issued, MAX_FUTURE_S, TARGET_BLOCK_BYTES, Xvm, XvmConfig};
pub use execute::{BlockPayload, exported_element};
pub use pool::{MAX_WALLET_BYTES, MAX_WALLET_TXS, MempoolError, MempoolLimits, WalletFull};
pub use state::{IndexProgress, TxStatus};
pub use takeover::{Takeover, TakeoverOrigin};
