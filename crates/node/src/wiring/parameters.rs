//! Compares the network's parameters with those of the data folder.

use std::ops::ControlFlow;

use esker_chain::GenesisBundle;
use esker_chain::tables::CHAINS;
use esker_primitives::Id;
use esker_settings::networks::{ChainSpec, Network};
use esker_storage::meta::{self, Parameters};
use esker_storage::{KvRead, Scope, StorageResult, Store, WriteSet};

use super::StartError;
use super::parameter_error::ParameterError;

/// Owner of the network's own parameters in the store.
const NETWORK: &str = "network";
/// The name of the network or of a further chain. It is not compared.
const NAME: &str = "name";

/// Parameters by their owner's key in the store.
type Owners = Vec<(Vec<u8>, Parameters)>;

/// The parameters that the data folder has not recorded yet.
#[derive(Debug)]
pub(super) struct UnrecordedParameters(Owners);

/// The network's parameters, then those of the chains in order.
fn of_network(network: &Network) -> Owners {
    let mut own: Parameters = vec![(NAME.to_owned(), network.name.clone())];
    for chain in network.genesis_chains() {
        own.push((format!("genesis of {}", chain.name), chain.id.to_string()));
    }
    let mut owners = vec![(NETWORK.as_bytes().to_vec(), own)];
    owners.extend(network.chains.iter().map(|chain| (owner(chain), of_chain(chain))));
    owners
}

fn owner(chain: &ChainSpec) -> Vec<u8> {
    chain.id.as_bytes().to_vec()
}

fn of_chain(chain: &ChainSpec) -> Parameters {
    let values = chain.parameters.values().into_iter();
    let name = (NAME.to_owned(), chain.name.clone());
    std::iter::once(name).chain(values.map(|(name, value)| (name.into_owned(), value))).collect()
}

/// The first bundle of the network: the network's ID and the parameters of its genesis chains determine it.
pub(super) fn genesis_bundle(network: &Network) -> GenesisBundle {
    let genesis_chains = network.genesis_chains();
    let mut text = format!("network {}\n", network.id);
    for chain in genesis_chains {
        text.push_str(&format!("chain {}\n", chain.id));
        for (name, value) in chain.parameters.values() {
            text.push_str(&format!("{name} {value}\n"));
        }
    }
    GenesisBundle {
        parameters_hash: Id::sha256(text.as_bytes()),
        chain_count: genesis_chains.len(),
    }
}

/// Compares the parameters of a start with the recorded ones, before anything is written.
///
/// # Errors
/// They differ, or the store can't be read.
pub(super) fn compare(
    network: &Network,
    store: &Store,
) -> Result<UnrecordedParameters, StartError> {
    let reader = store.snapshot()?;
    // A folder of an earlier version has no record, but it has its chains. The first commit begins all genesis
    // chains, so a start that was killed before it left none.
    let is_recorded = meta::parameters(reader.as_ref(), NETWORK.as_bytes())?.is_some();
    let has_begun = CHAINS.first(reader.as_ref(), Scope::NODE, &[], None)?.is_some();
    if !is_recorded
        && has_begun
        && let Some(missing) = missing_genesis_chain(network, reader.as_ref())?
    {
        let name = format!("genesis of {}", missing.name);
        return Err(refusal(network, NETWORK.as_bytes(), &name, &Vec::new(), ("", "")).into());
    }
    let mut unrecorded = Vec::new();
    for (owner, wanted) in of_network(network) {
        let Some(found) = meta::parameters(reader.as_ref(), &owner)? else {
            unrecorded.push((owner, wanted));
            continue;
        };
        let is_chain = owner != NETWORK.as_bytes();
        if let Some((name, value, wanted)) = difference(&found, &wanted, is_chain) {
            return Err(refusal(network, &owner, name, &found, (value, wanted)).into());
        }
    }
    if let Some(chain) = undeclared_chain(network, reader.as_ref())? {
        return Err(ParameterError::Missing { chain }.into());
    }
    Ok(UnrecordedParameters(unrecorded))
}

/// The first parameter that differs, its recorded value, and the wanted one. A further chain of the network may not be wanted any
/// more; of the parameters of a chain none may be missing.
fn difference<'a>(
    found: &'a Parameters,
    wanted: &'a Parameters,
    is_chain: bool,
) -> Option<(&'a str, &'a str, &'a str)> {
    let of = |parameters: &'a Parameters, name: &str| {
        let one = parameters.iter().find(|(own, _)| own == name);
        one.map_or("none", |(_, value)| value.as_str())
    };
    let missing = found.iter().filter(|_| is_chain);
    let names = wanted.iter().chain(missing).map(|(name, _)| name.as_str());
    names
        .map(|name| (name, of(found, name), of(wanted, name)))
        .find(|(name, found, wanted)| *name != NAME && found != wanted)
}

/// A chain that the store holds and the network does not have: its blocks could neither be made nor read. Rows
/// without a record are not from a start; `esker db verify` reports them.
fn undeclared_chain(network: &Network, reader: &dyn KvRead) -> StorageResult<Option<String>> {
    let mut undeclared = Vec::new();
    CHAINS.scan(reader, Scope::NODE, &[], None, |key, _| {
        let id = key.try_into().map(Id::new).ok();
        undeclared.extend(id.filter(|id| network.chains.iter().all(|chain| chain.id != *id)));
        ControlFlow::Continue(())
    })?;
    for id in undeclared {
        let Some(recorded) = meta::parameters(reader, id.as_bytes())? else { continue };
        let name = recorded.iter().find(|(name, _)| name == NAME);
        return Ok(Some(
            name.map_or_else(|| id.to_string(), |(_, name)| format!("\"{name}\" ({id})")),
        ));
    }
    Ok(None)
}

/// A genesis chain whose genesis is not in the store.
fn missing_genesis_chain<'a>(
    network: &'a Network,
    reader: &dyn KvRead,
) -> StorageResult<Option<&'a ChainSpec>> {
    for chain in network.genesis_chains() {
        if !CHAINS.contains(reader, Scope::NODE, chain.id.as_bytes())? {
            return Ok(Some(chain));
        }
    }
    Ok(None)
}

fn refusal(
    network: &Network,
    owner: &[u8],
    name: &str,
    found: &Parameters,
    (value, wanted): (&str, &str),
) -> ParameterError {
    let chain = network.chains.iter().find(|chain| chain.id.as_bytes() == owner);
    let Some(chain) = chain else {
        let found = found.iter().find(|(name, _)| name == NAME).map(|(_, name)| name.as_str());
        if network.x_chain().is_none() && found == Some(network.name.as_str()) {
            return ParameterError::EvmNetwork { name: name.to_owned() };
        }
        if network.dev_accounts.is_some() && found == Some(network.name.as_str()) {
            return ParameterError::DevNetwork { name: name.to_owned() };
        }
        return ParameterError::Network {
            found: found.unwrap_or("unknown").to_owned(),
            wanted: network.name.clone(),
            name: name.to_owned(),
        };
    };
    let is_c = chain.id == network.evm_chain().id;
    let hint = match name {
        "chain-id" if is_c => " (--chain-id)",
        "number" if is_c => " (--number)",
        "memory-limit" if is_c && network.dev_accounts.is_some() => " (--memory-limit)",
        "code-size-limit" if is_c && network.dev_accounts.is_some() => " (--code-size-limit)",
        "no-tx-gas-limit" if is_c && network.dev_accounts.is_some() => " (--no-tx-gas-limit)",
        "gas-limit" if is_c && network.dev_accounts.is_some() => " (--gas-limit, --real-fees)",
        "gas-limit" if is_c => " (--gas-limit)",
        "min-base-fee" if is_c && network.dev_accounts.is_some() => " (--base-fee, --real-fees)",
        "target-gas" | "min-base-fee" | "block-gas-cost-step" if is_c => {
            " (--real-fees, or the network's file)"
        }
        "gas-limit"
        | "target-gas"
        | "min-base-fee"
        | "block-gas-cost-step"
        | "asset"
        | "peers"
        | "tx-fee"
        | "create-asset-tx-fee" => " (the network's file, or the chain's table)",
        _ => " (the chain's genesis)",
    };
    ParameterError::Chain {
        chain: chain.primary_alias(),
        name: name.to_owned(),
        found: value.to_owned(),
        wanted: wanted.to_owned(),
        hint,
    }
}

impl UnrecordedParameters {
    /// Whether the parameters of this chain are not recorded yet.
    pub(super) fn contains(&self, chain: &ChainSpec) -> bool {
        self.0.iter().any(|(owner, _)| *owner == chain.id.as_bytes())
    }

    /// Records them, once the chains are open.
    pub(super) fn record(self, store: &Store) -> StorageResult<()> {
        let mut out = WriteSet::new();
        for (owner, parameters) in &self.0 {
            meta::put_parameters(&mut out, owner, parameters);
        }
        if out.is_empty() { Ok(()) } else { store.writer.commit_blocking(out) }
    }
}

#[cfg(test)]
mod tests {
    use esker_settings::networks::Preset;

    use super::*;

    fn begin(store: &Store, chains: &[ChainSpec]) {
        let mut out = WriteSet::new();
        for chain in chains {
            CHAINS.put(&mut out, Scope::NODE, chain.id.as_bytes(), &());
        }
        store.writer.commit_blocking(out).unwrap();
    }

    #[test]
    fn a_first_start_may_be_killed_at_any_step() {
        let (network, other) = (Preset::Local.network(), Preset::Dev.network());
        let store = Store::memory().unwrap();
        // Chains get their scopes one after the other, before any of their rows is written.
        for chain in network.genesis_chains() {
            assert!(compare(&network, &store).is_ok());
            meta::scope(store.kv.as_ref(), &chain.id).unwrap();
        }
        begin(&store, network.genesis_chains());
        let unrecorded = compare(&network, &store).unwrap();
        let refused = compare(&other, &store).unwrap_err().to_string();
        assert!(refused.contains("belongs to network \"unknown\""), "{refused}");
        unrecorded.record(&store).unwrap();
        assert!(compare(&network, &store).is_ok());
        let refused = compare(&other, &store).unwrap_err().to_string();
        assert!(refused.contains("belongs to network \"local\""), "{refused}");
    }

    #[test]
    fn a_folder_with_some_genesis_chains_belongs_to_another_network() {
        let network = Preset::Local.network();
        let store = Store::memory().unwrap();
        begin(&store, &network.genesis_chains()[..1]);
        let refused = compare(&network, &store).unwrap_err().to_string();
        assert!(refused.contains("genesis of "), "{refused}");
    }
}
