//! Audits the machine's rows: bundles are in order, and each block of each chain is in one bundle.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use esker_primitives::{ChainId, Id};
use esker_storage::audit::{AuditError, AuditLog, Finding};
use esker_storage::{KeyCodec as _, KvRead, Scope};

use crate::bundle::Bundle;
use crate::error::ChainError;
use crate::tables::{
    BUNDLE_HEIGHTS, BUNDLES, BundleRecord, HistoryStart, POSITION, Position, UNDO,
};
use crate::vm::ChainVm;

/// Bundles between two reports of progress.
const STEP: u64 = 256;

/// Checks the bundles and the position, and reports faults.
///
/// # Errors
/// See [`super::Audit::audit`].
pub fn audit_bundles(
    chains: &[Arc<dyn ChainVm>],
    stored: &dyn KvRead,
    log: &mut dyn AuditLog,
) -> Result<(), AuditError> {
    let position = match POSITION.get(stored, Scope::NODE, &()) {
        Ok(Some(position)) => position,
        Ok(None) => {
            log.finding(Finding::new("bundles: position", "the last bundle", "nothing"));
            return Ok(());
        }
        Err(error) => {
            log.finding(Finding::new("bundles: position", "the last bundle", error));
            return Ok(());
        }
    };
    let history = match HistoryStart::read(stored) {
        Ok(history) => history,
        Err(error) => {
            log.finding(Finding::new("bundles: start of the history", "a height", error));
            return Ok(());
        }
    };
    if let Some(finding) = audit_gap(stored, &history)? {
        log.finding(finding);
    }
    let mut walk = Walk { last: None, heights: BTreeMap::new(), history };
    let stored_heights = walk.history.bundle.max(1)..=position.height;
    for height in std::iter::once(0).chain(stored_heights) {
        if let Some(finding) = audit_bundle(chains, stored, height, &mut walk)? {
            log.finding(finding);
            // Later rows can't be checked without it.
            return Ok(());
        }
        if height.is_multiple_of(STEP) {
            log.progress("bundles", height, Some(position.height))?;
        }
    }
    if walk.last != Some(position) {
        log.finding(Finding::new("bundles: position", shown(walk.last), shown(Some(position))));
    }
    if let Some((above, _)) = BUNDLES.last(stored, Scope::NODE, &[])?
        && above > position.height
    {
        let place = format!("bundles: bundle {above}");
        log.finding(Finding::new(place, "nothing", "a bundle above the position"));
    }
    audit_undo(stored, position.height, log)?;
    for chain in chains {
        let id = &chain.context().chain_id;
        let last = match walk.heights.get(id) {
            Some(last) => *last,
            // No bundle since the snapshot has a block of the chain.
            None if walk.history.bundle > 1 => continue,
            None => 0,
        };
        // The chain reports a block that can't be read.
        if let Ok(Some(_)) = chain.block_at(stored, last.saturating_add(1)) {
            let place = format!("bundles: block {} of chain {}", last + 1, chain.name());
            log.finding(Finding::new(place, "a block of a bundle", "one of none"));
        }
    }
    Ok(())
}

/// Undo rows have a checksum. Rows of earlier bundles may remain.
fn audit_undo(stored: &dyn KvRead, last: u64, log: &mut dyn AuditLog) -> Result<(), AuditError> {
    let mut findings = Vec::new();
    UNDO.scan(stored, Scope::NODE, &[], None, |key, value| {
        match UNDO.entry(key, value) {
            Ok((height, _)) if height <= last => {}
            Ok((height, _)) => {
                let place = format!("bundles: undo of bundle {height}");
                findings.push(Finding::new(place, "nothing", "a row above the position"));
            }
            Err(error) => {
                let place = match UNDO.decode_key(key) {
                    Ok(height) => format!("bundles: undo of bundle {height}"),
                    Err(_) => "bundles: undo".to_owned(),
                };
                findings.push(Finding::new(place, "what takes a bundle back", error));
            }
        }
        ControlFlow::Continue(())
    })?;
    findings.into_iter().for_each(|finding| log.finding(finding));
    Ok(())
}

fn audit_bundle(
    chains: &[Arc<dyn ChainVm>],
    stored: &dyn KvRead,
    height: u64,
    walk: &mut Walk,
) -> Result<Option<Finding>, AuditError> {
    let wrong = |what: &str, expected: &dyn std::fmt::Display, found: &dyn std::fmt::Display| {
        let what = if what.is_empty() { String::new() } else { format!(" {what}") };
        Ok(Some(Finding::new(format!("bundles: bundle {height}{what}"), expected, found)))
    };
    let record = match BUNDLES.get(stored, Scope::NODE, &height) {
        Ok(Some(record)) => record,
        Ok(None) => return wrong("", &"a bundle", &"nothing"),
        Err(error) => return wrong("", &"a bundle", &error),
    };
    let BundleRecord { version, parent, timestamp_ms, commitment, blocks: heights, .. } = record;
    let is_first = height > 0 && height == walk.history.bundle;
    let before = walk.last.map_or(Id::ZERO, |last| last.id);
    if height > 1 && is_first {
        // The last blocks before it are not known.
        walk.heights.clear();
    } else if height > 0 && parent != before {
        return wrong("parent", &before, &parent);
    }
    let mut blocks = Vec::with_capacity(heights.len());
    for (id, at) in heights {
        let known = chains.iter().find(|chain| chain.context().chain_id == id);
        let Some(chain) = known else {
            return wrong("chain", &"a chain of the network", &id);
        };
        let first = if height == 0 { 0 } else { walk.history.first_block(&id) };
        let next = walk.heights.get(&id).map_or(first, |last| last + 1);
        // Chains that joined later begin with their first block. After a snapshot, the blocks before the next one
        // of a bundle may be in bundles that are not stored.
        let is_after_snapshot = height > 0 && walk.history.bundle > 1;
        let fits = match walk.heights.contains_key(&id) {
            true => at == next,
            false if is_after_snapshot => at >= first.max(1),
            false => at == next || next == 0 && at == 1,
        };
        if !fits {
            return wrong(&format!("block of chain {}", chain.name()), &next, &at);
        }
        // The genesis of the machine has number 0, whatever number that of the chain has.
        let genesis = if height == 0 { walk.history.genesis(&id) } else { 0 };
        walk.heights.insert(id, at.max(genesis));
        match chain.block_at(stored, at) {
            Ok(Some(bytes)) => blocks.push((id, bytes)),
            Ok(None) => {
                let what = format!("block {at} of chain {}", chain.name());
                return wrong(&what, &"a block", &"nothing");
            }
            Err(ChainError::Storage(error)) => return Err(error.into()),
            Err(error) => return wrong("", &"its blocks", &error),
        }
    }
    let bundle = Bundle { version, parent, height, timestamp_ms, commitment, blocks };
    let id = bundle.id();
    walk.last = Some(Position { height, id, timestamp_ms });
    match BUNDLE_HEIGHTS.get(stored, Scope::NODE, id.as_bytes()) {
        // A node that decides alone has no such rows.
        Ok(None) => Ok(None),
        Ok(Some(indexed)) if indexed == height => Ok(None),
        Ok(Some(indexed)) => wrong("height by ID", &height, &indexed),
        Err(error) => wrong("height by ID", &height, &error),
    }
}

/// The position of a walk over the bundles.
struct Walk {
    last: Option<Position>,
    /// The last block of each chain so far.
    heights: BTreeMap<ChainId, u64>,
    history: HistoryStart,
}

/// A store that joined from a snapshot has no bundle between the first one and the snapshot's.
fn audit_gap(stored: &dyn KvRead, history: &HistoryStart) -> Result<Option<Finding>, AuditError> {
    if history.bundle <= 1 {
        return Ok(None);
    }
    let mut found = None;
    let mut from = Vec::new();
    1u64.encode_key(&mut from);
    BUNDLES.scan(stored, Scope::NODE, &[], Some(&from), |key, _| {
        found = BUNDLES.decode_key(key).ok().filter(|height| *height < history.bundle);
        ControlFlow::Break(())
    })?;
    Ok(found.map(|height| {
        let place = format!("bundles: bundle {height}");
        Finding::new(place, "nothing", "a bundle before the start of the history")
    }))
}

fn shown(position: Option<Position>) -> String {
    position.map_or("nothing".to_owned(), |Position { height, id, timestamp_ms }| {
        format!("bundle {id} of height {height} and time {timestamp_ms}")
    })
}
