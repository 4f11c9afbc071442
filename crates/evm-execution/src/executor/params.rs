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
    /// Number of the network, which warp messages carry.
    pub network_id: u32,
    /// ID of the blockchain, which warp messages carry.
    pub blockchain_id: Id,
    /// Contracts used last.
    pub codes: Arc<CodeCache>,
}

/// May this address never send a transaction nor be a created contract? The fee address, and the ranges in
/// which precompiled contracts lie.
pub fn is_prohibited(address: &Address) -> bool {
    let bytes = address.as_slice();
    *address == BLACKHOLE
        || (matches!(bytes[0], 1..=3) && bytes[1..19].iter().all(|byte| *byte == 0))
}
