//! How a bundle changes the commitment.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use esker_primitives::{BlockId, ChainId, Id};
use esker_storage::{KvRead, Scope, StorageResult, WriteSet};

use super::{ChainState, SHARED_PART, StatePart, StateSummary, StateTables, StoredTable};
use crate::error::ChainError;
use crate::tables::{STATE, STATE_PARTS};

/// The rows of the commitment after a bundle.
#[derive(Debug)]
pub(crate) struct StateChange {
    /// The changed rows of `STATE_PARTS` and `STATE`.
    pub(crate) writes: WriteSet,
    /// The commitment to the state after the bundle.
    pub(crate) commitment: Id,
}

impl StateTables {
    /// The change that a bundle makes. `sets` are the write sets of its blocks, of which later ones override earlier
    /// ones, `blocks` the chain, height and ID of each block, `parent` the state before it.
    ///
    /// # Errors
    /// The store can't be read, or has no commitment.
    pub(crate) fn change(
        &self,
        sets: &[&WriteSet],
        blocks: &[(ChainId, u64, BlockId)],
        parent: &dyn KvRead,
    ) -> Result<StateChange, ChainError> {
        let missing = || ChainError::Corrupted("the store has no state commitment".into());
        let mut summary = StateSummary::read(parent)?.ok_or_else(missing)?;
        let mut writes = WriteSet::new();
        if sets.is_empty() {
            return Ok(StateChange { writes, commitment: summary.commitment() });
        }
        let changed = self.put_changed_parts(sets, parent, &mut writes)?;
        for (part, checksum) in &changed {
            if *part == SHARED_PART {
                summary.shared = *checksum;
            } else if let Some(chain) = summary.chains.get_mut(part) {
                chain.checksum = *checksum;
            }
        }
        for (id, height, block_id) in blocks {
            let checksum = match (summary.chains.get(id), changed.get(id)) {
                (Some(chain), _) => chain.checksum,
                // The shared part is not that of the chain with the zero ID, which has none.
                (None, _) if *id == SHARED_PART => StatePart::default().checksum(),
                (None, Some(checksum)) => *checksum,
                (None, None) => StatePart::read(parent, id)?.checksum(),
            };
            let chain = ChainState { height: *height, block_id: *block_id, checksum };
            summary.chains.insert(*id, chain);
        }
        STATE.put(&mut writes, Scope::NODE, &(), &summary);
        Ok(StateChange { writes, commitment: summary.commitment() })
    }

    /// Writes the rows of the parts that `sets` change. Returns their checksums.
    pub(crate) fn put_changed_parts(
        &self,
        sets: &[&WriteSet],
        parent: &dyn KvRead,
        out: &mut WriteSet,
    ) -> StorageResult<BTreeMap<ChainId, Id>> {
        let mut parts = BTreeMap::new();
        for table in self.iter() {
            let is_touched = |set: &&WriteSet| set.with_prefix(&table.prefix).next().is_some();
            if !sets.iter().any(is_touched) {
                continue;
            }
            let (part, is_changed) = match parts.entry(table.part) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert((StatePart::read(parent, &table.part)?, false))
                }
            };
            *is_changed |= change_part(part, table, sets, parent)?;
        }
        let mut checksums = BTreeMap::new();
        for (id, (part, is_changed)) in parts {
            if is_changed {
                STATE_PARTS.put(out, Scope::NODE, id.as_bytes(), &part);
                checksums.insert(id, part.checksum());
            }
        }
        Ok(checksums)
    }
}

/// Adds the changes of one table to its part; false if no row changes.
fn change_part(
    part: &mut StatePart,
    table: &StoredTable,
    sets: &[&WriteSet],
    parent: &dyn KvRead,
) -> StorageResult<bool> {
    let mut is_changed = false;
    for (number, set) in sets.iter().enumerate() {
        for (stored, value) in set.with_prefix(&table.prefix) {
            let Some(key) = table.key(stored) else { continue };
            // Each key counts once, with its last value.
            if sets[number + 1..].iter().any(|later| later.get(stored).is_some()) {
                continue;
            }
            let mut is_same = value.is_none();
            parent.get_with(stored, &mut |old| {
                is_same = value == Some(old);
                if !is_same {
                    part.remove(&table.part, table.tag, key, old);
                }
            })?;
            if let (false, Some(value)) = (is_same, value) {
                part.insert(&table.part, table.tag, key, value);
            }
            is_changed |= !is_same;
        }
    }
    Ok(is_changed)
}
