//! The parameters of a chain that execution needs.

use std::sync::Arc;

use alloy_primitives::Address;
use esker_primitives::Id;

use super::CodeCache;
use crate::rules::{BLACKHOLE, Rules};

/// The chain on which code runs; cheap to clone.
#[derive(Clone, Debug)]
pub struct ChainParams {
    /// Its rules.
    pub rules: Arc<dyn Rules>,
    /// Number of the network, for warp messages.
    pub network_id: u32,
    /// ID of the blockchain, for warp messages.
    pub blockchain_id: Id,
    /// Cache of recently used contracts.
    pub codes: Arc<CodeCache>,
}

/// Whether an address can never send a transaction nor be a created contract: the fee address, and the ranges of
/// precompiled contracts.
pub fn is_prohibited(address: &Address) -> bool {
    let bytes = address.as_slice();
    *address == BLACKHOLE
        || (matches!(bytes[0], 1..=3) && bytes[1..19].iter().all(|byte| *byte == 0))
}
