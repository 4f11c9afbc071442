//! Which UTXOs can be spent, and in which order they are looked at.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use esker_primitives::codec::{Decode, Encode};
use esker_primitives::{ChainId, ShortId};
use esker_storage::{StorageError, StorageResult};
use esker_utxo::{Utxo, UtxoId};

use super::SpendError;
use crate::state::raw::RawUtxo;
use crate::state::{MAX_UTXO_PAGE, PageStart, View};
use crate::txs::Tx;

/// Gets UTXOs until it breaks.
pub type Visit<'a> = dyn FnMut(RawUtxo<'_>) -> ControlFlow<()> + 'a;

/// UTXOs, in the order in which they are taken.
pub trait Coins {
    /// Visits every UTXO that names one of `owners`, each once.
    fn visit(&self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()>;
}

/// The chain's own: addresses ascending, UTXO IDs ascending within each, one of several owners under the lowest.
impl Coins for View<'_> {
    fn visit(&self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()> {
        let mut flow = ControlFlow::Continue(());
        for address in owners {
            if flow.is_break() {
                break;
            }
            self.visit_utxos_of(address, |_, utxo| {
                let mut lower = utxo.addresses().take_while(|owner| owner < address);
                if !lower.any(|owner| owners.contains(&owner)) {
                    flow = visit(utxo);
                }
                flow
            })?;
        }
        Ok(())
    }
}

/// What another chain exported to this one, in the same order.
#[derive(Debug)]
pub struct Exported<'a> {
    view: &'a View<'a>,
    source: ChainId,
}

impl<'a> Exported<'a> {
    /// Of the chain `source`.
    pub fn new(view: &'a View<'a>, source: ChainId) -> Self {
        Self { view, source }
    }
}

impl Coins for Exported<'_> {
    fn visit(&self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()> {
        let mut start = None;
        loop {
            let mut flow = ControlFlow::Continue(());
            let mut each = |_: &_, bytes: &[u8]| {
                // What is no UTXO of this VM is left where it is.
                if flow.is_continue()
                    && let Some(utxo) = RawUtxo::new(bytes)
                {
                    flow = visit(utxo);
                }
            };
            let end = self.view.visit_atomic_utxos(
                &self.source,
                owners,
                start,
                MAX_UTXO_PAGE,
                &mut each,
            )?;
            if flow.is_break() || end.count < MAX_UTXO_PAGE {
                return Ok(());
            }
            start = Some(PageStart { address: end.address, utxo_id: end.utxo_id });
        }
    }
}

/// The chain's own UTXOs as if the wallet's pending transactions were accepted: what is accepted already first,
/// then what they produce, in their order.
#[derive(Debug)]
pub struct Pending<'a> {
    view: &'a View<'a>,
    consumed: HashSet<UtxoId>,
    produced: BTreeMap<usize, Utxo>,
    places: HashMap<UtxoId, usize>,
}

impl<'a> Pending<'a> {
    /// Over `view`, which is younger than the list of `pending` transactions: those that it holds already are
    /// passed over.
    ///
    /// # Errors
    /// [`SpendError::MissingUtxo`] if one of them can't be accepted any more.
    pub fn new(view: &'a View<'a>, pending: &[Tx]) -> Result<Self, SpendError> {
        let (consumed, produced, places) = Default::default();
        let mut coins = Self { view, consumed, produced, places };
        for tx in pending {
            if !view.state().has_tx(&tx.id())? {
                coins.apply(tx)?;
            }
        }
        Ok(coins)
    }

    fn apply(&mut self, tx: &Tx) -> Result<(), SpendError> {
        for id in tx.unsigned().local_utxo_ids() {
            if let Some(place) = self.places.remove(&id) {
                self.produced.remove(&place);
            } else if self.view.utxo(&id)?.is_none() || !self.consumed.insert(id) {
                return Err(SpendError::MissingUtxo);
            }
        }
        for utxo in tx.produced_utxos() {
            let place =
                self.produced.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
            self.places.insert(utxo.utxo_id, place);
            self.produced.insert(place, utxo);
        }
        Ok(())
    }
}

impl Coins for Pending<'_> {
    fn visit(&self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()> {
        let mut flow = ControlFlow::Continue(());
        self.view.visit(owners, &mut |utxo| {
            if !self.consumed.contains(&utxo.utxo_id()) {
                flow = visit(utxo);
            }
            flow
        })?;
        if flow.is_break() {
            return Ok(());
        }
        self.produced.values().visit_each(owners, visit)
    }
}

/// UTXOs in memory, as they lie.
impl Coins for [Utxo] {
    fn visit(&self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()> {
        self.iter().visit_each(owners, visit)
    }
}

trait VisitEach {
    fn visit_each(self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()>;
}

impl<'a, I: Iterator<Item = &'a Utxo>> VisitEach for I {
    fn visit_each(self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()> {
        for utxo in self {
            if utxo.output.owners().addresses.iter().any(|owner| owners.contains(owner)) {
                let bytes = utxo.to_versioned_bytes();
                let raw = RawUtxo::new(&bytes).ok_or_else(damaged)?;
                if visit(raw).is_break() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The whole UTXO.
pub(super) fn decode(raw: RawUtxo<'_>) -> StorageResult<Utxo> {
    let bytes = raw.bytes();
    Utxo::from_versioned_bytes(bytes, bytes.len()).map_err(|_| damaged())
}

fn damaged() -> StorageError {
    StorageError::Corrupted("a UTXO does not decode".into())
}
