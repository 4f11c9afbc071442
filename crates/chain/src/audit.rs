//! What an audit asks of each chain: whether its rows are those that follow from its blocks, and what it says of
//! the native asset and of what it exchanged with other chains.

mod bundles;

use std::sync::Arc;

use esker_primitives::ChainId;
use esker_storage::audit::{AuditError, AuditLog};
use esker_storage::{KvRead, KvStore, PendingWrites, StorageResult};

pub use bundles::audit_bundles;

/// A chain that can look at all of its rows.
pub trait Audit: Send + Sync {
    /// Checks them, and reports what is wrong. `None`: its blocks can't be followed to the end, so that nothing
    /// can be said of amounts.
    ///
    /// # Errors
    /// The store can't be read, or the log asks to stop. What is wrong with the data is no error.
    fn audit(&self, ctx: &mut AuditContext<'_>) -> Result<Option<Ledger>, AuditError>;
}

/// What an audit of one chain works with.
pub struct AuditContext<'a> {
    /// What is stored.
    pub stored: &'a dyn KvRead,
    /// For rows that should be there.
    pub scratch: Scratch,
    /// Receives findings and progress.
    pub log: &'a mut dyn AuditLog,
    /// Receives exchanges with other chains, in the order of the blocks.
    pub exchanges: &'a mut dyn FnMut(Exchange) -> Result<(), AuditError>,
}

impl std::fmt::Debug for AuditContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditContext").field("scratch", &self.scratch).finish_non_exhaustive()
    }
}

/// What one transaction did in the memory that the chain shares with a peer; as `esker_shared_memory` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// It left something for the peer.
    Put {
        /// Who may take it.
        peer: ChainId,
        /// Its name.
        key: Vec<u8>,
        /// What it is.
        value: Vec<u8>,
        /// What it can be found by.
        traits: Vec<Vec<u8>>,
    },
    /// It took what the peer had left.
    Remove {
        /// Who had left it.
        peer: ChainId,
        /// Its name.
        key: Vec<u8>,
    },
}

/// What a chain has of the native asset, in 10^-18 of it: the C-Chain's unit, of which a nano-unit has 10^9.
///
/// `genesis + imported = exported + burnt + held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// In the chain's genesis.
    pub genesis: u128,
    /// Taken from other chains by its blocks.
    pub imported: u128,
    /// Left for other chains by its blocks.
    pub exported: u128,
    /// Paid as fees to nobody, or destroyed, by its blocks.
    pub burnt: u128,
    /// Owned by somebody in its state.
    pub held: u128,
}

impl Ledger {
    /// Units of [`Ledger`] in a nano-unit, the smallest of the X-Chain.
    pub const PER_NANO: u128 = 1_000_000_000;
}

/// Rows that should be there, in a store of their own.
#[derive(Clone, Debug)]
pub struct Scratch(Arc<dyn KvStore>);

impl Scratch {
    /// Over an empty store.
    pub fn new(store: Arc<dyn KvStore>) -> Self {
        Self(store)
    }

    /// What was added so far.
    pub fn rows(&self) -> StorageResult<Box<dyn KvRead>> {
        self.0.snapshot()
    }

    /// Adds what `work` writes.
    pub fn fill<R, E: From<esker_storage::StorageError>>(
        &self,
        work: impl FnOnce(&mut PendingWrites<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let below = self.0.snapshot()?;
        let mut pending = PendingWrites::new(below.as_ref());
        let done = work(&mut pending)?;
        let writes = pending.into_writes();
        drop(below);
        self.0.write(&writes)?;
        Ok(done)
    }
}
