//! Shared memory's part of a snapshot.

use esker_chain::snapshot::{
    PartRestore, PartSnapshot, RestoreError, SnapshotBlock, SnapshotTable,
};
use esker_primitives::BlockId;
use esker_shared_memory::{ELEMENTS_TAG, ROW_KEY_LEN, restore_row};
use esker_storage::{KvRead, WriteSet};

/// Most bytes of an element with its traits.
const MAX_ELEMENT: usize = 4 << 20;

/// Restores and checks the elements of shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedMemoryPart;

impl PartSnapshot for SharedMemoryPart {
    fn tables(&self) -> Vec<SnapshotTable> {
        vec![SnapshotTable {
            tag: ELEMENTS_TAG,
            name: "shared memory",
            min_key: *ROW_KEY_LEN.start(),
            max_key: *ROW_KEY_LEN.end(),
            max_value: MAX_ELEMENT,
        }]
    }

    fn restore(&self) -> Box<dyn PartRestore + '_> {
        Box::new(*self)
    }
}

impl PartRestore for SharedMemoryPart {
    fn block(&mut self, _: SnapshotBlock<'_>, _: &mut WriteSet) -> Result<BlockId, RestoreError> {
        Err(RestoreError::invalid("a block of shared memory"))
    }

    fn row(
        &mut self,
        _: u8,
        (key, value): (&[u8], &[u8]),
        _: &dyn KvRead,
        out: &mut WriteSet,
    ) -> Result<(), RestoreError> {
        restore_row(key, value, out).map_err(RestoreError::invalid)
    }
}
