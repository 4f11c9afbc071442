//! Addresses with a meaning on the C-Chain.

use alloy_primitives::{Address, address};

use crate::rules::execution::{ExecutionRules, Revision};

/// The recipient of all fees: an address without a key.
pub const BLACKHOLE: Address = address!("0x0100000000000000000000000000000000000000");

/// The contract for beacon roots, if it is deployed (EIP-4788).
const BEACON_ROOTS: Address = address!("0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02");

/// The contract of the system call before a block's first transaction.
pub(super) fn beacon_roots(rules: &ExecutionRules) -> Option<Address> {
    (rules.revision >= Revision::Cancun).then_some(BEACON_ROOTS)
}
