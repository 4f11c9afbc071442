//! The parameters of a chain that execution needs.

use std::ops::RangeInclusive;
use std::sync::Arc;

use alloy_primitives::Address;
use esker_primitives::Id;

use super::CodeCache;
use crate::rules::{BLACKHOLE, Rules};

/// EVM chain IDs that fit into the signature of an old transaction (EIP-2294).
pub const EVM_CHAIN_IDS: RangeInclusive<u64> = 1..=u64::MAX / 2 - 36;

/// A chain whose blocks are executed; cheap to clone.
#[derive(Clone, Debug)]
pub struct ChainParams {
    /// Its rules.
    pub rules: Arc<dyn Rules>,
    /// The parameters of its code.
    pub machine: MachineParams,
    /// Whether blocks keep what their transactions print ([`crate::console`]).
    pub keeps_console: bool,
    /// Whether blocks keep which accounts their transactions touched.
    pub keeps_touched: bool,
}

/// The parameters that code depends on, besides its block; cheap to clone.
#[derive(Clone, Debug)]
pub struct MachineParams {
    /// The chain's EIP-155 number, unless [`super::CONTROL_VALUES`] has another one.
    pub chain_id: u64,
    /// Whether the state may have [`super::CONTROL_VALUES`].
    pub has_control_values: bool,
    /// Number of the network, for warp messages.
    pub network_id: u32,
    /// ID of the blockchain, for warp messages.
    pub blockchain_id: Id,
    /// Cache of recently used contracts.
    pub codes: Arc<CodeCache>,
}

impl ChainParams {
    /// A chain with these rules, and an empty cache.
    pub fn new(rules: Arc<dyn Rules>, network_id: u32, blockchain_id: Id) -> Self {
        let (chain_id, codes) = (rules.chain_id(), Arc::new(CodeCache::default()));
        let has_control_values = rules.has_control_values();
        let machine =
            MachineParams { chain_id, has_control_values, network_id, blockchain_id, codes };
        Self { rules, machine, keeps_console: false, keeps_touched: false }
    }
}

/// Whether an address can never send a transaction nor be a created contract: the fee address, and the ranges of
/// precompiled contracts.
pub fn is_prohibited(address: &Address) -> bool {
    let bytes = address.as_slice();
    *address == BLACKHOLE
        || (matches!(bytes[0], 1..=3) && bytes[1..19].iter().all(|byte| *byte == 0))
}
