//! Snapshots of all chains of a development node, and the way back to them.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock, Weak};

use alloy_primitives::{Address, B256};
use bytes::Bytes;
use esker_chain::tables::{BUNDLES, POSITION};
use esker_chain::{
    AdjustableClock, ChainMachine as _, ChainVm as _, ClockSetting, Machine, RewindError, Undo,
    UndoLimits,
};
use esker_primitives::ChainId;
use esker_primitives::sync::Mutex;
use esker_storage::Scope;
use tokio::sync::Semaphore;

use super::ControlError;
use crate::chain::Evm;
use crate::rules::HeaderTerms;

/// Snapshots that are kept.
const MAX_SNAPSHOTS: usize = 10_000;

/// Bytes of waiting transactions that all snapshots hold together.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// What a revert can take back at most: bundles, and bytes of the rows before them.
const UNDO: UndoLimits = UndoLimits { bundles: 1_000_000, bytes: 1 << 30 };

/// How often a snapshot is tried while blocks are made.
const MAX_TRIES: usize = 16;

/// Settings of the controls of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ControlSettings {
    pub(super) automine: bool,
    pub(super) timestamp_interval_s: Option<u64>,
    pub(super) impersonated: HashSet<Address>,
    pub(super) impersonates_all: bool,
    /// As [`super::Controls::next_header`] has it.
    pub(super) header: HeaderTerms,
}

/// An EVM chain in a snapshot.
#[derive(Clone, Debug)]
struct SavedChain {
    evm: Weak<Evm>,
    settings: ControlSettings,
    waiting: Vec<Bytes>,
    last_block: (u64, B256),
}

#[derive(Clone, Debug)]
struct Snapshot {
    /// Of the last final bundle.
    height: u64,
    clock: ClockSetting,
    chains: BTreeMap<ChainId, SavedChain>,
}

impl Snapshot {
    fn waiting_bytes(&self) -> usize {
        self.chains.values().flat_map(|chain| &chain.waiting).map(Bytes::len).sum()
    }
}

#[derive(Debug, Default)]
struct Taken {
    last_id: u64,
    snapshots: BTreeMap<u64, Snapshot>,
}

/// The snapshots of a node.
#[derive(Debug)]
pub struct Snapshots {
    clock: AdjustableClock,
    machine: OnceLock<Weak<Machine>>,
    evms: Mutex<Vec<Weak<Evm>>>,
    taken: Mutex<Taken>,
    /// What [`Self::reset`] goes back to.
    beginning: OnceLock<Snapshot>,
    /// One place, for whoever takes a snapshot or reverts to one.
    turn: Semaphore,
}

impl Snapshots {
    /// None yet. `clock` is that of the node's chains.
    pub fn new(clock: AdjustableClock) -> Self {
        Self {
            clock,
            machine: OnceLock::new(),
            evms: Mutex::new_named("evm.snapshot-chains", Vec::new()),
            taken: Mutex::new_named("evm.snapshots", Taken::default()),
            beginning: OnceLock::new(),
            turn: Semaphore::new(1),
        }
    }

    /// Sets the machine, once it is open; the first call counts.
    pub fn set_machine(&self, machine: &Arc<Machine>) {
        // A second call is a defect of the wiring that changes nothing.
        let _already = self.machine.set(Arc::downgrade(machine));
    }

    /// Adds a chain with controls.
    pub fn add_chain(&self, evm: &Arc<Evm>) {
        self.evms.lock().push(Arc::downgrade(evm));
    }

    /// Each snapshot, with the height and the hash of the chain's last block in it.
    pub fn list(&self, evm: &Evm) -> BTreeMap<u64, (u64, B256)> {
        let chain = &evm.context().chain_id;
        let taken = self.taken.lock();
        let of_chain = taken.snapshots.iter();
        of_chain.filter_map(|(id, s)| Some((*id, s.chains.get(chain)?.last_block))).collect()
    }

    /// Takes a snapshot; its ID, from 1 on.
    ///
    /// # Errors
    /// There are too many, or blocks are made faster than it can be taken.
    pub async fn take(&self) -> Result<u64, ControlError> {
        let _turn = self.turn.acquire().await.map_err(refused)?;
        if self.taken.lock().snapshots.len() >= MAX_SNAPSHOTS {
            return Err(ControlError::Refused(format!(
                "too many snapshots are kept: at most {MAX_SNAPSHOTS}"
            )));
        }
        let machine = self.machine()?;
        machine.set_undo(Undo::Keep(UNDO)).await.map_err(refused)?;
        for _ in 0..MAX_TRIES {
            let last = machine.last_final();
            let snapshot = self.snapshot(last.0);
            if machine.last_final() == last {
                let mut taken = self.taken.lock();
                let held: usize = taken.snapshots.values().map(Snapshot::waiting_bytes).sum();
                if held.saturating_add(snapshot.waiting_bytes()) > MAX_WAITING_BYTES {
                    return Err(ControlError::Refused(format!(
                        "snapshots would hold more than {MAX_WAITING_BYTES} bytes of waiting transactions"
                    )));
                }
                taken.last_id += 1;
                let id = taken.last_id;
                taken.snapshots.insert(id, snapshot);
                return Ok(id);
            }
        }
        Err(ControlError::Refused("blocks are made while the snapshot is taken".to_owned()))
    }

    /// Takes back all bundles since a snapshot, and restores the pools of EVM chains, the clock and the settings. The
    /// snapshot and all later ones are gone. False: there is no such snapshot. To be polled to its end: no block is made meanwhile.
    ///
    /// # Errors
    /// The bundles can't be taken back; nothing has changed.
    pub async fn revert(&self, id: u64) -> Result<bool, ControlError> {
        let _turn = self.turn.acquire().await.map_err(refused)?;
        let height = match self.taken.lock().snapshots.get(&id) {
            Some(snapshot) => snapshot.height,
            None => return Ok(false),
        };
        let machine = self.machine()?;
        // A block must not be built with the time of before the revert.
        let _pause = machine.pause_building();
        machine.rewind(height).await.map_err(refused)?;
        let later = self.taken.lock().snapshots.split_off(&id);
        if let Some(snapshot) = later.into_values().next() {
            self.restore(&machine, snapshot)?;
        }
        Ok(true)
    }

    /// Restores what is not in the store.
    fn restore(&self, machine: &Machine, snapshot: Snapshot) -> Result<(), ControlError> {
        self.clock.restore(snapshot.clock);
        // The snapshot may be of the middle of blocks with times that were ahead of the clock.
        let reader = machine.store().snapshot().map_err(refused)?;
        if let Some(last) = POSITION.get(reader.as_ref(), Scope::NODE, &()).map_err(refused)? {
            self.clock.advance_to(last.timestamp_ms);
        }
        snapshot.chains.into_values().for_each(SavedChain::restore);
        Ok(())
    }

    /// Remembers the state of now as the one that [`Self::reset`] goes back to; the first call counts.
    pub fn mark_beginning(&self) {
        if let Ok(machine) = self.machine() {
            let _already = self.beginning.set(self.snapshot(machine.last_final().0));
        }
    }

    /// Goes back to [`Self::mark_beginning`]; all snapshots are gone. What comes after it can be reset again. To be polled
    /// to its end.
    ///
    /// # Errors
    /// The bundles can't be taken back; nothing has changed.
    pub async fn reset(&self) -> Result<(), ControlError> {
        let _turn = self.turn.acquire().await.map_err(refused)?;
        let machine = self.machine()?;
        let beginning = self.beginning.get().ok_or(ControlError::Stopped)?;
        let _pause = machine.pause_building();
        machine.rewind(beginning.height).await.map_err(not_kept)?;
        machine.set_undo(Undo::Keep(UNDO)).await.map_err(refused)?;
        self.taken.lock().snapshots.clear();
        self.restore(&machine, beginning.clone())
    }

    /// Takes back the last blocks of a chain, with those of the other chains since. The snapshots of these blocks are
    /// gone; clock, pools and settings stay. To be polled to its end.
    ///
    /// # Errors
    /// There are not so many, or they can't be taken back; nothing has changed.
    pub async fn rollback(&self, evm: &Evm, blocks: u64) -> Result<(), ControlError> {
        let _turn = self.turn.acquire().await.map_err(refused)?;
        let machine = self.machine()?;
        let _pause = machine.pause_building();
        let head = evm.head().header.number;
        if blocks > head {
            return Err(ControlError::Refused(format!(
                "cannot take back {blocks} blocks: the chain has {head}"
            )));
        }
        if blocks == 0 {
            return Ok(());
        }
        let to = bundle_before(&machine, &evm.context().chain_id, head - blocks + 1)?;
        machine.rewind(to).await.map_err(not_kept)?;
        self.taken.lock().snapshots.retain(|_, snapshot| snapshot.height <= to);
        Ok(())
    }

    fn machine(&self) -> Result<Arc<Machine>, ControlError> {
        self.machine.get().and_then(Weak::upgrade).ok_or(ControlError::Stopped)
    }

    fn evms(&self) -> Vec<Arc<Evm>> {
        self.evms.lock().iter().filter_map(Weak::upgrade).collect()
    }

    fn snapshot(&self, height: u64) -> Snapshot {
        let saved = |evm: Arc<Evm>| {
            let head = evm.head();
            let saved = SavedChain {
                evm: Arc::downgrade(&evm),
                settings: evm.controls()?.settings(),
                waiting: evm.waiting_txs(),
                last_block: (head.header.number, head.hash),
            };
            Some((evm.context().chain_id, saved))
        };
        let chains = self.evms().into_iter().filter_map(saved).collect();
        Snapshot { height, clock: self.clock.setting(), chains }
    }
}

/// Height of the bundle before the one that has the block of a chain.
fn bundle_before(machine: &Machine, chain: &ChainId, block: u64) -> Result<u64, ControlError> {
    let reader = machine.store().snapshot().map_err(refused)?;
    let (last, _) = machine.last_final();
    for height in (1..=last).rev() {
        let bundle = BUNDLES.get(reader.as_ref(), Scope::NODE, &height).map_err(refused)?;
        let has_it = |(id, number): &(ChainId, u64)| id == chain && *number == block;
        if bundle.is_some_and(|bundle| bundle.blocks.iter().any(has_it)) {
            return Ok(height - 1);
        }
    }
    Err(ControlError::Refused(format!("the bundle of block {block} is not stored")))
}

fn not_kept(error: RewindError) -> ControlError {
    match error {
        RewindError::NoUndoRows { .. } | RewindError::BelowUndoRows { .. } => {
            ControlError::Refused(
                "blocks from before the first snapshot or reset can't be taken back: take a snapshot at the beginning, or \
                 start with --rewind-depth"
                    .to_owned(),
            )
        }
        error => refused(error),
    }
}

fn refused(error: impl std::fmt::Display) -> ControlError {
    ControlError::Refused(error.to_string())
}

impl SavedChain {
    fn restore(self) {
        let Some(evm) = self.evm.upgrade() else { return };
        if let Some(controls) = evm.controls() {
            controls.restore(self.settings);
        }
        evm.drop_all_transactions();
        let waiting = self.waiting.len();
        let restored = evm.restore_txs(self.waiting);
        if restored < waiting {
            tracing::warn!(
                chain = evm.name(),
                waiting,
                restored,
                "transactions of a snapshot wait no longer"
            );
        }
    }
}
