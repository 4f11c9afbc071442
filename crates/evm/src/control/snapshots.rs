//! Snapshots of all chains of a development node, and the way back to them.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock, Weak};

use alloy_primitives::{Address, B256};
use bytes::Bytes;
use esker_chain::tables::POSITION;
use esker_chain::{
    AdjustableClock, ChainMachine as _, ChainVm as _, ClockSetting, Machine, Undo, UndoLimits,
};
use esker_primitives::ChainId;
use esker_primitives::sync::Mutex;
use esker_storage::Scope;
use tokio::sync::Semaphore;

use super::ControlError;
use crate::chain::Evm;

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
}

/// An EVM chain in a snapshot.
#[derive(Debug)]
struct SavedChain {
    evm: Weak<Evm>,
    settings: ControlSettings,
    waiting: Vec<Bytes>,
    last_block: (u64, B256),
}

#[derive(Debug)]
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
            self.clock.restore(snapshot.clock);
            // The snapshot may be of the middle of blocks with times that were ahead of the clock.
            let reader = machine.store().snapshot().map_err(refused)?;
            if let Some(last) = POSITION.get(reader.as_ref(), Scope::NODE, &()).map_err(refused)? {
                self.clock.advance_to(last.timestamp_ms);
            }
            snapshot.chains.into_values().for_each(SavedChain::restore);
        }
        Ok(true)
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
