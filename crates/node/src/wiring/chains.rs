//! The chains of the network over a store, and the machine that commits their blocks.

use std::sync::Arc;

use esker_chain::{Aliases, ChainContext, Machine, MachineConfig};
use esker_keystore::Keystore;
use esker_primitives::Clock;
use esker_storage::{Store, meta};
use tokio::sync::Notify;

use super::data::DataFolder;
use super::parameters::{self, UnrecordedParameters};
use super::{StartError, first_start};
use crate::aliases::AliasTable;
use crate::chains::{Chain, NodeParts, factory};
use crate::config::Config;
use crate::diagnostics::Diagnostics;
use crate::environment::Environment;
use crate::networks::{ChainSpec, P_ALIASES, P_CHAIN_ID};

/// The chains and their machine, before anything runs.
#[derive(Debug)]
pub struct OpenChains {
    /// Aliases of all chains.
    pub aliases: Arc<AliasTable>,
    /// The chains that this version runs, in the order of their declaration.
    pub chains: Vec<(ChainSpec, Chain)>,
    /// The machine, which commits their blocks.
    pub machine: Arc<Machine>,
    /// The clock of all of them.
    pub clock: Arc<dyn Clock>,
}

/// Opens the chains of a network. New chains start from their genesis.
///
/// Blocks the calling thread on the store.
pub(super) fn open(
    config: &Config,
    store: &Store,
    parts: NodeParts<'_>,
    environment: &Environment,
    machine: MachineConfig,
) -> Result<OpenChains, StartError> {
    let unrecorded = parameters::compare(&config.network, store)?;
    let (aliases, chains, work) = build(config, store, parts, environment, &unrecorded)?;
    first_start::write_exports(&config.network, store)?;
    let vms = chains.iter().map(|(_, chain)| chain.vm()).collect();
    let genesis = parameters::genesis_bundle(&config.network);
    let machine_config = MachineConfig { genesis, ..machine };
    let machine =
        Machine::open(vms, store.clone(), Arc::clone(&environment.clock), work, machine_config)?;
    if machine_config.decides_alone {
        parts.machine.set(&machine);
    }
    unrecorded.record(store)?;
    Ok(OpenChains { aliases, chains, machine, clock: Arc::clone(&environment.clock) })
}

/// Aliases, chains, and the notifier for new work.
type BuiltChains = (Arc<AliasTable>, Vec<(ChainSpec, Chain)>, Arc<Notify>);

fn build(
    config: &Config,
    store: &Store,
    parts: NodeParts<'_>,
    environment: &Environment,
    unrecorded: &UnrecordedParameters,
) -> Result<BuiltChains, StartError> {
    let aliases = Arc::new(alias_table(config)?);
    let work = Arc::new(Notify::new());
    let builder =
        Builder { config, aliases: &aliases, environment, store, parts, work: &work, unrecorded };
    let chains = builder.build()?;
    Ok((aliases, chains, work))
}

/// Opens the store and the chains of an existing folder without checks and without writing.
pub fn open_unchecked(
    config: &Config,
    environment: &Environment,
) -> Result<(Store, Vec<(ChainSpec, Chain)>), StartError> {
    let folder = DataFolder::of(config)?;
    let store = folder.open_offline_store(config)?;
    let unrecorded = parameters::compare(&config.network, &store)?;
    let parts = NodeParts {
        keystore: &Keystore::disabled(),
        data_folder: None,
        diagnostics: &Diagnostics::offline(config, folder.path()),
        machine: &Arc::default(),
        script_slots: &Arc::default(),
        forwarding: None,
    };
    let (_, chains, _) = build(config, &store, parts, environment, &unrecorded)?;
    Ok((store, chains))
}

/// Opens the store and the chains of an existing folder, for commands on a stopped node.
pub fn open_offline(
    config: &Config,
    keystore: &Arc<Keystore>,
    environment: Environment,
    machine: MachineConfig,
) -> Result<(Store, OpenChains), StartError> {
    let folder = DataFolder::of(config)?;
    let store = folder.open_offline_store(config)?;
    let environment = first_start::with_clock(environment, config, &store)?;
    let parts = NodeParts {
        keystore,
        data_folder: None,
        diagnostics: &Diagnostics::offline(config, folder.path()),
        machine: &Arc::default(),
        script_slots: &Arc::default(),
        forwarding: None,
    };
    let chains = open(config, &store, parts, &environment, machine)?;
    Ok((store, chains))
}

/// Aliases of all chains of the network, run or not: addresses and `/ext/info` contain them.
fn alias_table(config: &Config) -> Result<AliasTable, StartError> {
    let table = AliasTable::new();
    table.add_chain(P_CHAIN_ID, &P_ALIASES)?;
    for spec in &config.network.chains {
        table.add_chain(spec.id, &spec.aliases)?;
    }
    Ok(table)
}

/// The inputs of all chains.
struct Builder<'a> {
    config: &'a Config,
    aliases: &'a Arc<AliasTable>,
    environment: &'a Environment,
    store: &'a Store,
    parts: NodeParts<'a>,
    work: &'a Arc<Notify>,
    unrecorded: &'a UnrecordedParameters,
}

impl Builder<'_> {
    /// The chains of the network that this version runs.
    fn build(&self) -> Result<Vec<(ChainSpec, Chain)>, StartError> {
        let network = &self.config.network;
        let mut chains = Vec::with_capacity(network.chains.len());
        for spec in &network.chains {
            let context = ChainContext {
                network_id: network.id,
                hrp: network.hrp.to_owned(),
                chain_id: spec.id,
                scope: meta::scope(self.store.kv.as_ref(), &spec.id)?,
                native_asset_id: network.coin_of(spec),
                native_aliases: network.coin_aliases(spec, &self.config.settings.native_aliases.0),
                aliases: Arc::clone(self.aliases) as Arc<dyn Aliases>,
                clock: Arc::clone(&self.environment.clock),
                store: self.store.clone(),
                peers: Arc::new(network.peers_of(spec)),
                work: Arc::clone(self.work),
                forwarding: self.parts.forwarding.cloned(),
            };
            let is_known = !self.unrecorded.contains(spec);
            let chain = factory::build(
                spec,
                context,
                self.config,
                (self.parts, &self.environment.randomness),
                is_known,
            )?;
            chains.push((spec.clone(), chain));
        }
        Ok(chains)
    }
}
