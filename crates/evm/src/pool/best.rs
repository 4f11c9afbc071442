//! The order in which a block takes transactions.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::PooledTx;

/// Pending transactions by what they pay above the base fee, then by arrival; those of one account in the
/// order of their nonces. One that can't pay the base fee holds back those after it.
#[derive(Debug)]
pub struct Best {
    heads: BinaryHeap<(u128, Reverse<u64>, usize)>,
    queues: Vec<VecDeque<PooledTx>>,
    base_fee: u128,
}

impl Best {
    /// From the pending transactions of each account.
    pub(super) fn new(queues: Vec<VecDeque<PooledTx>>, base_fee: u128) -> Self {
        let mut best = Self { heads: BinaryHeap::new(), queues, base_fee };
        (0..best.queues.len()).for_each(|account| best.offer(account));
        best
    }

    fn offer(&mut self, account: usize) {
        if let Some(tx) = self.queues[account].front()
            && let Some(tip) = tx.effective_tip(self.base_fee)
        {
            self.heads.push((tip, Reverse(tx.arrival()), account));
        }
    }

    /// The next one to try, left in its place.
    pub fn peek(&self) -> Option<&PooledTx> {
        let (.., account) = self.heads.peek()?;
        self.queues[*account].front()
    }

    /// The greatest fee cap (wei a gas) of those that are next in their accounts.
    pub fn peek_fee_cap(&self) -> Option<u128> {
        self.queues.iter().filter_map(|queue| queue.front()).map(PooledTx::fee_cap).max()
    }

    /// The one that [`Self::peek`] shows was taken: its account's next one joins.
    pub fn shift(&mut self) {
        if let Some((.., account)) = self.heads.pop() {
            self.queues[account].pop_front();
            self.offer(account);
        }
    }

    /// The one that [`Self::peek`] shows can't be taken: neither can those after it.
    pub fn pop(&mut self) {
        self.heads.pop();
    }
}
