//! The chain's side of the machine's contract.

use std::sync::Arc;

use bytes::Bytes;
use esker_chain::commitment::StateTable;
use esker_chain::snapshot::ChainSnapshot;
use esker_chain::{
    AfterRewind, BlockError, BlockFigures, BlockReport, BuildContext, Built, ChainContext,
    ChainError, ChainStats, ChainVm, ExecutedBlock, PoolFigures, Rewinding,
};
use esker_primitives::BlockId;
use esker_storage::{KvRead, PendingWrites, WriteSet};

use super::parts::Xvm;
use super::{accept, build, open, report, rewind};
use crate::state::{ChainState, tables};

impl ChainVm for Xvm {
    fn context(&self) -> &ChainContext {
        &self.context
    }

    fn genesis(&self, out: &mut WriteSet) -> Result<(), ChainError> {
        open::write_genesis(self, out)
    }

    fn check(&self, reader: &dyn KvRead) -> Result<(), ChainError> {
        open::check(self, reader)
    }

    fn state_tables(&self) -> Vec<StateTable> {
        tables::STATE.to_vec()
    }

    fn last_block(&self, reader: &dyn KvRead) -> Result<(u64, BlockId), ChainError> {
        let tip = ChainState::new(reader, self.scope()).tip()?;
        Ok((tip.height, tip.id))
    }

    fn build(&self, parent: &dyn KvRead, at: &BuildContext) -> Result<Built, ChainError> {
        let waits = self.context.block_waits.as_ref();
        let waits = waits.map(|waits| (waits, waits.build_begins()));
        let built = build::build(self, parent, at);
        if let (Some((waits, build)), Ok(Built::Nothing | Built::Later(_)) | Err(_)) =
            (waits, &built)
        {
            waits.nothing_built(build);
        }
        built
    }

    fn verify(
        &self,
        parent: &dyn KvRead,
        block: &[u8],
        at: &BuildContext,
    ) -> Result<ExecutedBlock, BlockError> {
        build::verify(self, parent, block, at)
    }

    fn extend_commit(
        &self,
        blocks: &[Arc<ExecutedBlock>],
        accepted_ms: u64,
        commit: &mut PendingWrites<'_>,
    ) {
        accept::extend_commit(self, blocks, accepted_ms, commit);
    }

    fn on_accepted(&self, block: &Arc<ExecutedBlock>, accepted_ms: u64) {
        accept::accepted(self, block, accepted_ms);
    }

    fn on_rejected(&self, block: &Arc<ExecutedBlock>) {
        accept::abandoned(self, block);
    }

    fn on_verified(&self, block: &Arc<ExecutedBlock>) {
        self.undecided.add(block);
    }

    fn prepare_rewind<'a>(
        &'a self,
        rewind: &mut Rewinding<'_>,
    ) -> Result<AfterRewind<'a>, ChainError> {
        rewind::prepare(self, rewind)
    }

    fn block_at(&self, reader: &dyn KvRead, height: u64) -> Result<Option<Bytes>, ChainError> {
        Ok(ChainState::new(reader, self.scope()).block(height)?)
    }

    fn snapshot(&self) -> Option<&dyn ChainSnapshot> {
        Some(self)
    }

    fn health(&self) -> Result<String, ChainError> {
        report::health(self)
    }

    fn waiting_txs(&self) -> Vec<Bytes> {
        self.journal()
    }

    fn drop_waiting_txs(&self) {
        self.empty_pools();
    }

    fn restore_txs(&self, txs: Vec<Bytes>) -> usize {
        txs.iter().filter(|entry| self.restore(entry)).count()
    }

    fn block_figures(&self, block: &ExecutedBlock) -> BlockFigures {
        report::block_figures(block)
    }

    fn block_report(&self, block: &ExecutedBlock) -> BlockReport {
        report::block_report(block)
    }

    fn stats(&self) -> ChainStats {
        report::stats(self)
    }

    fn pool_figures(&self) -> PoolFigures {
        self.counters.figures()
    }
}
