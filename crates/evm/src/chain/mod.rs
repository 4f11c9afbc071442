//! The chain itself: blocks in the store, building, accepting.
//!
//! [`Evm`] is the chain as the machine drives it; [`ChainView`] reads blocks, receipts and state through any reader.

mod builder;
mod cache;
mod config;
mod genesis_source;
mod journal;
mod maintenance;
mod nonces;
mod reader;
mod view;
mod vm;

use esker_storage::StorageError;
use thiserror::Error;

pub use config::{BuildMode, EvmConfig, PRUNED_WINDOW};
pub use genesis_source::GenesisSource;
pub use view::{Ancestors, ChainView};
pub use vm::{AcceptedBlock, Evm};

/// Why the chain can't be read.
#[derive(Debug, Error)]
pub enum ChainReadError {
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The store holds no block of this chain.
    #[error("the chain has no last block")]
    NoTip,
    /// A stored block can't be decoded.
    #[error("the stored block {height} is damaged: {cause}")]
    Damaged {
        /// Its height.
        height: u64,
        /// What is wrong.
        cause: alloy_rlp::Error,
    },
}

/// Why a transaction was not taken.
#[derive(Debug, Error)]
pub enum SubmitError {
    /// The pool refused it; the text is for its sender.
    #[error(transparent)]
    Pool(#[from] crate::pool::PoolError),
    /// The fees of the next block can't be told.
    #[error(transparent)]
    Fees(#[from] crate::rules::FeeRuleError),
    /// The chain can't be read.
    #[error(transparent)]
    Chain(#[from] ChainReadError),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] esker_evm_state::state::StateError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
