//! The inputs that the last accepted blocks consumed.

use std::collections::{HashMap, HashSet, VecDeque};

use esker_primitives::{Id, TxId};

/// Blocks that are remembered: a transaction that was checked on an older state is checked again.
pub(super) const REMEMBERED_BLOCKS: usize = 64;

/// The inputs that the last accepted blocks consumed. Only consumed inputs can make a valid transaction invalid, so a
/// transaction verified before these blocks can be checked without the store.
#[derive(Debug, Default)]
pub(super) struct RecentBlocks {
    /// Height of the last accepted block; 0 until one was accepted since the start.
    tip: u64,
    blocks: VecDeque<Block>,
    /// Heights by consumed UTXO ID.
    consumed: HashMap<Id, u64>,
    accepted: HashSet<TxId>,
}

#[derive(Debug)]
struct Block {
    height: u64,
    consumed: Vec<Id>,
    txs: Vec<TxId>,
}

impl RecentBlocks {
    /// Nothing is remembered of the blocks up to a height.
    pub(super) fn at(height: u64) -> Self {
        Self { tip: height, ..Self::default() }
    }

    /// A block was accepted.
    pub(super) fn add(&mut self, height: u64, txs: &[TxId], consumed: &[(Id, TxId)]) {
        self.tip = height;
        let consumed: Vec<Id> = consumed.iter().map(|(id, _)| *id).collect();
        self.consumed.extend(consumed.iter().map(|id| (*id, height)));
        self.accepted.extend(txs);
        self.blocks.push_back(Block { height, consumed, txs: txs.to_vec() });
        if self.blocks.len() > REMEMBERED_BLOCKS
            && let Some(oldest) = self.blocks.pop_front()
        {
            for id in &oldest.consumed {
                self.consumed.remove(id);
            }
            for id in &oldest.txs {
                self.accepted.remove(id);
            }
        }
    }

    /// Whether all blocks above that height are remembered.
    pub(super) fn covers(&self, height: u64) -> bool {
        height >= self.tip
            || self.blocks.front().is_some_and(|oldest| oldest.height <= height.saturating_add(1))
    }

    /// Whether a block above that height consumed the UTXO.
    pub(super) fn is_consumed_above(&self, height: u64, id: &Id) -> bool {
        self.consumed.get(id).is_some_and(|at| *at > height)
    }

    /// Whether one of the remembered blocks holds the transaction.
    pub(super) fn has_tx(&self, id: &TxId) -> bool {
        self.accepted.contains(id)
    }
}
