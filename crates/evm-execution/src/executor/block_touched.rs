//! The accounts that the transactions of a block touch, for an index of addresses.

use alloy_primitives::Address;

/// The accounts that the transactions of a block so far touched.
#[derive(Debug, Default)]
pub(super) struct BlockTouched(Vec<(Address, u32)>);

impl BlockTouched {
    /// Adds the accounts of the transaction with this index, in any order.
    pub(super) fn push(&mut self, index: u32, accounts: impl Iterator<Item = Address>) {
        self.0.extend(accounts.map(|account| (account, index)));
    }

    /// The accounts with the transactions that touched them: each pair once, in ascending order.
    pub(super) fn into_sorted(mut self) -> Vec<(Address, u32)> {
        self.0.sort_unstable();
        self.0.dedup();
        self.0
    }
}
