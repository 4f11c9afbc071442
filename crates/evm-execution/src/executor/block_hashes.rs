//! Hashes of blocks for BLOCKHASH.

use alloy_primitives::B256;
use esker_evm_state::state::StateError;

/// Hashes of the ancestors of the executed block, for BLOCKHASH.
pub trait BlockHashes {
    /// The hash of the ancestor at a height; `None` if it is not known.
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError>;
}

impl<F: Fn(u64) -> Result<Option<B256>, StateError>> BlockHashes for F {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        self(number)
    }
}

/// No ancestor is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHashes;

impl BlockHashes for NoHashes {
    fn block_hash(&self, _: u64) -> Result<Option<B256>, StateError> {
        Ok(None)
    }
}
