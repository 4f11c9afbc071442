//! Rewinding final bundles (docs/protocol/bundles.md, "Rewinding bundles").

use esker_storage::{KvRead, PendingWrites, Scope, StorageError, WriteSet};

use super::MachineEvent;
use super::core::Core;
use super::undo::Undo;
use crate::bundle::BundleId;
use crate::error::{ChainError, RewindError};
use crate::final_bundles::version_at;
use crate::tables::{POSITION, Position, REWIND, RewindTarget, UNDO};
use crate::vm::Rewinding;

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

    /// Rewinds the final bundles above a height. `also` joins the last write.
    pub(super) fn rewind(&mut self, to: u64, also: &WriteSet) -> Result<Rewound, RewindError> {
        let from = self.tree.last();
        self.check_rewind(to)?;
        if to == from.height {
            if !also.is_empty() {
                self.store.writer.commit_blocking(also.clone())?;
            }
            return Ok(Rewound { from: to, to, bundle_id: from.id });
        }
        self.store.ensure_writable()?;
        let mut is_marked = false;
        loop {
            let step = self.undo.step(to, self.config.rewind_bytes);
            let mut writes = WriteSet::new();
            if step > to {
                let target = RewindTarget { to, also: also.clone() };
                REWIND.put(&mut writes, Scope::NODE, &(), &target);
            } else {
                writes.merge(also);
                if is_marked {
                    REWIND.delete(&mut writes, Scope::NODE, &());
                }
            }
            // Between two steps nobody may go on from the middle: a restart completes the rewind.
            self.rewind_step(step, &writes).inspect_err(|_| self.is_lost |= is_marked)?;
            if step == to {
                break;
            }
            is_marked = true;
        }
        let rewound = Rewound { from: from.height, to, bundle_id: self.tree.last().id };
        tracing::info!(from = rewound.from, to, "rewound final bundles");
        self.shared.send(MachineEvent::Rewound(rewound));
        self.work.notify_one();
        Ok(rewound)
    }

    /// Completes a rewind that a stop interrupted between two writes.
    pub(super) fn resume_rewind(&mut self) -> Result<(), RewindError> {
        let target = REWIND.get(self.store.snapshot()?.as_ref(), Scope::NODE, &())?;
        let Some(RewindTarget { to, mut also }) = target.filter(|_| self.config.decides_alone)
        else {
            return Ok(());
        };
        REWIND.delete(&mut also, Scope::NODE, &());
        tracing::info!(from = self.tree.last().height, to, "completing a rewind");
        match self.rewind(to, &also) {
            Ok(_) => Ok(()),
            Err(RewindError::Chain(ChainError::Storage(error))) => Err(error.into()),
            Err(error) => {
                tracing::error!(to, %error, "a rewind can't be completed: the bundles so far stay");
                let mut out = WriteSet::new();
                REWIND.delete(&mut out, Scope::NODE, &());
                Ok(self.store.writer.commit_blocking(out)?)
            }
        }
    }

    /// Rewinds the final bundles above a height in one write, which `also` joins.
    fn rewind_step(&mut self, to: u64, also: &WriteSet) -> Result<(), RewindError> {
        let last = self.tree.last();
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
        Ok(())
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
