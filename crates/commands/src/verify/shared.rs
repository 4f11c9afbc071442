//! The expected shared memory, derived from the exchanges of all chains.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use esker_chain::ChainVm;
use esker_chain::audit::{Exchange, Ledger, Scratch};
use esker_node::wiring::exported_by_p;
use esker_primitives::codec::Decode as _;
use esker_primitives::{AssetId, ChainId};
use esker_settings::config::Config;
use esker_settings::networks::P_CHAIN_ID;
use esker_shared_memory::{Element, Requests, SharedMemoryError, apply, compare, visit};
use esker_storage::audit::{AuditError, AuditLog, Finding};
use esker_storage::{KvRead, StorageError};
use esker_utxo::Utxo;

/// Shared memory under construction. Chains may be added in any order: an import before its export is recorded.
pub(super) struct SharedMemory {
    expected: Scratch,
    exported_by_p: Vec<Element>,
}

impl SharedMemory {
    /// Starts with the P-Chain's exports to these chains, from the network's definition.
    pub(super) fn new(
        config: &Config,
        chains: &[Arc<dyn ChainVm>],
        expected: Scratch,
    ) -> Result<Self, StorageError> {
        let begun = |id: &ChainId| chains.iter().any(|chain| chain.context().chain_id == *id);
        let requests = exported_by_p(&config.network, begun);
        let elements = requests.values().flat_map(|requests| &requests.puts);
        let exported_by_p = elements.cloned().collect();
        // The network's definition has no duplicates.
        let _done = expected.fill(|pending| refusal_of(apply(pending, &P_CHAIN_ID, &requests)))?;
        Ok(Self { expected, exported_by_p })
    }

    /// The P-Chain's exports of an asset, in units of [`Ledger`].
    pub(super) fn exported_by_p(&self, asset: &AssetId) -> u128 {
        let amounts = self.exported_by_p.iter().map(|element| amount_in(asset, &element.value));
        amounts.fold(0, u128::saturating_add)
    }

    /// Applies an exchange of a chain. Reports impossible ones.
    pub(super) fn exchange(
        &mut self,
        chain: &ChainId,
        exchange: Exchange,
        findings: &mut Vec<Finding>,
    ) -> Result<(), AuditError> {
        let mut requests = Requests::default();
        let peer = match exchange {
            Exchange::Put { peer, key, value, traits } => {
                requests.puts.push(Element { key, value, traits });
                peer
            }
            Exchange::Remove { peer, key } => {
                requests.removes.push(key);
                peer
            }
        };
        let requests = BTreeMap::from([(peer, requests)]);
        if let Some(refused) =
            self.expected.fill(|pending| refusal_of(apply(pending, chain, &requests)))?
        {
            let place = format!("shared memory: blocks of {chain} with {peer}");
            findings.push(Finding::new(place, "each export and import once", refused));
        }
        Ok(())
    }

    /// Reports stored rows that differ.
    pub(super) fn compare(
        &self,
        stored: &dyn KvRead,
        log: &mut dyn AuditLog,
    ) -> Result<(), AuditError> {
        compare(stored, self.expected.rows()?.as_ref(), log)
    }

    /// The amounts of assets in shared memory, in units of [`Ledger`] and in the order of the assets.
    pub(super) fn amounts_in(
        &self,
        stored: &dyn KvRead,
        assets: &[AssetId],
    ) -> Result<Vec<u128>, AuditError> {
        let mut sums = vec![0u128; assets.len()];
        visit(stored, |value| {
            for (asset, sum) in assets.iter().zip(&mut sums) {
                *sum = sum.saturating_add(amount_in(asset, value));
            }
            ControlFlow::Continue(())
        })?;
        Ok(sums)
    }
}

/// Separates a refusal from a failure of the store.
fn refusal_of(
    applied: Result<(), SharedMemoryError>,
) -> Result<Option<SharedMemoryError>, StorageError> {
    match applied {
        Ok(()) => Ok(None),
        Err(SharedMemoryError::Storage(error)) => Err(error),
        Err(refused) => Ok(Some(refused)),
    }
}

/// The amount of an asset in an element.
fn amount_in(asset: &AssetId, value: &[u8]) -> u128 {
    match Utxo::from_versioned_bytes(value, value.len()) {
        Ok(utxo) if utxo.asset_id == *asset => {
            let amount = utxo.output.as_transfer().map_or(0, |out| out.amount);
            u128::from(amount).saturating_mul(Ledger::PER_NANO)
        }
        // Another asset. Damaged rows are reported by the comparison.
        _ => 0,
    }
}
