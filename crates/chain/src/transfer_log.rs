//! Log lines of assets that move between two chains.

use std::collections::BTreeMap;

use esker_primitives::{AssetId, ChainId, Id};

use crate::context::ChainContext;

/// The direction of a transfer, seen from the chain whose block has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferKind {
    /// It takes from shared memory what the other chain exported.
    Import,
    /// It puts into shared memory what the other chain may import.
    Export,
}

/// An accepted transaction that moves assets between two chains.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// ID of the transaction.
    pub tx_id: Id,
    /// The direction.
    pub kind: TransferKind,
    /// The other chain.
    pub peer: ChainId,
    /// Height of the block with the transaction.
    pub height: u64,
    /// Moved amounts by asset, in each asset's smallest unit.
    pub amounts: BTreeMap<AssetId, u64>,
}

impl Transfer {
    /// A transfer of amounts; those of the same asset are added up.
    pub fn new(
        tx_id: Id,
        kind: TransferKind,
        peer: ChainId,
        height: u64,
        amounts: impl IntoIterator<Item = (AssetId, u64)>,
    ) -> Self {
        let mut sums = BTreeMap::new();
        for (asset_id, amount) in amounts {
            let sum: &mut u64 = sums.entry(asset_id).or_default();
            *sum = sum.saturating_add(amount);
        }
        Self { tx_id, kind, peer, height, amounts: sums }
    }
}

impl ChainContext {
    /// Logs an accepted transfer of this chain in the logs of both chains, one line for each asset.
    pub fn log_transfer(&self, transfer: &Transfer) {
        if !tracing::event_enabled!(tracing::Level::INFO) {
            return;
        }
        let Transfer { tx_id, kind, peer, height, amounts } = transfer;
        let here = self.primary_alias();
        let peer = self.aliases.primary_alias(peer).unwrap_or_else(|| peer.to_string());
        let (kind, from, to) = match kind {
            TransferKind::Import => ("import", &peer, &here),
            TransferKind::Export => ("export", &here, &peer),
        };
        for (asset, amount) in amounts {
            for chain in [&here, &peer] {
                tracing::info!(
                    chain, txID = %tx_id, kind, from, to, %asset, amount, height,
                    "atomic transaction accepted"
                );
            }
        }
    }
}
