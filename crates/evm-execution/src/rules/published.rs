//! What a chain publishes of its forks (EIP-7910).

use alloy_primitives::Address;

use super::execution::BlobLimits;

/// A fork, and what it brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkConfig {
    /// Unix s; 0 if the fork is active from genesis on.
    pub activation_time: u64,
    /// The fork hash (EIP-6122).
    pub fork_hash: [u8; 4],
    /// Limits of blobs; `None` if the chain shows none.
    pub blobs: Option<BlobLimits>,
    /// The precompiled contracts by name.
    pub precompiles: Vec<(&'static str, Address)>,
    /// The system contracts by name.
    pub system_contracts: Vec<(&'static str, Address)>,
}

/// The forks around a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkConfigs {
    /// The one that holds.
    pub current: ForkConfig,
    /// The one that follows; `None` after the last.
    pub next: Option<ForkConfig>,
    /// The last one; `None` if it holds already.
    pub last: Option<ForkConfig>,
}
