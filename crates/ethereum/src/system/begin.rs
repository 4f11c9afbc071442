//! The beginning of a block.

use alloy_eips::eip2935::HISTORY_STORAGE_ADDRESS;
use alloy_eips::eip4788::BEACON_ROOTS_ADDRESS;
use alloy_primitives::{Address, B256, Bytes};
use esker_evm_execution::rules::SYSTEM_CALL_GAS;

use crate::forks::Fork;

/// A call by [`super::SYSTEM_ADDRESS`] without value. It is not made if the contract has no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// The contract.
    pub address: Address,
    /// The input.
    pub input: Bytes,
    /// Gas.
    pub gas: u64,
}

impl SystemCall {
    pub(super) fn new(address: Address, input: impl Into<Bytes>) -> Self {
        Self { address, input: input.into(), gas: SYSTEM_CALL_GAS }
    }
}

/// The calls before the first transaction of a block, in their order (EIP-4788, EIP-2935).
pub fn begin_calls(fork: Fork, beacon_root: B256, parent_hash: B256) -> Vec<SystemCall> {
    let mut calls = Vec::new();
    if fork >= Fork::Cancun {
        calls.push(SystemCall::new(BEACON_ROOTS_ADDRESS, beacon_root));
    }
    if fork >= Fork::Prague {
        calls.push(SystemCall::new(HISTORY_STORAGE_ADDRESS, parent_hash));
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_with_their_forks() {
        let (root, hash) = (B256::repeat_byte(3), B256::repeat_byte(2));
        let begun = |fork| begin_calls(fork, root, hash);
        assert!(begun(Fork::Shanghai).is_empty());
        let beacon = SystemCall::new(BEACON_ROOTS_ADDRESS, root);
        let history = SystemCall::new(HISTORY_STORAGE_ADDRESS, hash);
        assert_eq!(begun(Fork::Cancun), std::slice::from_ref(&beacon));
        assert_eq!(begun(Fork::Osaka), [beacon, history]);
    }
}
