//! Makes room in a full pool.
//!
//! A pending transaction stays until it is mined, replaced by its sender, or outbid: a full pool makes room for a
//! transaction that pays more than its cheapest one. The account of the cheapest transaction then loses its last one,
//! since no transaction after the cheapest can be mined before it. Queued transactions have limits of their own: the
//! account that was idle for the longest time makes room.

use std::cmp::Ordering;

use alloy_primitives::Address;

use super::books::{PoolChanges, PoolState};
use super::drops::DropReason;
use super::price::Price;
use super::{PoolConfig, PoolError, PooledTx};

/// A transaction that needs room.
#[derive(Clone, Copy, Debug)]
pub(super) struct IncomingTx<'a> {
    pub(super) tx: &'a PooledTx,
    /// The transaction waits for an earlier nonce.
    pub(super) is_gapped: bool,
    /// Base fee of the next block, wei a gas.
    pub(super) base_fee: u128,
}

/// Which transactions make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidates {
    Pending,
    All,
}

impl PoolState {
    /// Makes room for a transaction by dropping others that pay less. If it is refused, no transaction is dropped.
    pub(super) fn make_room(
        &mut self,
        newcomer: IncomingTx<'_>,
        config: &PoolConfig,
        outcome: &mut PoolChanges,
    ) -> Result<(), PoolError> {
        let tx = newcomer.tx;
        if self.bytes + tx.size() > config.max_bytes {
            return Err(PoolError::Full);
        }
        let limit = config.global_slots.saturating_add(config.global_queue);
        let excess = (self.slots + tx.slots()).saturating_sub(limit);
        if newcomer.is_gapped {
            self.check_queue(tx, config)?;
            return self.outbid(newcomer, excess, Candidates::All, outcome);
        }
        let own = self.accounts.get(&tx.sender()).map_or(0, |account| account.pending().len());
        if self.pending >= config.global_slots && own >= config.account_slots {
            return self.outbid(newcomer, excess.max(1), Candidates::Pending, outcome);
        }
        self.outbid(newcomer, excess, Candidates::All, outcome)
    }

    /// Drops transactions that pay less until enough slots are free.
    fn outbid(
        &mut self,
        newcomer: IncomingTx<'_>,
        slots: usize,
        candidates: Candidates,
        outcome: &mut PoolChanges,
    ) -> Result<(), PoolError> {
        let mut victims: Vec<(PooledTx, bool)> = Vec::new();
        while victims.iter().map(|(victim, _)| victim.slots()).sum::<usize>() < slots {
            match self.next_victim(newcomer, candidates) {
                Ok(victim) => victims.push(victim),
                Err(error) => {
                    // There are not enough victims, so all of them are put back. The one that was removed last comes
                    // first.
                    victims.into_iter().rev().for_each(|(victim, _)| self.put_back(victim));
                    return Err(error);
                }
            }
        }
        for (victim, _) in victims {
            self.sync(victim.sender());
            outcome.drop(victim, DropReason::Outbid { by: newcomer.tx.hash() });
        }
        Ok(())
    }

    /// Removes the next transaction that makes room. Returns it, and whether it was pending.
    fn next_victim(
        &mut self,
        IncomingTx { tx, is_gapped, base_fee }: IncomingTx<'_>,
        candidates: Candidates,
    ) -> Result<(PooledTx, bool), PoolError> {
        self.by_price.pending.set_base_fee(base_fee);
        self.by_price.queued.set_base_fee(base_fee);
        let pending = self.by_price.pending.cheapest();
        let queued = match candidates {
            Candidates::All => self.by_price.queued.cheapest(),
            Candidates::Pending => None,
        };
        // Of equal prices, a queued transaction goes first.
        let cheapest = queued.into_iter().chain(pending).min_by_key(|(worth, _)| *worth);
        let (worth, (owner, nonce)) = cheapest.ok_or(PoolError::Full)?;
        match Price::from_tx(tx).effective_price(base_fee).cmp(&worth) {
            Ordering::Less => return Err(PoolError::Underpriced),
            Ordering::Equal => return Err(PoolError::Full),
            Ordering::Greater => {}
        }
        let is_pending = pending.is_some_and(|(_, place)| place == (owner, nonce));
        let victim = match is_pending {
            false => self.take_queued(&owner, nonce),
            true if is_gapped => return Err(PoolError::FutureReplacesPending),
            // The new transaction could not be mined before its own account's cheapest one.
            true if owner == tx.sender() => return Err(PoolError::Full),
            true => self.take_last_pending(&owner),
        };
        victim.map(|victim| (victim, is_pending)).ok_or(PoolError::Full)
    }

    /// Refuses a queued transaction that would be the next to make room.
    fn check_queue(&self, tx: &PooledTx, config: &PoolConfig) -> Result<(), PoolError> {
        let Some(account) = self.accounts.get(&tx.sender()) else { return Ok(()) };
        let own = account.queued().len();
        let is_last = account.last_queued().is_none_or(|last| last.nonce() < tx.nonce());
        let is_full = own >= config.account_queue
            || (self.queued >= config.global_queue && own == self.queued);
        if is_last && is_full { Err(PoolError::Full) } else { Ok(()) }
    }

    /// Enforces the limits on queued transactions after those of some accounts changed. Each of these accounts, and
    /// then the account that is idle for the longest time, loses its highest nonces.
    pub(super) fn trim_queue(
        &mut self,
        changed: impl IntoIterator<Item = Address>,
        config: &PoolConfig,
        outcome: &mut PoolChanges,
    ) {
        for address in changed {
            let queued =
                |inner: &Self| inner.accounts.get(&address).map_or(0, |a| a.queued().len());
            while queued(self) > config.account_queue && self.drop_last_queued(&address, outcome) {}
        }
        while self.queued > config.global_queue
            && let Some(&(_, address)) = self.by_idle.first()
            && self.drop_last_queued(&address, outcome)
        {}
    }

    fn drop_last_queued(&mut self, address: &Address, outcome: &mut PoolChanges) -> bool {
        let last = self.accounts.get(address).and_then(|account| account.last_queued());
        let Some(nonce) = last.map(PooledTx::nonce) else { return false };
        let Some(tx) = self.take_queued(address, nonce) else { return false };
        self.sync(*address);
        outcome.drop(tx, DropReason::QueueFull);
        true
    }

    /// Drops the queued transactions of accounts that were idle for too long.
    pub(super) fn expire(&mut self, now_ms: u64, config: &PoolConfig, outcome: &mut PoolChanges) {
        while let Some(&(idle, address)) = self.by_idle.first()
            && now_ms.saturating_sub(idle.since_ms) > config.lifetime_ms
        {
            let queued =
                self.accounts.get(&address).map(|account| account.queued().keys().copied());
            let nonces: Vec<u64> = queued.into_iter().flatten().collect();
            for nonce in nonces {
                if let Some(tx) = self.take_queued(&address, nonce) {
                    outcome.drop(tx, DropReason::Expired);
                }
            }
            self.sync(address);
        }
    }
}
