//! The chain's side of the machine's contract.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use esker_chain::commitment::StateTable;
use esker_chain::snapshot::ChainSnapshot;
use esker_chain::tables::HistoryStart;
use esker_chain::{
    AfterRewind, BlockError, BlockFigures, BuildContext, Built, ChainContext, ChainError,
    ChainStats, ChainVm, ExecutedBlock, Rewinding,
};
use esker_primitives::{BlockId, Id};
use esker_shared_memory::ELEMENTS_TAG;
use esker_storage::{KvRead, PendingWrites, WriteSet};

use super::parts::Platform;
use crate::execute::execute;
use crate::state::tables::{BLOCKS, TIP, Tip};
use crate::txs::Block;

impl ChainVm for Platform {
    fn context(&self) -> &ChainContext {
        &self.context
    }

    fn genesis(&self, out: &mut WriteSet) -> Result<(), ChainError> {
        TIP.put(out, self.scope(), &(), &Tip::default());
        Ok(())
    }

    fn check(&self, reader: &dyn KvRead) -> Result<(), ChainError> {
        let tip = Tip::read(reader, self.scope())?;
        let stored = BLOCKS.get(reader, self.scope(), &tip.height)?;
        if tip.height > 0 && stored.map(|bytes| Id::sha256(&bytes)) != Some(tip.id) {
            let (height, name) = (tip.height, self.name());
            return Err(ChainError::Corrupted(format!(
                "block {height} of chain {name} is missing or damaged"
            )));
        }
        self.accepted_height.store(tip.height, Ordering::Release);
        let first_block = HistoryStart::read(reader)?.first_block(&self.context.chain_id);
        self.first_block.store(first_block, Ordering::Relaxed);
        Ok(())
    }

    fn state_tables(&self) -> Vec<StateTable> {
        vec![StateTable::node_wide(ELEMENTS_TAG)]
    }

    fn last_block(&self, reader: &dyn KvRead) -> Result<(u64, BlockId), ChainError> {
        let tip = Tip::read(reader, self.scope())?;
        Ok((tip.height, tip.id))
    }

    fn build(&self, _: &dyn KvRead, _: &BuildContext) -> Result<Built, ChainError> {
        Ok(Built::Nothing)
    }

    fn verify(
        &self,
        parent: &dyn KvRead,
        block: &[u8],
        _: &BuildContext,
    ) -> Result<ExecutedBlock, BlockError> {
        execute(&self.context, parent, block)
    }

    fn extend_commit(&self, _: &[Arc<ExecutedBlock>], _: u64, _: &mut PendingWrites<'_>) {}

    fn on_verified(&self, _: &Arc<ExecutedBlock>) {}

    fn on_accepted(&self, block: &Arc<ExecutedBlock>, _: u64) {
        self.accepted_height.store(block.height, Ordering::Release);
        self.accepted_txs.fetch_add(txs_of(block), Ordering::Relaxed);
    }

    fn on_rejected(&self, _: &Arc<ExecutedBlock>) {}

    fn prepare_rewind<'a>(
        &'a self,
        rewind: &mut Rewinding<'_>,
    ) -> Result<AfterRewind<'a>, ChainError> {
        let height = Tip::read(&rewind.after, self.scope())?.height;
        Ok(Box::new(move || self.accepted_height.store(height, Ordering::Release)))
    }

    fn block_at(&self, reader: &dyn KvRead, height: u64) -> Result<Option<Bytes>, ChainError> {
        Ok(BLOCKS.get(reader, self.scope(), &height)?.map(Bytes::from))
    }

    fn snapshot(&self) -> Option<&dyn ChainSnapshot> {
        Some(self)
    }

    fn health(&self) -> Result<String, ChainError> {
        let reader = self.context.store.snapshot()?;
        let tip = Tip::read(reader.as_ref(), self.scope())?;
        Ok(format!("height {}", tip.height))
    }

    fn block_figures(&self, block: &ExecutedBlock) -> BlockFigures {
        let txs = txs_of(block);
        let hash = block.id.to_string();
        BlockFigures { hash, is_empty: txs == 0, txs, ..BlockFigures::default() }
    }

    fn stats(&self) -> ChainStats {
        ChainStats {
            height: self.accepted_height.load(Ordering::Acquire),
            first_block: self.first_block.load(Ordering::Relaxed),
            accepted_txs: self.accepted_txs.load(Ordering::Relaxed),
            ..ChainStats::default()
        }
    }
}

fn txs_of(block: &ExecutedBlock) -> u64 {
    block.payload.downcast_ref::<Block>().map_or(0, |block| block.txs.len() as u64)
}
