//! Adds transactions to the pool's books, and updates the books after blocks.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use esker_evm_execution::rules::Revision;

use super::account::{AccountChanges, AccountTxs};
use super::books::{PoolChanges, PoolState};
use super::checks::{AccountRead, AccountState, NextBlock};
use super::drops::DropReason;
use super::limits::IncomingTx;
use super::{NewHead, PoolConfig, PoolError, PooledTx, RefusedTxs};

impl PoolState {
    /// Adds a transaction whose account is being admitted.
    pub(super) fn add(
        &mut self,
        tx: PooledTx,
        read: AccountRead,
        next: &NextBlock,
        now_ms: u64,
        config: &PoolConfig,
        outcome: &mut PoolChanges,
    ) -> Result<(), PoolError> {
        if self.by_hash.contains_key(&tx.hash()) {
            return Err(PoolError::AlreadyKnown);
        }
        let (sender, nonce) = (tx.sender(), tx.nonce());
        let account = self.accounts.entry(sender).or_default();
        if account.is_empty() && read.height >= account.height {
            (account.state, account.height) = (read.state, read.height);
        }
        // The state may be newer or older than the last block that the pool knows.
        let state = if read.height >= account.height { read.state } else { account.state };
        let replaced = account.pending().get(&nonce).map(PooledTx::cost);
        state.check(&tx, account.pending_cost(), replaced, config.checks_balance)?;
        let (old, next_nonce) = (account.get(nonce).cloned(), account.next_nonce());
        if next.rules.revision >= Revision::Prague {
            self.check_delegation(&tx, read.has_code)?;
        }
        match &old {
            Some(old) if !tx.replaces(old, config.price_bump) => {
                return Err(PoolError::ReplacementUnderpriced);
            }
            Some(old) => self.check_growth(&tx, old, config)?,
            None => {
                let is_gapped = nonce > next_nonce;
                let newcomer = IncomingTx { tx: &tx, is_gapped, base_fee: next.base_fee };
                self.make_room(newcomer, config, outcome)?;
            }
        }
        self.place(tx, old, now_ms, outcome);
        self.trim_queue([sender], config, outcome);
        self.expire(now_ms, config, outcome);
        Ok(())
    }

    /// Refuses what the next block can't have. A nonce that was used is left to [`Self::add`].
    pub(super) fn check_in_next(
        &self,
        tx: &PooledTx,
        state: &AccountState,
        next: &NextBlock,
        refused: RefusedTxs,
    ) -> Result<(), PoolError> {
        let (nonce, fee_cap, base_fee) = (tx.nonce(), tx.fee_cap(), next.base_fee);
        if refused == RefusedTxs::None || nonce < state.nonce {
            return Ok(());
        }
        if fee_cap < base_fee {
            return Err(PoolError::BelowBaseFee { fee_cap, base_fee });
        }
        let waiting = self.accounts.get(&tx.sender()).map_or(0, AccountTxs::next_nonce);
        let next = waiting.max(state.nonce);
        match refused == RefusedTxs::NotInNextBlock && nonce > next {
            true => Err(PoolError::NonceTooHigh { next, nonce }),
            false => Ok(()),
        }
    }

    /// Refuses a replacement if it is longer than the replaced transaction and there is no room.
    fn check_growth(
        &self,
        tx: &PooledTx,
        old: &PooledTx,
        config: &PoolConfig,
    ) -> Result<(), PoolError> {
        let limit = config.global_slots.saturating_add(config.global_queue);
        let is_longer = tx.slots() > old.slots();
        let slots = (self.slots + tx.slots()).saturating_sub(old.slots());
        let bytes = (self.bytes + tx.size()).saturating_sub(old.size());
        let is_too_long = (is_longer && slots > limit) || bytes > config.max_bytes;
        if is_too_long { Err(PoolError::Full) } else { Ok(()) }
    }

    /// Adds a transaction in place of `old`, and promotes the transactions that waited for it.
    fn place(
        &mut self,
        tx: PooledTx,
        old: Option<PooledTx>,
        now_ms: u64,
        outcome: &mut PoolChanges,
    ) {
        let sender = tx.sender();
        let was_pending = self
            .accounts
            .get(&sender)
            .is_some_and(|account| account.pending().contains_key(&tx.nonce()));
        if let Some(old) = old {
            self.untrack(&old, was_pending);
            outcome.drop(old, DropReason::Replaced { by: tx.hash() });
        }
        let idle = self.idle_since(now_ms);
        let account = self.accounts.entry(sender).or_default();
        account.idle = idle;
        let is_pending = account.insert(tx.clone());
        let mut changes = AccountChanges::default();
        account.promote(&mut changes);
        self.max_gas = self.max_gas.max(tx.tx().gas_limit());
        self.track(&tx, is_pending);
        if is_pending {
            outcome.promoted.push(tx);
        }
        self.apply(sender, changes, &|_| true, outcome);
    }

    /// Follows a new head.
    pub(super) fn settle(
        &mut self,
        head: &NewHead<'_>,
        config: &PoolConfig,
        outcome: &mut PoolChanges,
    ) {
        for (address, state) in head.accounts {
            let Some(account) = self.accounts.get_mut(address) else { continue };
            if head.height < account.height {
                continue;
            }
            (account.state, account.height) = (*state, head.height);
            self.settle_account(*address, (head, config), outcome);
        }
        if head.gas_limit < self.max_gas {
            self.max_gas = head.gas_limit;
            let too_much = self.accounts.iter().filter(|(_, a)| a.exceeds_gas(head.gas_limit));
            let too_much: Vec<Address> = too_much.map(|(address, _)| *address).collect();
            for address in too_much {
                self.settle_account(address, (head, config), outcome);
            }
        }
        self.trim_queue(head.accounts.iter().map(|(address, _)| *address), config, outcome);
        self.expire(head.now_ms, config, outcome);
    }

    /// Removes a transaction for a reason of its own.
    pub(super) fn withdraw(
        &mut self,
        hash: &B256,
        reason: DropReason,
        (config, now_ms): (&PoolConfig, u64),
        outcome: &mut PoolChanges,
    ) {
        let Some(&(owner, nonce)) = self.by_hash.get(hash) else { return };
        let idle = self.idle_since(now_ms);
        let Some(account) = self.accounts.get_mut(&owner) else { return };
        if account.queued().is_empty() {
            account.idle = idle;
        }
        let changes = account.withdraw(nonce, reason);
        self.apply(owner, changes, &|_| true, outcome);
        self.trim_queue([owner], config, outcome);
    }

    fn settle_account(
        &mut self,
        address: Address,
        (head, config): (&NewHead<'_>, &PoolConfig),
        outcome: &mut PoolChanges,
    ) {
        let idle = self.idle_since(head.now_ms);
        let Some(account) = self.accounts.get_mut(&address) else { return };
        let had_queued = !account.queued().is_empty();
        let changes = account.settle(head.gas_limit, config.checks_balance);
        if !had_queued {
            account.idle = idle;
        }
        self.apply(address, changes, head.is_mined, outcome);
    }

    /// Applies an account's changes to the books.
    fn apply(
        &mut self,
        address: Address,
        changes: AccountChanges,
        is_mined: &dyn Fn(&B256) -> bool,
        outcome: &mut PoolChanges,
    ) {
        let AccountChanges { promoted, demoted, used, unfit } = changes;
        for (txs, is_pending) in [(&promoted, true), (&demoted, false)] {
            for tx in txs {
                self.by_price.remove(tx, !is_pending);
                self.by_price.insert(tx, is_pending);
            }
        }
        for (tx, was_pending) in used {
            self.untrack(&tx, was_pending);
            if !is_mined(&tx.hash()) {
                let reason = DropReason::NonceUsed(tx.nonce());
                outcome.drop(tx, reason);
            }
        }
        for (tx, was_pending, reason) in unfit {
            self.untrack(&tx, was_pending);
            outcome.drop(tx, reason);
        }
        outcome.promoted.extend(promoted);
        self.sync(address);
    }
}
