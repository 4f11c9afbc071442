//! Blocks that are being decided on, and their transactions.

use std::collections::HashMap;
use std::sync::Arc;

use esker_chain::ExecutedBlock;
use esker_primitives::sync::Mutex;
use esker_primitives::{BlockId, TxId};
use esker_transactions::xvm::Tx;

use crate::execute::BlockPayload;

/// Blocks that were executed and are not decided.
#[derive(Debug, Default)]
pub(crate) struct Undecided(Mutex<UndecidedBlocks>);

#[derive(Debug, Default)]
struct UndecidedBlocks {
    /// Each with the number of undecided bundles that hold it.
    blocks: HashMap<BlockId, (Arc<ExecutedBlock>, usize)>,
    /// The number of blocks that contain a transaction.
    txs: HashMap<TxId, usize>,
}

impl Undecided {
    pub(crate) fn new() -> Self {
        Self(Mutex::new_named("xvm.undecided", UndecidedBlocks::default()))
    }

    pub(crate) fn add(&self, block: &Arc<ExecutedBlock>) {
        let mut inner = self.0.lock();
        let (_, bundles) = inner.blocks.entry(block.id).or_insert_with(|| (Arc::clone(block), 0));
        *bundles = bundles.saturating_add(1);
        if *bundles == 1 {
            for tx in
                BlockPayload::from_executed(block).into_iter().flat_map(|payload| &payload.txs)
            {
                let count = inner.txs.entry(tx.id()).or_default();
                *count = count.saturating_add(1);
            }
        }
    }

    pub(crate) fn remove(&self, block: &ExecutedBlock) {
        let mut inner = self.0.lock();
        let Some((_, bundles)) = inner.blocks.get_mut(&block.id) else { return };
        *bundles = bundles.saturating_sub(1);
        if *bundles > 0 {
            return;
        }
        inner.blocks.remove(&block.id);
        for tx in BlockPayload::from_executed(block).into_iter().flat_map(|payload| &payload.txs) {
            if let Some(count) = inner.txs.get_mut(&tx.id()) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    inner.txs.remove(&tx.id());
                }
            }
        }
    }

    pub(crate) fn block(&self, id: &BlockId) -> Option<Arc<ExecutedBlock>> {
        self.0.lock().blocks.get(id).map(|(block, _)| Arc::clone(block))
    }

    /// Whether undecided blocks hold a transaction or may provide its missing inputs: its parents, or exports of other chains.
    pub(crate) fn may_provide_inputs(&self, tx: &Tx) -> bool {
        let inner = self.0.lock();
        let mut parents = tx.unsigned().local_utxo_ids().map(|id| id.tx_id);
        inner.txs.contains_key(&tx.id())
            || parents.any(|parent| inner.txs.contains_key(&parent))
            || !tx.unsigned().imported_inputs().is_empty()
    }

    /// The transactions of all of them, in the order of the heights.
    pub(crate) fn txs(&self) -> Vec<Tx> {
        let mut blocks: Vec<_> =
            self.0.lock().blocks.values().map(|(block, _)| Arc::clone(block)).collect();
        blocks.sort_by_key(|block| (block.height, block.id));
        let payloads = blocks.iter().filter_map(|block| BlockPayload::from_executed(block));
        payloads.flat_map(|payload| payload.txs.iter().cloned()).collect()
    }

    pub(crate) fn has_tx(&self, id: &TxId) -> bool {
        self.0.lock().txs.contains_key(id)
    }
}
