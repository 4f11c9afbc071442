//! The observed chain in a snapshot of the state: its last block. What its exports left is shared memory.

use esker_chain::snapshot::{
    ChainSnapshot, PartRestore, PartSnapshot, RestoreError, SnapshotBlock, SnapshotTable,
};
use esker_primitives::BlockId;
use esker_storage::{KvRead, Scope, WriteSet};

use super::parts::Platform;
use crate::execute::write_block;
use crate::state::tables::Tip;
use crate::txs::Block;

impl PartSnapshot for Platform {
    fn tables(&self) -> Vec<SnapshotTable> {
        Vec::new()
    }

    fn restore(&self) -> Box<dyn PartRestore + '_> {
        Box::new(Restore(self.scope()))
    }
}

impl ChainSnapshot for Platform {
    fn keeps_genesis_row(&self, _: &[u8]) -> bool {
        false
    }
}

struct Restore(Scope);

impl PartRestore for Restore {
    fn block(
        &mut self,
        block: SnapshotBlock<'_>,
        out: &mut WriteSet,
    ) -> Result<BlockId, RestoreError> {
        let bytes = bytes::Bytes::copy_from_slice(block.bytes);
        let parsed = Block::parse(&bytes).map_err(|e| RestoreError::invalid(e.to_string()))?;
        if parsed.id != block.id || parsed.height != block.height || !block.extra.is_empty() {
            return Err(RestoreError::invalid(format!("it is block {}", parsed.id)));
        }
        // The time of an earlier block is not known.
        write_block(out, self.0, &parsed, Tip::default());
        Ok(parsed.parent_id)
    }

    fn row(
        &mut self,
        _: u8,
        _: (&[u8], &[u8]),
        _: &dyn KvRead,
        _: &mut WriteSet,
    ) -> Result<(), RestoreError> {
        Err(RestoreError::invalid("a row of a chain without state"))
    }
}
