//! Locks of senders: two transactions of one account that are made at once get different nonces.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use esker_primitives::sync::Mutex;

/// Number of locks. Two accounts may share a lock.
const SENDER_LOCKS: usize = 64;

/// A lock for each account. It is held from the choice of a nonce until the transaction is in a pool.
#[derive(Debug)]
pub struct SenderLocks([Mutex<()>; SENDER_LOCKS]);

impl Default for SenderLocks {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::new_named("evm.sender", ())))
    }
}

impl SenderLocks {
    /// Runs `work` under the account's lock.
    pub fn with_lock<R>(&self, account: Address, work: impl FnOnce() -> R) -> R {
        self.with_locks([account], work)
    }

    /// Runs `work` under the locks of the accounts. `work` must not take further locks.
    pub fn with_locks<R>(
        &self,
        accounts: impl IntoIterator<Item = Address>,
        work: impl FnOnce() -> R,
    ) -> R {
        // The locks are taken in ascending order, so that two callers never wait for each other.
        let places: BTreeSet<usize> = accounts.into_iter().map(place).collect();
        let _held: Vec<_> = places.into_iter().map(|place| self.0[place].lock()).collect();
        work()
    }
}

fn place(account: Address) -> usize {
    usize::from(account.0[Address::len_bytes() - 1]) % SENDER_LOCKS
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn callers_with_several_accounts_exclude_each_other_and_never_block_for_ever() {
        let (locks, inside) = (SenderLocks::default(), AtomicUsize::new(0));
        let account = |n: u8| Address::repeat_byte(n);
        std::thread::scope(|scope| {
            for n in 0..4u8 {
                let (locks, inside) = (&locks, &inside);
                scope.spawn(move || {
                    for round in 0..200u8 {
                        // Any order, one of them twice; all have the first in common.
                        let others = [account(1), account(n), account(round), account(1)];
                        locks.with_locks(others.into_iter().rev(), || {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            inside.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                });
            }
        });
    }
}
