//! Takes snapshots of all chains of a development node, and reverts to them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use alloy_primitives::B256;
use esker_chain::tables::{BUNDLES, POSITION, SNAPSHOTS};
use esker_chain::{
    AdjustableClock, BundleId, ChainMachine as _, ChainVm as _, Machine, RewindError, Undo,
    UndoLimits,
};
use esker_primitives::ChainId;
use esker_primitives::sync::Mutex;
use esker_storage::{KvRead, Scope, StorageResult, Store, ValueCodec as _, WriteSet};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::error::refusal;
use super::replaced::ReplacedBundles;
use super::saved::Snapshot;
use super::{ControlError, Turn};
use crate::chain::Evm;

/// Most snapshots.
const MAX_SNAPSHOTS: usize = 10_000;

/// Most bytes of waiting transactions in all snapshots together.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// Most tries to take a snapshot while blocks are made.
const MAX_TRIES: usize = 16;

/// The row of [`SNAPSHOTS`] with the last assigned ID.
const LAST_ID: u64 = 0;

#[derive(Debug, Default)]
struct SnapshotList {
    last_id: u64,
    snapshots: BTreeMap<u64, Snapshot>,
}

/// The snapshots of a node.
#[derive(Debug)]
pub struct Snapshots {
    clock: AdjustableClock,
    /// Dangling where other nodes decide too.
    machine: Weak<Machine>,
    evms: Vec<Weak<Evm>>,
    taken: Mutex<SnapshotList>,
    /// The state to which [`Self::reset`] goes back.
    beginning: Mutex<Option<Snapshot>>,
    /// Lets one call at a time take a snapshot or revert to one.
    turn: Semaphore,
}

impl Snapshots {
    /// Limits of the undo rows: bundles and bytes. Bundles of earlier runs can be taken back too.
    pub const UNDO: Undo = Undo::Keep(Self::LIMITS);

    const LIMITS: UndoLimits = UndoLimits { bytes: 1 << 30, ..UndoLimits::bundles(1_000_000) };

    /// No snapshots. `clock` is the clock of the node's chains, `evms` are those with controls. Without a machine, of a
    /// node that decides alone, there is nothing to take and to revert.
    pub fn new(clock: AdjustableClock, machine: Option<&Arc<Machine>>, evms: &[Arc<Evm>]) -> Self {
        Self {
            clock,
            machine: machine.map_or_else(Weak::new, Arc::downgrade),
            evms: evms.iter().map(Arc::downgrade).collect(),
            taken: Mutex::new_named("evm.snapshots", SnapshotList::default()),
            beginning: Mutex::new_named("evm.beginning", None),
            turn: Semaphore::new(1),
        }
    }

    /// Whether a store has snapshots, or blocks to put back. If so, the machine must be opened with [`Self::UNDO`].
    ///
    /// # Errors
    /// The store can't be read.
    pub fn are_stored(store: &Store) -> StorageResult<bool> {
        let mut found = false;
        let first = SNAPSHOTS.key(Scope::NODE, &(LAST_ID + 1));
        let from = &first[SNAPSHOTS.prefix(Scope::NODE).len()..];
        SNAPSHOTS.scan(store.snapshot()?.as_ref(), Scope::NODE, &[], Some(from), |_, _| {
            found = true;
            ControlFlow::Break(())
        })?;
        Ok(found || ReplacedBundles::are_stored(store)?)
    }

    /// Undoes a reorg that a kill interrupted. Then reads the stored snapshots, and deletes those that can't be
    /// reached any more.
    ///
    /// # Errors
    /// The store can't be read.
    pub async fn load(&self) -> Result<(), ControlError> {
        let machine = self.machine()?;
        if let Err(error) = self.recover(&machine).await {
            tracing::error!(%error, "cannot put back the blocks that a reorg has taken");
        }
        let lowest = machine.lowest_rewind().await.map_err(refusal)?;
        let (read, gone) = read(&machine, lowest).map_err(refusal)?;
        if !gone.is_empty() {
            tracing::info!(snapshots = gone.len(), "snapshots can't be reached any more");
            delete(&machine, without(&gone)).await;
        }
        *self.taken.lock() = read;
        Ok(())
    }

    /// The snapshots by ID, with the height and the hash of the chain's last block.
    pub fn list(&self, evm: &Evm) -> BTreeMap<u64, (u64, B256)> {
        let chain = &evm.context().chain_id;
        let taken = self.taken.lock();
        let of_chain = taken.snapshots.iter();
        of_chain.filter_map(|(id, s)| Some((*id, s.chains.get(chain)?.last_block))).collect()
    }

    /// Takes a snapshot. Returns its ID; IDs begin at 1.
    ///
    /// # Errors
    /// There are too many, or blocks are made faster than it can be taken.
    pub async fn take(&self) -> Result<u64, ControlError> {
        let _turn = self.turn().await?;
        if self.taken.lock().snapshots.len() >= MAX_SNAPSHOTS {
            return Err(ControlError::Refused(format!(
                "too many snapshots are kept: at most {MAX_SNAPSHOTS}"
            )));
        }
        let machine = self.machine()?;
        let _turns = self.turns().await?;
        for _ in 0..MAX_TRIES {
            let last = machine.last_final();
            let snapshot = self.snapshot(&machine, last);
            if machine.last_final() == last {
                return self.keep(&machine, snapshot).await;
            }
        }
        Err(ControlError::Refused("blocks are made while the snapshot is taken".to_owned()))
    }

    /// Stores a snapshot. Returns its ID.
    async fn keep(&self, machine: &Machine, snapshot: Snapshot) -> Result<u64, ControlError> {
        let (held, id) = {
            let taken = self.taken.lock();
            let held: usize = taken.snapshots.values().map(Snapshot::waiting_bytes).sum();
            (held, taken.last_id + 1)
        };
        if held.saturating_add(snapshot.waiting_bytes()) > MAX_WAITING_BYTES {
            return Err(ControlError::Refused(format!(
                "snapshots would hold more than {MAX_WAITING_BYTES} bytes of waiting transactions"
            )));
        }
        let mut writes = WriteSet::new();
        SNAPSHOTS.put(&mut writes, Scope::NODE, &LAST_ID, &id.to_be_bytes().to_vec());
        SNAPSHOTS.put_bytes(&mut writes, Scope::NODE, &id, &snapshot.to_bytes());
        machine.store().commit(writes).await.map_err(refusal)?;
        let mut taken = self.taken.lock();
        taken.last_id = id;
        taken.snapshots.insert(id, snapshot);
        Ok(id)
    }

    /// Takes back all bundles since a snapshot, and restores the pools, the clock and the settings. The same write
    /// deletes the snapshot and all later ones. Returns false if there is no such snapshot. The future must be polled
    /// to its end: no block is made meanwhile.
    ///
    /// # Errors
    /// The bundles can't be taken back; nothing has changed.
    pub async fn revert(&self, id: u64) -> Result<bool, ControlError> {
        let _turn = self.turn().await?;
        let (snapshot, gone) = {
            let taken = self.taken.lock();
            let Some(snapshot) = taken.snapshots.get(&id) else { return Ok(false) };
            let gone: Vec<u64> = taken.snapshots.range(id..).map(|(id, _)| *id).collect();
            (snapshot.clone(), gone)
        };
        let machine = self.machine()?;
        let _turns = self.turns().await?;
        // No block may be built with a time from before the revert.
        let _pause = machine.pause_building();
        machine.rewind_with(snapshot.last.0, without(&gone)).await.map_err(refusal)?;
        self.forget(&gone);
        self.restore(&machine, snapshot)?;
        self.move_beginning(&machine);
        Ok(true)
    }

    /// Restores the pools, the clock and the settings.
    fn restore(&self, machine: &Machine, snapshot: Snapshot) -> Result<(), ControlError> {
        self.clock.restore(snapshot.clock);
        // The snapshot may be from between blocks whose times were ahead of the clock.
        let reader = machine.store().snapshot().map_err(refusal)?;
        if let Some(last) = POSITION.get(reader.as_ref(), Scope::NODE, &()).map_err(refusal)? {
            self.clock.advance_to(last.timestamp_ms);
        }
        snapshot.restore(machine.chains(), &self.evms());
        Ok(())
    }

    /// Marks the current state as the one that [`Self::reset`] goes back to, and keeps undo rows from here on. Blocks
    /// that this start made itself (`has_prepared`) can't be taken back.
    ///
    /// # Errors
    /// The store can't be written.
    pub async fn mark_beginning(&self, has_prepared: bool) -> Result<(), ControlError> {
        let machine = self.machine()?;
        let last = machine.last_final();
        let keep = |below| Undo::Keep(UndoLimits { all_above: last.0, ..below });
        if has_prepared {
            // Undo rows are not switched off in between, so that a block which is made meanwhile can be taken back.
            let nothing = UndoLimits { bytes: 0, ..UndoLimits::bundles(0) };
            machine.set_undo(keep(nothing)).await.map_err(refusal)?;
        }
        machine.set_undo(keep(Self::LIMITS)).await.map_err(refusal)?;
        *self.beginning.lock() = Some(self.snapshot(&machine, last));
        Ok(())
    }

    /// Makes the current state the beginning if the blocks of the old beginning were taken back.
    pub(super) fn move_beginning(&self, machine: &Machine) {
        let last = machine.last_final();
        let is_gone = |beginning: &Snapshot| beginning.last.0 > last.0;
        if self.beginning.lock().as_ref().is_some_and(is_gone) {
            let now = self.snapshot(machine, last);
            *self.beginning.lock() = Some(now);
        }
    }

    /// Goes back to [`Self::mark_beginning`], and deletes all snapshots. It can be called again. The future must be
    /// polled to its end.
    ///
    /// # Errors
    /// The bundles can't be taken back; nothing has changed.
    pub async fn reset(&self) -> Result<(), ControlError> {
        let _turn = self.turn().await?;
        let machine = self.machine()?;
        let _turns = self.turns().await?;
        let beginning = self.beginning.lock().clone().ok_or(ControlError::Stopped)?;
        let _pause = machine.pause_building();
        let gone: Vec<u64> = self.taken.lock().snapshots.keys().copied().collect();
        machine.rewind_with(beginning.last.0, without(&gone)).await.map_err(not_kept)?;
        self.forget(&gone);
        self.restore(&machine, beginning)
    }

    /// Takes back the last blocks of a chain, and the later blocks of the other chains. The snapshots of these blocks
    /// are deleted. Clock, pools and settings stay. The future must be polled to its end.
    ///
    /// # Errors
    /// There are fewer blocks, or they can't be taken back. Nothing has changed.
    pub async fn rollback(&self, evm: &Evm, blocks: u64) -> Result<(), ControlError> {
        let first = evm.first_block();
        let below = |head: u64| {
            let to = head.checked_sub(blocks).filter(|to| *to >= first);
            to.ok_or_else(|| {
                let own = head.saturating_sub(first);
                ControlError::Refused(format!(
                    "cannot take back {blocks} blocks: the chain has {own}"
                ))
            })
        };
        self.go_back(evm, below).await
    }

    /// As [`Self::rollback`], back to the block with this number, which stays.
    ///
    /// # Errors
    /// There is no such block, or the later blocks can't be taken back. Nothing has changed.
    pub async fn set_head(&self, evm: &Evm, number: u64) -> Result<(), ControlError> {
        let first = evm.first_block();
        let to = |head| match number <= head {
            true if number < first => Err(ControlError::Refused(format!(
                "not allowed to rewind to block {number}: the chain begins with block {first}"
            ))),
            true => Ok(number),
            // The text of go-ethereum, with the number of the last block.
            false => Err(ControlError::Refused(format!(
                "not allowed to rewind to a future block: {number}, the last one is {head}"
            ))),
        };
        self.go_back(evm, to).await
    }

    /// Takes back the blocks of a chain above a number. `to` returns the number, given that of the last block.
    async fn go_back(
        &self,
        evm: &Evm,
        to: impl FnOnce(u64) -> Result<u64, ControlError>,
    ) -> Result<(), ControlError> {
        let _turn = self.turn().await?;
        let machine = self.machine()?;
        let _turns = self.turns().await?;
        let _pause = machine.pause_building();
        let head = evm.head().header.number;
        let last = to(head)?;
        if last == head {
            return Ok(());
        }
        let find = tokio::task::spawn_blocking({
            let (machine, chain) = (Arc::clone(&machine), evm.context().chain_id);
            move || bundle_before(&machine, &chain, last + 1)
        });
        let to = find.await.map_err(refusal)??;
        self.rewind(&machine, to).await
    }

    /// Takes back all bundles above a height, and deletes their snapshots.
    async fn rewind(&self, machine: &Machine, to: u64) -> Result<(), ControlError> {
        let gone = self.above(to);
        machine.rewind_with(to, without(&gone)).await.map_err(not_kept)?;
        self.forget(&gone);
        self.move_beginning(machine);
        Ok(())
    }

    /// The snapshots of bundles above a height.
    pub(super) fn above(&self, to: u64) -> Vec<u64> {
        let taken = self.taken.lock();
        let above = taken.snapshots.iter().filter(|(_, snapshot)| snapshot.last.0 > to);
        above.map(|(id, _)| *id).collect()
    }

    /// Forgets snapshots; their IDs ascend.
    pub(super) fn forget(&self, gone: &[u64]) {
        self.taken.lock().snapshots.retain(|id, _| gone.binary_search(id).is_err());
    }

    /// The first chain with controls. Methods of other chains act through it.
    pub fn chain(&self) -> Option<Arc<Evm>> {
        self.evms().into_iter().find(|evm| evm.controls().is_some())
    }

    /// The clock of the node's chains.
    pub fn clock(&self) -> &AdjustableClock {
        &self.clock
    }

    pub(super) async fn turn(&self) -> Result<SemaphorePermit<'_>, ControlError> {
        self.turn.acquire().await.map_err(refusal)
    }

    /// The first places in the queues of all chains. All earlier requests are done.
    async fn turns(&self) -> Result<Vec<Turn>, ControlError> {
        let mut turns = Vec::new();
        for evm in self.evms() {
            if let Some(controls) = evm.controls() {
                turns.push(controls.turn().await?);
            }
        }
        Ok(turns)
    }

    pub(super) fn machine(&self) -> Result<Arc<Machine>, ControlError> {
        self.machine.upgrade().ok_or(ControlError::Stopped)
    }

    pub(super) fn evms(&self) -> Vec<Arc<Evm>> {
        self.evms.iter().filter_map(Weak::upgrade).collect()
    }

    pub(super) fn snapshot(&self, machine: &Machine, last: (u64, BundleId)) -> Snapshot {
        Snapshot::capture(last, self.clock.setting(), machine.chains(), &self.evms())
    }
}

/// Deletes rows that nobody needs any more. If the disk is full, the next start does it.
pub(super) async fn delete(machine: &Machine, writes: WriteSet) {
    if writes.is_empty() {
        return;
    }
    if let Err(error) = machine.store().commit(writes).await {
        tracing::warn!(%error, "cannot delete rows of snapshots");
    }
}

/// Deletes these snapshots from the store.
pub(super) fn without(gone: &[u64]) -> WriteSet {
    let mut writes = WriteSet::new();
    gone.iter().for_each(|id| SNAPSHOTS.delete(&mut writes, Scope::NODE, id));
    writes
}

/// The stored snapshots, and the IDs of those that can't be reached any more.
fn read(machine: &Machine, lowest: Option<u64>) -> StorageResult<(SnapshotList, Vec<u64>)> {
    // Bundles may become final meanwhile. The reader has all bundles up to this one.
    let last = machine.last_final();
    let reader = machine.store().snapshot()?;
    let (mut taken, mut gone, mut rows) = (SnapshotList::default(), Vec::new(), Vec::new());
    SNAPSHOTS.scan(reader.as_ref(), Scope::NODE, &[], None, |key, value| {
        rows.push((SNAPSHOTS.decode_key(key), value.to_vec()));
        ControlFlow::Continue(())
    })?;
    for (id, row) in rows {
        let id = id?;
        if id == LAST_ID {
            taken.last_id = u64::decode_value(&row).unwrap_or_default();
            continue;
        }
        taken.last_id = taken.last_id.max(id);
        match Snapshot::from_bytes(&row) {
            Ok(snapshot) if is_reachable(last, reader.as_ref(), &snapshot, lowest)? => {
                taken.snapshots.insert(id, snapshot);
            }
            Ok(_) => gone.push(id),
            Err(error) => {
                tracing::error!(id, %error, "a stored snapshot can't be read");
                gone.push(id);
            }
        }
    }
    Ok((taken, gone))
}

/// Whether the bundle of a snapshot is still final, and all later bundles can be taken back.
fn is_reachable(
    last: (u64, BundleId),
    reader: &dyn KvRead,
    snapshot: &Snapshot,
    lowest: Option<u64>,
) -> StorageResult<bool> {
    let (height, id) = snapshot.last;
    if last == snapshot.last {
        return Ok(true);
    }
    let next = BUNDLES.get(reader, Scope::NODE, &height.saturating_add(1))?;
    let is_final = next.is_some_and(|next| next.parent == id);
    Ok(is_final && lowest.is_some_and(|lowest| height >= lowest))
}

/// Height of the bundle before the one with a block of a chain.
pub(super) fn bundle_before(
    machine: &Machine,
    chain: &ChainId,
    block: u64,
) -> Result<u64, ControlError> {
    let reader = machine.store().snapshot().map_err(refusal)?;
    let (last, _) = machine.last_final();
    for height in (1..=last).rev() {
        let bundle = BUNDLES.get(reader.as_ref(), Scope::NODE, &height).map_err(refusal)?;
        let has_it = |(id, number): &(ChainId, u64)| id == chain && *number == block;
        if bundle.is_some_and(|bundle| bundle.blocks.iter().any(has_it)) {
            return Ok(height - 1);
        }
    }
    Err(ControlError::Refused(format!("the bundle of block {block} is not stored")))
}

pub(super) fn not_kept(error: RewindError) -> ControlError {
    match error {
        RewindError::NoUndoRows { .. } | RewindError::BelowUndoRows { .. } => ControlError::NotKept,
        error => refusal(error),
    }
}
