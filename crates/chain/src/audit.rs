//! The audit of one chain: do its rows follow from its blocks? It also reports the chain's amounts of some assets and
//! its exchanges with other chains.

mod bundles;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_primitives::{AssetId, ChainId};
use esker_storage::audit::{AuditError, AuditLog};
use esker_storage::{KvRead, KvStore, PendingWrites, StorageResult};

pub use bundles::audit_bundles;
pub use state::audit_state;

/// A chain whose rows can be audited.
pub trait Audit: Send + Sync {
    /// Checks all rows and reports the faulty ones. `None`: some block can't be read, so the amounts are unknown.
    ///
    /// # Errors
    /// The store can't be read, or the log stops the audit. Faulty data is a finding, not an error.
    fn audit(&self, ctx: &mut AuditContext<'_>) -> Result<Option<Ledgers>, AuditError>;
}

/// The inputs and outputs of the audit of one chain.
pub struct AuditContext<'a> {
    /// The stored rows.
    pub stored: &'a dyn KvRead,
    /// The assets whose amounts are wanted. An EVM chain reports its coin alone.
    pub assets: &'a [AssetId],
    /// The expected rows.
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

/// A change that a transaction makes in the memory shared with a peer, as in `esker_shared_memory`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// The chain exports an element.
    Put {
        /// The chain that may import it.
        peer: ChainId,
        /// The element's key.
        key: Vec<u8>,
        /// The element's value.
        value: Vec<u8>,
        /// The traits that index it.
        traits: Vec<Vec<u8>>,
    },
    /// The chain imports an element of the peer.
    Remove {
        /// The chain that exported it.
        peer: ChainId,
        /// The element's key.
        key: Vec<u8>,
    },
}

/// The amounts of a chain, by asset.
pub type Ledgers = BTreeMap<AssetId, Ledger>;

/// Amounts of an asset on a chain, in the unit of an EVM chain whose coin it is: the asset's smallest unit has 10^9 of
/// them, and the native asset 10^18.
///
/// `genesis + minted + imported = exported + burnt + held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Allocated in the chain's genesis.
    pub genesis: u128,
    /// Created by its transactions.
    pub minted: u128,
    /// Imported from other chains by its blocks.
    pub imported: u128,
    /// Exported to other chains by its blocks.
    pub exported: u128,
    /// Burnt as fees, or destroyed, by its blocks.
    pub burnt: u128,
    /// Owned by accounts or UTXOs of its state.
    pub held: u128,
}

impl Ledger {
    /// Units of [`Ledger`] in an asset's smallest unit on the X-Chain, of the native asset a nano-unit.
    pub const PER_NANO: u128 = 1_000_000_000;
}

/// The expected rows, in a separate store.
#[derive(Clone, Debug)]
pub struct Scratch(Arc<dyn KvStore>);

impl Scratch {
    /// Expected rows in an empty store.
    pub fn new(store: Arc<dyn KvStore>) -> Self {
        Self(store)
    }

    /// The rows so far.
    pub fn rows(&self) -> StorageResult<Box<dyn KvRead>> {
        self.0.snapshot()
    }

    /// Adds the rows that `work` writes.
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
