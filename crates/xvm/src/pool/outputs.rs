//! Outputs of waiting transactions, by owner.

use std::collections::BTreeSet;

use esker_primitives::ShortId;
use esker_transactions::xvm::{Tx, UnsignedTx};
use esker_utxo::{Output, Utxo, UtxoId};

/// Most entries: an output has one for each owner. An output beyond this can be spent once it is accepted.
const MAX_ENTRIES: usize = 1 << 20;

/// Unspent outputs of waiting transactions: owner, place of the transaction in the queue, index of the output.
#[derive(Debug, Default)]
pub(super) struct PooledOutputs(BTreeSet<(ShortId, u64, u32)>);

/// Which output of which waiting transaction: its place in the queue, and the index.
pub(super) type OutputPlace = (u64, u32);

impl PooledOutputs {
    /// Adds all outputs of a transaction.
    pub(super) fn add(&mut self, tx: &Tx, place: u64) {
        visit_owners(tx, |index, owner| self.add_entry((*owner, place, index)));
    }

    /// Adds one output of a transaction.
    pub(super) fn add_one(&mut self, tx: &Tx, place: u64, index: u32) {
        visit_owners_of(tx, index, |owner| self.add_entry((*owner, place, index)));
    }

    fn add_entry(&mut self, entry: (ShortId, u64, u32)) {
        if self.0.len() < MAX_ENTRIES {
            self.0.insert(entry);
        }
    }

    /// Removes all outputs of a transaction.
    pub(super) fn remove(&mut self, tx: &Tx, place: u64) {
        visit_owners(tx, |index, owner| {
            self.0.remove(&(*owner, place, index));
        });
    }

    /// Removes one output of a transaction.
    pub(super) fn remove_one(&mut self, tx: &Tx, place: u64, index: u32) {
        visit_owners_of(tx, index, |owner| {
            self.0.remove(&(*owner, place, index));
        });
    }

    /// The outputs that name one of `owners`, in the order of arrival.
    pub(super) fn owned_by(&self, owners: &BTreeSet<ShortId>) -> BTreeSet<OutputPlace> {
        if self.0.len() <= owners.len() {
            let entries = self.0.iter().filter(|(owner, ..)| owners.contains(owner));
            return entries.map(|(_, place, index)| (*place, *index)).collect();
        }
        let of_owner =
            |owner: &ShortId| self.0.range((*owner, 0, 0)..=(*owner, u64::MAX, u32::MAX));
        owners.iter().flat_map(of_owner).map(|(_, place, index)| (*place, *index)).collect()
    }
}

/// Visits index and owner of every output that a transaction produces on this chain.
fn visit_owners(tx: &Tx, mut visit: impl FnMut(u32, &ShortId)) {
    let amounts = &tx.unsigned().base().outputs;
    for (index, out) in (0..).zip(amounts) {
        out.output.owners.addresses.iter().for_each(|owner| visit(index, owner));
    }
    match tx.unsigned() {
        UnsignedTx::Base(_) | UnsignedTx::Import(_) | UnsignedTx::Export(_) => {}
        UnsignedTx::CreateAsset(_) | UnsignedTx::Operation(_) => {
            for utxo in tx.produced_utxos().skip(amounts.len()) {
                let index = utxo.utxo_id.output_index;
                utxo.output.owners().addresses.iter().for_each(|owner| visit(index, owner));
            }
        }
    }
}

/// One output of a transaction.
pub(super) fn output_at(tx: &Tx, index: u32) -> Option<Utxo> {
    let at = usize::try_from(index).ok()?;
    match tx.unsigned().base().outputs.get(at) {
        Some(out) => Some(Utxo {
            utxo_id: UtxoId { tx_id: tx.id(), output_index: index },
            asset_id: out.asset_id,
            output: Output::SecpTransfer(out.output.clone()),
        }),
        None => tx.produced_utxos().nth(at),
    }
}

/// Visits every owner of one output.
fn visit_owners_of(tx: &Tx, index: u32, visit: impl FnMut(&ShortId)) {
    if let Some(utxo) = output_at(tx, index) {
        utxo.output.owners().addresses.iter().for_each(visit);
    }
}
