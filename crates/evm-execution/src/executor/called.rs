//! The accounts that code calls.

use alloy_primitives::Address;

/// Addresses that are kept before repeated ones are removed the first time.
const FIRST_ROUND: usize = 1024;

/// The accounts that a message and its code call or create, or pay by SELFDESTRUCT, those of reverted calls included. A
/// call that does not begin (too deep, insufficient balance, an occupied address) does not count.
#[derive(Debug, Default)]
pub(super) struct CalledAccounts {
    addresses: Vec<Address>,
    /// Number of addresses at which repeated ones are removed.
    next_round: usize,
}

impl CalledAccounts {
    /// Adds an account. The memory is bounded by the number of different accounts, which gas bounds.
    pub(super) fn push(&mut self, address: Address) {
        if self.addresses.last() == Some(&address) {
            return;
        }
        if self.addresses.len() >= self.next_round.max(FIRST_ROUND) {
            self.remove_repeated();
            self.next_round = 2 * self.addresses.len();
        }
        self.addresses.push(address);
    }

    pub(super) fn clear(&mut self) {
        self.addresses.clear();
        self.next_round = 0;
    }

    /// Each account once.
    pub(super) fn distinct(&mut self) -> &[Address] {
        self.remove_repeated();
        &self.addresses
    }

    fn remove_repeated(&mut self) {
        self.addresses.sort_unstable();
        self.addresses.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_account_is_kept_once_in_bounded_memory() {
        let mut called = CalledAccounts::default();
        let account = |number: u64| Address::left_padding_from(&number.to_be_bytes());
        for number in 0..100_000 {
            called.push(account(number % 7));
            assert!(called.addresses.len() <= FIRST_ROUND);
        }
        assert_eq!(called.distinct(), (0..7).map(account).collect::<Vec<_>>());
        (0..5000).for_each(|number| called.push(account(number)));
        assert_eq!(called.distinct().len(), 5000);
        called.clear();
        assert!(called.distinct().is_empty());
    }
}
