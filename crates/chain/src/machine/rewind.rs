//! Rewinding final bundles (docs/protocol/bundles.md, "Rewinding bundles").

use esker_storage::{KvRead, PendingWrites, Scope, StorageError, WriteSet};

use super::MachineEvent;
use super::core::Core;
use super::start::version_at;
use super::undo::Undo;
use crate::tables::{POSITION, Position, UNDO};
use crate::{BundleId, ChainError, RewindError, Rewinding};

/// The result of a rewind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewound {
    /// Height of the last final bundle before.
    pub from: u64,
    /// Height of the last final bundle now.
    pub to: u64,
    /// ID of the last final bundle now.
    pub bundle_id: BundleId,
}

impl Core {
    /// Sets the limits of the undo log.
    pub(super) fn set_undo(&mut self, undo: Undo) -> Result<(), RewindError> {
        if !self.config.decides_alone && matches!(undo, Undo::Keep(_)) {
            return Err(RewindError::SeveralNodes);
        }
        Ok(self.undo.set(undo, &self.store)?)
    }

    /// Rewinds the final bundles above a height. `also` joins the write.
    pub(super) fn rewind(&mut self, to: u64, also: &WriteSet) -> Result<Rewound, RewindError> {
        let last = self.tree.last();
        self.check_rewind(to)?;
        if to == last.height {
            if !also.is_empty() {
                self.store.writer.commit_blocking(also.clone())?;
            }
            return Ok(Rewound { from: to, to, bundle_id: last.id });
        }
        self.store.ensure_writable()?;
        let store = self.store.clone();
        let upkeep = store.upkeep();
        let before = store.snapshot()?;
        let mut rewinding = restore_rows(before.as_ref(), to, last.height)?;
        let position = self.checked_position(&rewinding, to)?;
        let version = version_at(before.as_ref(), to)?;
        let mut after = Vec::with_capacity(self.chains.len());
        for chain in &self.chains {
            after.push(chain.prepare_rewind(&mut rewinding)?);
        }
        let mut writes = rewinding.after.into_writes();
        writes.merge(also);
        drop(before);
        if let Err(error) = store.writer.commit_blocking(writes)
            && !is_done(&store, &position, &mut self.is_lost)
        {
            return Err(error.into());
        }
        self.shared.set_last(position);
        after.into_iter().for_each(|follow| follow());
        drop(upkeep);
        self.undo.rewound(to);
        let undecided = self.tree.rewind(position, version);
        self.reject(&undecided);
        let rewound = Rewound { from: last.height, to, bundle_id: position.id };
        tracing::warn!(from = rewound.from, to, "rewound final bundles");
        self.shared.send(MachineEvent::Rewound(rewound));
        self.work.notify_one();
        Ok(rewound)
    }

    fn check_rewind(&self, height: u64) -> Result<(), RewindError> {
        let last = self.tree.last().height;
        if !self.config.decides_alone {
            return Err(RewindError::SeveralNodes);
        }
        if height > last {
            return Err(RewindError::AboveLast { height, last });
        }
        match self.undo.lowest() {
            _ if height == last => Ok(()),
            None => Err(RewindError::NoUndoRows { last }),
            Some(lowest) if height < lowest => {
                Err(RewindError::BelowUndoRows { height, lowest, last })
            }
            Some(_) => Ok(()),
        }
    }

    /// The restored position, if it has the expected height: then the undo rows fit the store.
    fn checked_position(
        &self,
        rewinding: &Rewinding<'_>,
        height: u64,
    ) -> Result<Position, ChainError> {
        let found = POSITION.get(&rewinding.after, Scope::NODE, &())?;
        let wanted = self.final_id_at(height)?;
        found.filter(|at| at.height == height && Some(at.id) == wanted).ok_or_else(|| {
            ChainError::Corrupted(format!("the undo rows do not restore bundle {height}"))
        })
    }
}

/// The store as it was when the bundle of height `to` became final.
fn restore_rows(before: &dyn KvRead, to: u64, last: u64) -> Result<Rewinding<'_>, ChainError> {
    let mut after = PendingWrites::new(before);
    let mut since_ms = 0;
    for height in (to.saturating_add(1)..=last).rev() {
        let missing =
            || ChainError::Corrupted(format!("the undo row of bundle {height} is missing"));
        let row = UNDO.get(before, Scope::NODE, &height)?.ok_or_else(missing)?;
        apply(&row.old_rows, &mut after);
        UNDO.delete(&mut after, Scope::NODE, &height);
        since_ms = row.accepted_ms;
    }
    Ok(Rewinding { before, after, since_ms })
}

fn apply(old_rows: &WriteSet, after: &mut PendingWrites<'_>) {
    for (key, value) in old_rows.iter() {
        match value {
            Some(value) => after.put(key, value),
            None => after.delete(key),
        }
    }
}

/// Whether the store has a write that reported a failure. If the store can't be read, the machine is lost.
fn is_done(store: &esker_storage::Store, position: &Position, is_lost: &mut bool) -> bool {
    let found = store
        .snapshot()
        .and_then(|reader| POSITION.get(reader.as_ref(), Scope::NODE, &()))
        .and_then(|found| found.ok_or_else(|| StorageError::Corrupted("no position".to_owned())));
    *is_lost = found.is_err();
    found.is_ok_and(|found| found.height == position.height && found.id == position.id)
}
