//! Audits the commitment of the state: it follows from the rows, and the last bundle has it.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::sync::Arc;

use esker_primitives::{ChainId, Id};
use esker_storage::audit::{AuditError, AuditLog, Finding};
use esker_storage::{KvRead, Scope, StorageError, StorageResult};

use crate::commitment::{
    ChainState, SHARED_PART, StatePart, StateSummary, StateTables, compute_parts, compute_summary,
};
use crate::error::ChainError;
use crate::tables::{BUNDLES, CHAINS, POSITION, STATE_PARTS};
use crate::vm::ChainVm;

/// Hashes the rows of all committed tables, compares the result with the stored hashes and with the last bundle, and
/// reports differences. A folder that only versions without commitments wrote has nothing to compare.
///
/// # Errors
/// See [`super::Audit::audit`].
pub fn audit_state(
    chains: &[Arc<dyn ChainVm>],
    stored: &dyn KvRead,
    log: &mut dyn AuditLog,
) -> Result<(), AuditError> {
    let committed = last_commitment(stored);
    let summary = match StateSummary::read(stored) {
        Ok(Some(summary)) => summary,
        Ok(None) if committed.is_none() => return Ok(()),
        Ok(None) => {
            log.finding(finding("", "a summary of the state", "nothing"));
            return Ok(());
        }
        Err(error) => {
            log.finding(finding("", "a summary of the state", error));
            return Ok(());
        }
    };
    let commitment = summary.commitment();
    if let Some((height, committed)) = committed.filter(|(_, id)| *id != commitment) {
        log.finding(finding(&format!(" of bundle {height}"), commitment, committed));
    }
    let tables = match StateTables::from_chains(chains) {
        Ok(tables) => tables,
        Err(error) => {
            log.finding(finding("", "chains with committed tables", error));
            return Ok(());
        }
    };
    let parts = compute_parts(&tables, stored, |rows| log.progress("state rows", rows, None))?;
    let name_of = |id: &ChainId| match *id == SHARED_PART {
        true => "shared memory".to_owned(),
        false => name_of(chains, id),
    };
    for (id, computed) in &parts {
        let found = match StatePart::read(stored, id) {
            Ok(part) if part == *computed => continue,
            Ok(part) => part.checksum().to_string(),
            Err(error) => error.to_string(),
        };
        log.finding(finding(&format!(" of {}", name_of(id)), computed.checksum(), found));
    }
    for id in stored_parts(stored)? {
        // Nothing is known of chains that have begun here and are not configured now.
        let is_known =
            parts.contains_key(&id) || CHAINS.contains(stored, Scope::NODE, id.as_bytes())?;
        if !is_known {
            log.finding(finding(&format!(" of {id}"), "nothing", "a hash of rows"));
        }
    }
    match compute_summary(chains, &parts, stored) {
        Ok(computed) => compare(chains, &computed, &summary, log),
        Err(ChainError::Storage(error)) if !matches!(error, StorageError::Corrupted(_)) => {
            return Err(error.into());
        }
        Err(error) => log.finding(finding("", "the last block of each chain", error)),
    }
    Ok(())
}

/// The parts with a stored hash.
fn stored_parts(stored: &dyn KvRead) -> StorageResult<Vec<ChainId>> {
    let mut ids = Vec::new();
    STATE_PARTS.scan(stored, Scope::NODE, &[], None, |key, _| {
        ids.extend(ChainId::from_slice(key));
        ControlFlow::Continue(())
    })?;
    Ok(ids)
}

/// Compares the stored summary with the computed one. Nothing is known of chains that are not configured.
fn compare(
    chains: &[Arc<dyn ChainVm>],
    computed: &StateSummary,
    stored: &StateSummary,
    log: &mut dyn AuditLog,
) {
    if computed.shared != stored.shared {
        log.finding(finding(", its summary of shared memory", computed.shared, stored.shared));
    }
    for chain in chains {
        let id = chain.context().chain_id;
        let (expected, found) = (computed.chains.get(&id), stored.chains.get(&id));
        if expected != found {
            let what = format!(", its summary of {}", name_of(chains, &id));
            log.finding(finding(&what, shown(expected), shown(found)));
        }
    }
}

/// Height and commitment of the last bundle; `None` if it has none, or can't be read, which the audit of the bundles
/// reports.
fn last_commitment(stored: &dyn KvRead) -> Option<(u64, Id)> {
    let height = POSITION.get(stored, Scope::NODE, &()).ok().flatten()?.height;
    let record = BUNDLES.get(stored, Scope::NODE, &height).ok().flatten()?;
    record.state_commitment().map(|commitment| (height, commitment))
}

fn finding(what: &str, expected: impl Display, found: impl Display) -> Finding {
    Finding::new(format!("state commitment{what}"), expected, found)
}

fn name_of(chains: &[Arc<dyn ChainVm>], id: &ChainId) -> String {
    let chain = chains.iter().find(|chain| chain.context().chain_id == *id);
    chain.map_or_else(|| id.to_string(), |chain| chain.name())
}

fn shown(chain: Option<&ChainState>) -> String {
    chain.map_or("nothing".to_owned(), |ChainState { height, block_id, checksum }| {
        format!("block {block_id} of height {height} and rows {checksum}")
    })
}
