//! The expected shared memory, derived from the exchanges of all chains.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use esker_chain::ChainVm;
use esker_chain::audit::{Exchange, Ledger, Scratch};
use esker_node::config::Config;
use esker_node::networks::P_CHAIN_ID;
use esker_node::wiring::exported_by_p;
use esker_primitives::codec::Decode as _;
use esker_primitives::{AssetId, ChainId};
use esker_shared_memory::{Element, Requests, SharedMemoryError, apply, compare, visit};
use esker_storage::audit::{AuditError, AuditLog, Finding};
use esker_storage::{KvRead, StorageError};
use esker_utxo::Utxo;

/// Shared memory under construction. Chains may be added in any order: an import before its export is recorded.
pub(super) struct SharedMemory {
    expected: Scratch,
    native: AssetId,
    exported_by_p: u128,
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
        let native = config.network.native_asset_id;
        let elements = requests.values().flat_map(|requests| &requests.puts);
        let exported_by_p = elements
            .map(|element| native_in(&native, &element.value))
            .fold(0, u128::saturating_add);
        // The network's definition has no duplicates.
        let _done = expected.fill(|pending| refusal_of(apply(pending, &P_CHAIN_ID, &requests)))?;
        Ok(Self { expected, native, exported_by_p })
    }

    /// The P-Chain's exports of the native asset, in units of [`Ledger`].
    pub(super) fn exported_by_p(&self) -> u128 {
        self.exported_by_p
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

    /// The amount of the native asset in shared memory, in units of [`Ledger`].
    pub(super) fn native_in(&self, stored: &dyn KvRead) -> Result<u128, AuditError> {
        let mut sum = 0u128;
        visit(stored, |value| {
            sum = sum.saturating_add(native_in(&self.native, value));
            ControlFlow::Continue(())
        })?;
        Ok(sum)
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

/// The amount of the native asset in an element.
fn native_in(native: &AssetId, value: &[u8]) -> u128 {
    match Utxo::from_versioned_bytes(value, value.len()) {
        Ok(utxo) if utxo.asset_id == *native => {
            let amount = utxo.output.as_transfer().map_or(0, |out| out.amount);
            u128::from(amount).saturating_mul(Ledger::PER_NANO)
        }
        // Another asset. Damaged rows are reported by the comparison.
        _ => 0,
    }
}
