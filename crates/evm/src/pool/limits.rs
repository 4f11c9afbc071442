//! What happens when the pool is full.

use alloy_primitives::{Address, B256};

use super::account::AccountTxs;
use super::{Inner, PoolConfig, PoolError, PooledTx};

/// What makes one transaction worth more than another when there is no room for both.
type Worth = (Option<u128>, u128, u128);

fn worth(tx: &PooledTx, base_fee: u128) -> Worth {
    (tx.effective_tip(base_fee), tx.fee_cap(), tx.tip_cap())
}

impl Inner {
    /// Makes room for a transaction by dropping cheaper ones.
    pub(super) fn make_room(
        &mut self,
        tx: &PooledTx,
        is_gapped: bool,
        base_fee: u128,
        config: &PoolConfig,
    ) -> Result<(), PoolError> {
        let limit = config.global_slots + config.global_queue;
        if self.slots + tx.slots() <= limit {
            return Ok(());
        }
        let mut cheapest: Vec<(Worth, u64, B256, bool, usize)> = self
            .accounts
            .values()
            .flat_map(|account| {
                let pending = account.pending.values().map(|tx| (tx, true));
                pending.chain(account.queued.values().map(|tx| (tx, false)))
            })
            .map(|(tx, is_pending)| {
                (worth(tx, base_fee), u64::MAX - tx.arrival(), tx.hash(), is_pending, tx.slots())
            })
            .collect();
        cheapest.sort_unstable();
        if cheapest.first().is_some_and(|(least, ..)| worth(tx, base_fee) <= *least) {
            return Err(PoolError::Underpriced);
        }
        let mut needed = self.slots + tx.slots() - limit;
        let mut dropped = Vec::new();
        for (least, _, hash, is_pending, slots) in cheapest {
            if needed == 0 || least >= worth(tx, base_fee) {
                break;
            }
            if is_gapped && is_pending {
                return Err(PoolError::FutureReplacesPending);
            }
            needed = needed.saturating_sub(slots);
            dropped.push(hash);
        }
        if needed > 0 {
            return Err(PoolError::Full);
        }
        for hash in dropped {
            self.remove(&hash);
        }
        Ok(())
    }

    /// Holds the limits on pending and queued ones, highest nonces first to go. `only` is the account that
    /// changed, where it is but one.
    pub(super) fn truncate(&mut self, only: Option<Address>, config: &PoolConfig) {
        let is_crowded = |account: &AccountTxs| account.queued.len() > config.account_queue;
        let crowded: Vec<Address> = match only {
            Some(one) => {
                self.accounts.get(&one).filter(|a| is_crowded(a)).map(|_| one).into_iter().collect()
            }
            None => {
                let crowded = self.accounts.iter().filter(|(_, account)| is_crowded(account));
                crowded.map(|(address, _)| *address).collect()
            }
        };
        for address in crowded {
            self.drop_last(address, is_crowded);
        }
        while self.pending > config.global_slots {
            let most = self.accounts.iter().max_by_key(|(_, account)| account.pending.len());
            let Some((address, account)) = most else { break };
            if account.pending.len() <= config.account_slots {
                break;
            }
            let (address, hash) =
                (*address, account.pending.last_key_value().map(|(_, tx)| tx.hash()));
            match hash {
                Some(hash) => drop(self.remove(&hash)),
                None => drop(self.accounts.remove(&address)),
            }
        }
        while self.queued > config.global_queue {
            let waiting = self.accounts.iter().filter(|(_, account)| !account.queued.is_empty());
            let oldest = waiting.min_by_key(|(address, account)| (account.heard_ms, **address));
            let Some((&address, _)) = oldest else { break };
            let over = self.queued - config.global_queue;
            let mut left = over;
            self.drop_last(address, |_| {
                let more = left > 0;
                left = left.saturating_sub(1);
                more
            });
        }
    }

    /// Drops an account's last queued transactions while `more` says so.
    fn drop_last(&mut self, address: Address, mut more: impl FnMut(&AccountTxs) -> bool) {
        while let Some(account) = self.accounts.get(&address)
            && let Some((_, last)) = account.queued.last_key_value()
            && more(account)
        {
            let hash = last.hash();
            self.remove(&hash);
        }
    }
}
