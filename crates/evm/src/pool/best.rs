//! The order in which a block takes transactions.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[cfg(doc)]
use super::PoolConfig;
use super::price::{EffectivePrice, Price, Rank};
use super::{Pool, PooledTx};

/// Accounts that are read under one lock of the pool.
const CHUNK: usize = 64;

/// Pending transactions in the order of their tips, or of no tip ([`PoolConfig::by_arrival`]), then by arrival; those of
/// one account in the order of their nonces. A transaction that can't pay the base fee holds back the account's later ones.
///
/// They are read from the pool in chunks. A transaction that arrives later and pays more than those already read
/// waits for the next block.
#[derive(Debug)]
pub struct BestTransactions<'a> {
    pool: &'a Pool,
    base_fee: u128,
    /// The next transactions of the accounts that were read.
    heads: BinaryHeap<Head>,
    /// Rank of the account that was read last. Accounts that were not read are below it.
    read_to: Option<Rank>,
    is_all_read: bool,
}

#[derive(Debug)]
struct Head {
    rank: Rank,
    tx: PooledTx,
}

impl<'a> BestTransactions<'a> {
    pub(super) fn new(pool: &'a Pool, base_fee: u128) -> Self {
        Self { pool, base_fee, heads: BinaryHeap::new(), read_to: None, is_all_read: false }
    }

    /// The next transaction to try. It stays in its place.
    pub fn peek(&mut self) -> Option<&PooledTx> {
        self.read();
        self.heads.peek().map(|head| &head.tx)
    }

    fn read(&mut self) {
        if self.is_by_arrival() && !self.is_all_read {
            let all = self.pool.best_heads(self.base_fee, None, usize::MAX);
            let ranked = all.into_iter().map(|((_, arrival), tx)| Head { rank: (0, arrival), tx });
            self.heads.extend(ranked);
            self.is_all_read = true;
        }
        while !self.is_all_read && self.may_miss_better() {
            let read = self.pool.best_heads(self.base_fee, self.read_to, CHUNK);
            self.is_all_read = read.len() < CHUNK;
            self.read_to = read.last().map(|(rank, _)| *rank).or(self.read_to);
            self.heads.extend(read.into_iter().map(|(rank, tx)| Head { rank, tx }));
        }
    }

    const fn is_by_arrival(&self) -> bool {
        self.pool.config().by_arrival
    }

    /// Whether an account that was not read may have a better transaction.
    fn may_miss_better(&self) -> bool {
        self.heads.peek().is_none_or(|head| self.read_to.is_none_or(|read_to| head.rank < read_to))
    }

    /// Removes the transaction of [`Self::peek`], which was included. The next transaction of its account follows.
    pub fn shift(&mut self) {
        self.read();
        if let Some(Head { tx, .. }) = self.heads.pop()
            && let Some(nonce) = tx.nonce().checked_add(1)
            && let Some(tx) = self.pool.pending_at(&tx.sender(), nonce)
            && let EffectivePrice::Payable(tip) = Price::from_tx(&tx).effective_price(self.base_fee)
        {
            let tip = if self.is_by_arrival() { 0 } else { tip };
            let rank = (tip, std::cmp::Reverse(tx.arrival()));
            self.heads.push(Head { rank, tx });
        }
    }

    /// Removes the transaction of [`Self::peek`], which can't be included, and with it the later ones of its account.
    pub fn pop(&mut self) {
        self.read();
        self.heads.pop();
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}
