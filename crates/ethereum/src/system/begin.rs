//! The beginning of a block.

use alloy_consensus::Header;
use alloy_eips::eip2935::HISTORY_STORAGE_ADDRESS;
use alloy_eips::eip4788::BEACON_ROOTS_ADDRESS;
use alloy_primitives::{Address, B256, Bytes};

use crate::forks::{ChainConfig, Fork};

/// Gas of a call of the system. It costs nobody anything and does not count as the block's.
pub const SYSTEM_CALL_GAS: u64 = 30_000_000;

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

/// What a block does before its first transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockBegin {
    /// Whether the balances of [`super::DRAINED`] move to [`super::REFUND`], before all calls.
    pub drains_dao: bool,
    /// Calls in their order. Failures are ignored.
    pub calls: Vec<SystemCall>,
}

/// What a block does before its first transaction. The first block of a chain does nothing.
pub fn begin(config: &ChainConfig, header: &Header) -> BlockBegin {
    if header.number == 0 {
        return BlockBegin::default();
    }
    let is_merged = header.difficulty.is_zero();
    let fork = config.fork_at(header.number, header.timestamp, is_merged);
    let beacon_root = header.parent_beacon_block_root.unwrap_or_default();
    let calls = begin_calls(fork, beacon_root, header.parent_hash);
    BlockBegin { drains_dao: config.is_dao_block(header.number), calls }
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
    use alloy_primitives::U256;

    use super::*;

    #[test]
    fn calls_come_with_their_forks() {
        let header = Header {
            number: 1,
            parent_hash: B256::repeat_byte(2),
            parent_beacon_block_root: Some(B256::repeat_byte(3)),
            ..Header::default()
        };
        let begun = |fork, header: &Header| begin(&ChainConfig::development(1, fork), header);
        assert_eq!(begun(Fork::Shanghai, &header), BlockBegin::default());
        let beacon = SystemCall::new(BEACON_ROOTS_ADDRESS, B256::repeat_byte(3));
        let history = SystemCall::new(HISTORY_STORAGE_ADDRESS, B256::repeat_byte(2));
        assert_eq!(begun(Fork::Cancun, &header).calls, std::slice::from_ref(&beacon));
        assert_eq!(begun(Fork::Osaka, &header).calls, [beacon, history]);
        let first = Header { number: 0, ..header };
        assert_eq!(begun(Fork::Osaka, &first), BlockBegin::default());
    }

    #[test]
    fn the_dao_is_drained_in_one_block() {
        let header = |number| Header { number, difficulty: U256::ONE, ..Header::default() };
        let mainnet = ChainConfig::mainnet();
        assert!(begin(&mainnet, &header(1_920_000)).drains_dao);
        assert!(!begin(&mainnet, &header(1_920_001)).drains_dao);
    }
}
