//! The UTXOs that can be spent, and their order.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use esker_primitives::codec::{Decode, Encode};
use esker_primitives::{ChainId, Id, ShortId};
use esker_storage::{StorageError, StorageResult};
use esker_transactions::xvm::Tx;
use esker_utxo::{Utxo, UtxoId};

use super::SpendError;
use crate::state::raw::RawUtxo;
use crate::state::{MAX_UTXO_PAGE, PageStart, View};

/// Gets UTXOs until it breaks.
pub type Visit<'a> = dyn FnMut(RawUtxo<'_>) -> ControlFlow<()> + 'a;

/// UTXOs, in the order in which they are taken.
pub trait Coins {
    /// Visits every UTXO that names one of `owners`, each once.
    fn visit(&self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()>;
}

/// The chain's own after what waits in the pool, but for `reserved` ones. Accepted UTXOs come first: addresses
/// ascending, UTXO IDs ascending within each, one of several owners under the lowest. What waiting transactions
/// produce follows, in the order of their arrival.
///
/// The pool changes while the UTXOs are visited. [`Xvm::issue_built`](crate::chain::Xvm) checks whether they are still
/// unspent when the transaction is complete.
#[derive(Debug)]
pub struct PoolCoins<'a> {
    view: &'a View<'a>,
    reserved: HashSet<UtxoId>,
}

impl<'a> PoolCoins<'a> {
    /// Over `view` and the pool of its chain.
    pub fn new(view: &'a View<'a>, reserved: HashSet<UtxoId>) -> Self {
        Self { view, reserved }
    }

    /// Whether nothing that waits consumes a UTXO of that name.
    fn is_free(&self, input_id: &Id, utxo_id: impl FnOnce() -> UtxoId) -> bool {
        let is_reserved = || !self.reserved.is_empty() && self.reserved.contains(&utxo_id());
        !self.view.mempool().is_spent(input_id) && !is_reserved()
    }

    /// Whether there is a UTXO of that name, consumed by something that waits or not.
    fn exists(&self, id: &UtxoId) -> StorageResult<bool> {
        Ok(self.view.utxo(id)?.is_some() || self.view.mempool().output(id).is_some())
    }

    fn visit_accepted(
        &self,
        owners: &BTreeSet<ShortId>,
        visit: &mut Visit<'_>,
    ) -> StorageResult<ControlFlow<()>> {
        let mut flow = ControlFlow::Continue(());
        for address in owners {
            if flow.is_break() {
                break;
            }
            self.view.visit_utxos_of(address, |id, utxo| {
                let mut lower = utxo.addresses().take_while(|owner| owner < address);
                if !lower.any(|owner| owners.contains(&owner))
                    && self.is_free(id, || utxo.utxo_id())
                {
                    flow = visit(utxo);
                }
                flow
            })?;
        }
        Ok(flow)
    }

    fn visit_pooled(
        &self,
        owners: &BTreeSet<ShortId>,
        visit: &mut Visit<'_>,
    ) -> StorageResult<ControlFlow<()>> {
        for utxo in self.view.mempool().outputs_of(owners) {
            let id = utxo.utxo_id;
            // The pool follows a block a moment after its commit: what that produced was visited already. Whether
            // another one was quicker to consume it is not asked again: the successor would be missing here.
            if !self.reserved.contains(&id) && !self.view.state().has_tx(&id.tx_id)? {
                let bytes = utxo.to_versioned_bytes();
                if visit(RawUtxo::new(&bytes).ok_or_else(damaged)?).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Coins for PoolCoins<'_> {
    fn visit(&self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()> {
        if self.visit_accepted(owners, visit)?.is_continue() {
            let _whether_broken = self.visit_pooled(owners, visit)?;
        }
        Ok(())
    }
}

/// The UTXOs that another chain exported to this one and that nothing in the pool imports: addresses ascending, UTXO
/// IDs ascending within each.
#[derive(Debug)]
pub struct ExportedCoins<'a> {
    view: &'a View<'a>,
    source: ChainId,
}

impl<'a> ExportedCoins<'a> {
    /// Of the chain `source`.
    pub fn new(view: &'a View<'a>, source: ChainId) -> Self {
        Self { view, source }
    }
}

impl Coins for ExportedCoins<'_> {
    fn visit(&self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()> {
        let mut start = None;
        loop {
            let mut flow = ControlFlow::Continue(());
            let mut each = |id: &Id, bytes: &[u8]| {
                // An element that is not a UTXO of this VM is skipped.
                if flow.is_continue()
                    && !self.view.mempool().is_spent(id)
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

/// The chain's own UTXOs as if the wallet's pending transactions were accepted after what waits in the pool: those
/// of [`PoolCoins`] first, then what the pending ones produce, in their order.
#[derive(Debug)]
pub struct PendingCoins<'a> {
    base: PoolCoins<'a>,
    produced: BTreeMap<usize, Utxo>,
    places: HashMap<UtxoId, usize>,
}

impl<'a> PendingCoins<'a> {
    /// Over `view`, which is younger than the list of `pending` transactions: those that it holds already are
    /// passed over.
    ///
    /// # Errors
    /// [`SpendError::MissingUtxo`] if one of them can't be accepted any more.
    pub fn new(view: &'a View<'a>, pending: &[Tx]) -> Result<Self, SpendError> {
        let (produced, places) = Default::default();
        let mut coins = Self { base: PoolCoins::new(view, HashSet::new()), produced, places };
        for tx in pending {
            if !view.state().has_tx(&tx.id())? {
                coins.apply(tx)?;
            }
        }
        Ok(coins)
    }

    fn apply(&mut self, tx: &Tx) -> Result<(), SpendError> {
        let pooled = self.base.view.mempool().get(&tx.id());
        for id in tx.unsigned().local_utxo_ids() {
            if let Some(place) = self.places.remove(&id) {
                self.produced.remove(&place);
            } else {
                // The oldest one is in the pool, where it is what consumes them.
                let is_free = pooled.is_some() || self.base.is_free(&id.input_id(), || id);
                if !is_free || !self.base.exists(&id)? {
                    return Err(SpendError::MissingUtxo);
                }
                self.base.reserved.insert(id);
            }
        }
        if pooled.is_some_and(|pooled| pooled.well_formed) {
            return Ok(());
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

impl Coins for PendingCoins<'_> {
    fn visit(&self, owners: &BTreeSet<ShortId>, visit: &mut Visit<'_>) -> StorageResult<()> {
        let mut flow = ControlFlow::Continue(());
        self.base.visit(owners, &mut |utxo| {
            flow = visit(utxo);
            flow
        })?;
        if flow.is_break() {
            return Ok(());
        }
        self.produced.values().visit_each(owners, visit)
    }
}

/// UTXOs in memory, in their order.
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
