//! Accepted blocks out of the store, with the UTXOs that they changed.

use std::sync::Arc;

use esker_chain::ChainError;
use esker_primitives::TxId;
use esker_transactions::xvm::Tx;
use lru::LruCache;

use super::block::{BlockEvent, TxEvent};
use crate::chain::parts::Xvm;
use crate::state::ChainState;
use crate::state::index::{TX_CACHE, read_block, spent_by};

/// Reads the events of stored blocks.
#[derive(Debug)]
pub(crate) struct EventReader<'a> {
    vm: &'a Xvm,
    state: ChainState<'a>,
    /// Neighbouring transactions consume each other's outputs.
    cache: LruCache<TxId, Tx>,
}

impl<'a> EventReader<'a> {
    /// A reader of this state.
    pub(crate) fn new(vm: &'a Xvm, state: ChainState<'a>) -> Self {
        Self { vm, state, cache: LruCache::new(TX_CACHE) }
    }

    /// The event of the block at a height, which has to be stored.
    pub(crate) fn read(&mut self, height: u64, is_removed: bool) -> Result<BlockEvent, ChainError> {
        let block = read_block(self.state, height)?;
        let mut event = BlockEvent {
            id: block.id(),
            parent_id: block.parent_id(),
            height,
            time_s: block.time_s(),
            bytes: block.bytes().clone(),
            is_removed,
            txs: Vec::new(),
            texts: Default::default(),
            tx_ids: block.txs().iter().map(Tx::id).collect(),
        };
        let genesis = if height == 0 { self.vm.genesis_txs() } else { &[] };
        for tx in genesis.iter().chain(block.txs()) {
            let spent = spent_by(self.state, &mut self.cache, tx)?;
            event.txs.push(TxEvent::new(tx.clone(), spent));
            self.cache.put(tx.id(), tx.clone());
        }
        Ok(event)
    }

    /// Like [`Self::read`]; `None` if there is no such block.
    pub(crate) fn find(&mut self, height: u64) -> Result<Option<Arc<BlockEvent>>, ChainError> {
        if self.state.tip()?.height < height {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.read(height, false)?)))
    }
}
