//! The rows of the state commitment in a new store, and in one of a version without them.

use std::sync::Arc;

use esker_primitives::clock::Clock;
use esker_storage::{KvRead, Scope, Store, WriteSet, meta};

use super::undo::delete_all;
use crate::commitment::{StatePart, StateSummary, StateTables, compute_parts, compute_summary};
use crate::error::ChainError;
use crate::tables::{CHAINS, STATE, STATE_PARTS};
use crate::vm::ChainVm;

/// How often the progress of a scan is logged.
const LOG_INTERVAL_MS: u64 = 5_000;

/// Writes rows of the state that belong to no bundle, before the machine opens the store, together with the rows of the
/// commitment that follow from them. Rows that the store has already change nothing.
///
/// Blocks the calling thread on the store.
///
/// # Errors
/// The store can't be read or written, or two chains claim one table.
pub fn write_initial_rows(
    chains: &[Arc<dyn ChainVm>],
    mut rows: WriteSet,
    store: &Store,
) -> Result<(), ChainError> {
    let reader = store.snapshot()?;
    let has_chains = CHAINS.last(reader.as_ref(), Scope::NODE, &[])?.is_some();
    // In a store of a version without commitments, a scan of all rows follows.
    if !has_chains || StateSummary::read(reader.as_ref())?.is_some() {
        let state = genesis_rows(&rows, &StateTables::from_chains(chains)?, reader.as_ref())?;
        rows.merge(&state);
    }
    drop(reader);
    Ok(store.writer.commit_blocking(rows)?)
}

/// The rows that genesis rows of new chains add.
pub(super) fn genesis_rows(
    genesis: &WriteSet,
    tables: &StateTables,
    store: &dyn KvRead,
) -> Result<WriteSet, ChainError> {
    let mut out = WriteSet::new();
    let changed = tables.put_changed_parts(&[genesis], store, &mut out)?;
    let stored = StateSummary::read(store)?;
    let mut summary = stored.unwrap_or_else(StateSummary::empty);
    if let Some(shared) = changed.get(&crate::commitment::SHARED_PART) {
        summary.shared = *shared;
    }
    STATE.put(&mut out, Scope::NODE, &(), &summary);
    Ok(out)
}

/// Computes the rows from the state of the stored chains if a version without them wrote the store. All later bundles
/// have a commitment.
pub(super) fn add_missing(
    chains: &[Arc<dyn ChainVm>],
    new: &[Arc<dyn ChainVm>],
    tables: &StateTables,
    store: &Store,
    clock: &dyn Clock,
) -> Result<(), ChainError> {
    if StateSummary::read(store.snapshot()?.as_ref())?.is_some() {
        return Ok(());
    }
    let is_new = |chain: &Arc<dyn ChainVm>| new.iter().any(|other| Arc::ptr_eq(other, chain));
    let known: Vec<_> = chains.iter().filter(|chain| !is_new(chain)).cloned().collect();
    tracing::info!("computing the commitment of the state, once");
    // They do not restore the rows of the commitment, so a rewind must not use them.
    delete_all(store)?;
    let reader = store.snapshot()?;
    let mut logged_ms = clock.now_ms();
    let parts = compute_parts(tables, reader.as_ref(), |rows| {
        let now_ms = clock.now_ms();
        if now_ms.saturating_sub(logged_ms) >= LOG_INTERVAL_MS {
            tracing::info!(rows, "computing the commitment of the state");
            logged_ms = now_ms;
        }
        Ok::<_, ChainError>(())
    })?;
    let summary = compute_summary(&known, &parts, reader.as_ref())?;
    drop(reader);
    let mut out = WriteSet::new();
    for (id, part) in parts.iter().filter(|(_, part)| **part != StatePart::default()) {
        STATE_PARTS.put(&mut out, Scope::NODE, id.as_bytes(), part);
    }
    STATE.put(&mut out, Scope::NODE, &(), &summary);
    // An older version would not keep these rows up to date.
    meta::put_schema_version(&mut out);
    store.writer.commit_blocking(out)?;
    tracing::info!(commitment = %summary.commitment(), "computed the commitment of the state");
    Ok(())
}
