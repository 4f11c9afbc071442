//! Log lines about atomic transactions.

use std::collections::BTreeMap;

use esker_chain::ChainContext;
use esker_primitives::ids::AssetId;

use crate::txs::{AtomicTx, UnsignedAtomicTx};

/// Assets and amounts that cross between the chains, in each asset's smallest unit.
fn moved(tx: &UnsignedAtomicTx) -> BTreeMap<AssetId, u64> {
    let amounts: Vec<(AssetId, u64)> = match tx {
        UnsignedAtomicTx::Import(tx) => {
            tx.imported_inputs.iter().map(|input| (input.asset_id, input.input.amount)).collect()
        }
        UnsignedAtomicTx::Export(tx) => {
            tx.exported_outputs.iter().map(|out| (out.asset_id, out.output.amount)).collect()
        }
    };
    let mut moved = BTreeMap::new();
    for (asset_id, amount) in amounts {
        let sum: &mut u64 = moved.entry(asset_id).or_default();
        *sum = sum.saturating_add(amount);
    }
    moved
}

/// A line for each asset that an accepted transaction moved.
pub(crate) fn accepted(tx: &AtomicTx, height: u64, context: &ChainContext) {
    let name = |chain| context.aliases.primary_alias(chain).unwrap_or_else(|| chain.to_string());
    let (here, peer) = (context.primary_alias(), name(&tx.unsigned().peer_chain()));
    let (kind, from, to) = match tx.unsigned() {
        UnsignedAtomicTx::Import(_) => ("import", peer, here),
        UnsignedAtomicTx::Export(_) => ("export", here, peer),
    };
    for (asset_id, amount) in moved(tx.unsigned()) {
        tracing::info!(
            txID = %tx.id(), kind, from, to, asset = %asset_id, amount, height,
            "atomic transaction accepted"
        );
    }
}
