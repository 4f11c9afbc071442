//! The commitment computed from the rows of a store.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use esker_primitives::{ChainId, Id};
use esker_storage::KvRead;

use super::{ChainState, SHARED_PART, StatePart, StateSummary, StateTables};
use crate::error::ChainError;
use crate::tables::HistoryStart;
use crate::vm::ChainVm;

/// Rows between two calls of the progress.
const STEP: u64 = 4096;

/// Hashes all rows of the committed tables. `progress` gets the number of rows so far; its error ends the scan.
///
/// # Errors
/// The error of `progress`, or the store can't be read.
pub fn compute_parts<E: From<esker_storage::StorageError>>(
    tables: &StateTables,
    reader: &dyn KvRead,
    mut progress: impl FnMut(u64) -> Result<(), E>,
) -> Result<BTreeMap<ChainId, StatePart>, E> {
    let mut parts = BTreeMap::<ChainId, StatePart>::new();
    let (mut rows, mut outcome) = (0u64, Ok(()));
    for table in tables.iter() {
        let part = parts.entry(table.part).or_default();
        reader.scan(&table.prefix, None, &mut |stored, value| {
            let Some(key) = table.key(stored) else { return ControlFlow::Continue(()) };
            part.insert(&table.part, table.tag, key, value);
            rows += 1;
            if rows.is_multiple_of(STEP) {
                outcome = progress(rows);
            }
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if outcome.is_err() {
            break;
        }
    }
    outcome.map(|()| parts)
}

/// The summary of a state with these parts and the chains' last blocks in `reader`.
///
/// # Errors
/// A chain's last block can't be read.
pub fn compute_summary(
    chains: &[Arc<dyn ChainVm>],
    parts: &BTreeMap<ChainId, StatePart>,
    reader: &dyn KvRead,
) -> Result<StateSummary, ChainError> {
    let checksum_of = |id: &ChainId| -> Id {
        parts.get(id).map_or_else(|| StatePart::default().checksum(), StatePart::checksum)
    };
    let mut summary = StateSummary { shared: checksum_of(&SHARED_PART), chains: BTreeMap::new() };
    let history = HistoryStart::read(reader)?;
    for chain in chains {
        let id = chain.context().chain_id;
        let (height, block_id) = chain.last_block(reader)?;
        if height > history.genesis(&id) {
            // The shared part is not that of the chain with the zero ID, which has none.
            let checksum = match id == SHARED_PART {
                true => StatePart::default().checksum(),
                false => checksum_of(&id),
            };
            summary.chains.insert(id, ChainState { height, block_id, checksum });
        }
    }
    Ok(summary)
}
