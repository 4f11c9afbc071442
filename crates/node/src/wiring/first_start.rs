//! One-time writes of a new network: the P-Chain's exports before its start, and the balances of the development
//! accounts.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_chain::tables::{CHAINS, POSITION};
use esker_chain::{ChainError, ChainVm, Machine, write_initial_rows};
use esker_primitives::ChainId;
use esker_settings::config::Config;
use esker_settings::networks::{Network, P_CHAIN_ID, dev_funding_txs};
use esker_shared_memory::{Requests, apply};
use esker_storage::{KvStore, MemoryStore, PendingWrites, Scope, StorageResult, Store};
use esker_transactions::xvm::Tx;
use esker_xvm::{TxStatus, Xvm, exported_element};
use tokio::sync::broadcast::error::RecvError;

use super::StartError;
use crate::environment::Environment;

/// Adds the P-Chain's exports of the network file to shared memory, for chains that are not in the store. It runs
/// before their genesis is written, so a crash between the two makes it run again.
pub(super) fn write_exports(
    network: &Network,
    chains: &[Arc<dyn ChainVm>],
    store: &Store,
) -> Result<(), ChainError> {
    let reader = store.snapshot()?;
    let mut begun = BTreeMap::new();
    for exported in &network.exported {
        let chain = exported.destination;
        begun.insert(chain, CHAINS.contains(reader.as_ref(), Scope::NODE, chain.as_bytes())?);
    }
    drop(reader);
    let requests = exported(network, |chain| begun.get(chain) == Some(&false));
    if requests.is_empty() {
        return Ok(());
    }
    // The store is taken as empty: elements of an interrupted start are written again, with the same bytes.
    let empty = MemoryStore::new();
    let nothing = empty.snapshot()?;
    let mut pending = PendingWrites::new(nothing.as_ref());
    apply(&mut pending, &P_CHAIN_ID, &requests)
        .map_err(|error| ChainError::Genesis(format!("exported UTXOs: {error}")))?;
    write_initial_rows(chains, pending.into_writes(), store)
}

/// The P-Chain's exports to the given chains, from the network file.
pub fn exported(
    network: &Network,
    wanted: impl Fn(&ChainId) -> bool,
) -> BTreeMap<ChainId, Requests> {
    let mut requests = BTreeMap::<ChainId, Requests>::new();
    for exported in network.exported.iter().filter(|exported| wanted(&exported.destination)) {
        let element = exported_element(&exported.utxo);
        requests.entry(exported.destination).or_default().puts.push(element);
    }
    requests
}

/// An environment with the clock of the configuration. A clock that is set to a time (`timestamp`) begins there at
/// the first start, and at a later start at the last block of the chain.
pub(super) fn with_clock(
    environment: Environment,
    config: &Config,
    store: &Store,
) -> StorageResult<Environment> {
    let Some(start_s) = config.settings.timestamp else { return Ok(environment) };
    let position = POSITION.get(store.snapshot()?.as_ref(), Scope::NODE, &())?;
    let last_ms = position.map_or(0, |position| position.timestamp_ms);
    Ok(environment.starting_at(last_ms.max(start_s.saturating_mul(1000))))
}

/// Funds the development accounts on the X-Chain and returns once the transaction is accepted. Does nothing if the
/// UTXOs that pay for it are spent, which is the case at every start but the first. Returns whether it did anything.
pub(super) async fn fund_dev_accounts(
    network: &Network,
    xvm: &Xvm,
    machine: &Arc<Machine>,
) -> Result<bool, StartError> {
    let mut has_funded = false;
    for tx in dev_funding_txs(network) {
        has_funded |= fund(&tx, xvm, machine).await?;
    }
    Ok(has_funded)
}

async fn fund(tx: &Tx, xvm: &Xvm, machine: &Arc<Machine>) -> Result<bool, StartError> {
    let fault = |error: &dyn std::fmt::Display| StartError::Funding(error.to_string());
    let input = tx.unsigned().base().inputs.first().map(|input| input.utxo_id);
    let source = input.ok_or_else(|| fault(&"no input"))?;
    let is_funded = |xvm: &Xvm| xvm.view().and_then(|view| view.utxo(&source)).map(|u| u.is_none());
    if is_funded(xvm).map_err(|error| fault(&error))? {
        return Ok(false);
    }
    let mut events = machine.subscribe();
    let id = xvm.issue(tx.bytes()).map_err(|error| fault(&error))?;
    let mut refusal = xvm.context().store.writer.refusal();
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err(fault(&"the node is stopping")),
            },
            Ok(refused) = refusal.wait_for(Option::is_some) => {
                let text = refused.as_ref().map(ToString::to_string).unwrap_or_default();
                return Err(fault(&text));
            }
        }
        let status = xvm.view().and_then(|view| view.tx_status(&id)).map_err(|e| fault(&e))?;
        match status {
            TxStatus::Accepted => return Ok(true),
            TxStatus::Processing => {}
            other => return Err(fault(&format!("the transaction is {other:?}"))),
        }
    }
}
