//! The chains of the network over a store, and the machine that commits their blocks.

use std::sync::Arc;

use esker_chain::tables::{CHAINS, POSITION};
use esker_chain::{
    AdjustableClock, Aliases, BlockWaits, ChainContext, ChainVm, Impersonations, MAX_BLOCK_WAITS,
    Machine, MachineConfig, Undo, UndoLimits,
};
use esker_evm::control::Snapshots;
use esker_evm::fork_point::ForkPoint;
use esker_keystore::Keystore;
use esker_platform::Platform;
use esker_primitives::{AssetId, ChainId, Clock};
use esker_settings::config::Config;
use esker_settings::networks::{ChainSpec, P_ALIASES, P_CHAIN_ID};
use esker_storage::{Scope, Store, meta};
use esker_xvm::Takeover;
use tokio::sync::{Notify, Semaphore};

use super::data::DataFolder;
use super::parameters::{self, UnrecordedParameters};
use super::{StartError, beginning, first_start, fork, takeover};
use crate::aliases::AliasTable;
use crate::chains::{Chain, ChainInputs, TxRelays, factory};
use crate::environment::Environment;

/// The chains and their machine, before anything runs.
#[derive(Debug)]
pub struct OpenChains {
    /// Aliases of all chains.
    pub aliases: Arc<AliasTable>,
    /// The chains that this version runs, in the order of their declaration.
    pub chains: Vec<(ChainSpec, Chain)>,
    /// The P-Chain, if it is an observed chain of this node.
    pub observed_p: Option<Arc<Platform>>,
    /// The machine, which commits their blocks.
    pub machine: Arc<Machine>,
    /// The node's clock.
    pub clock: Arc<dyn Clock>,
    /// The clock of the chains of a development network. Other networks use the node's clock.
    pub development_clock: Option<AdjustableClock>,
}

/// The chains of a network over a store that may lack them.
pub(super) struct PreparedChains {
    built: BuiltChains,
    unrecorded: UnrecordedParameters,
    development_clock: Option<AdjustableClock>,
}

/// Compares the network with the store, and makes its chains.
pub(super) fn prepare(
    config: &Config,
    store: &Store,
    (keystore, relays): (&Arc<Keystore>, &TxRelays),
    environment: &Environment,
) -> Result<PreparedChains, StartError> {
    let unrecorded = parameters::compare(&config.network, store)?;
    let development_clock = clock(config, environment);
    let environment = match &development_clock {
        Some(clock) => &Environment { clock: Arc::new(clock.clone()), ..environment.clone() },
        None => environment,
    };
    let parts = (keystore, development_clock.as_ref(), relays);
    let built = build(config, store, parts, environment, &unrecorded)?;
    Ok(PreparedChains { built, unrecorded, development_clock })
}

impl PreparedChains {
    /// All chains, in the order of the machine.
    pub(super) fn vms(&self) -> Vec<Arc<dyn ChainVm>> {
        // P is the last one, since the genesis chains come first.
        let p = self.built.observed_p.iter().map(|p| Arc::clone(p) as Arc<dyn ChainVm>);
        self.built.chains.iter().map(|(_, chain)| chain.vm()).chain(p).collect()
    }
}

/// Opens the chains. New chains start from their genesis.
///
/// Blocks the calling thread on the store.
pub(super) fn open(
    config: &Config,
    store: &Store,
    prepared: PreparedChains,
    environment: &Environment,
    machine: MachineConfig,
) -> Result<OpenChains, StartError> {
    let vms = prepared.vms();
    let PreparedChains { built, unrecorded, development_clock } = prepared;
    let node_clock = Arc::clone(&environment.clock);
    let clock = match &development_clock {
        Some(clock) => Arc::new(clock.clone()),
        None => Arc::clone(&node_clock),
    };
    // The clock may have been moved forward. It does not begin before the last block.
    if let Some(clock) = &development_clock {
        clock.advance_to(config.network.start_time_s.saturating_mul(1000));
        if let Some(last) = POSITION.get(store.snapshot()?.as_ref(), Scope::NODE, &())? {
            clock.advance_to(last.timestamp_ms);
        }
    }
    let BuiltChains { aliases, chains, observed_p, work } = built;
    first_start::write_exports(&config.network, &vms, store)?;
    let genesis = parameters::genesis_bundle(&config.network);
    let mut machine_config = MachineConfig { genesis, ..machine };
    if development_clock.is_some() && machine.decides_alone && Snapshots::are_stored(store)? {
        machine_config.undo = Snapshots::UNDO;
    }
    let machine = Machine::open(vms, store.clone(), clock, work, machine_config)?;
    unrecorded.record(store)?;
    Ok(OpenChains { aliases, chains, observed_p, machine, clock: node_clock, development_clock })
}

/// Settings of the machine.
pub(super) fn machine_config(config: &Config) -> MachineConfig {
    let has_controls = config.mode.is_development() && config.network.has_controls;
    let undo = match config.settings.rewind_depth {
        _ if has_controls && config.decides_alone() => Snapshots::UNDO,
        0 => Undo::Off,
        bundles => Undo::Keep(UndoLimits::bundles(bundles)),
    };
    MachineConfig { undo, decides_alone: config.decides_alone(), ..MachineConfig::default() }
}

/// The clock of the chains of a development network.
fn clock(config: &Config, environment: &Environment) -> Option<AdjustableClock> {
    let has_controls = config.network.has_controls;
    has_controls.then(|| AdjustableClock::new(Arc::clone(&environment.clock)))
}

/// Chains before they are opened.
struct BuiltChains {
    aliases: Arc<AliasTable>,
    chains: Vec<(ChainSpec, Chain)>,
    observed_p: Option<Arc<Platform>>,
    /// Notified when there is new work.
    work: Arc<Notify>,
}

fn build(
    config: &Config,
    store: &Store,
    (keystore, development_clock, relays): (&Arc<Keystore>, Option<&AdjustableClock>, &TxRelays),
    environment: &Environment,
    unrecorded: &UnrecordedParameters,
) -> Result<BuiltChains, StartError> {
    let aliases = Arc::new(alias_table(config)?);
    let work = Arc::new(Notify::new());
    let wait_places = config.answers_with_block().then(|| {
        // The waits leave room for requests of other clients.
        let requests = usize::try_from(config.settings.http_max_in_flight.0).unwrap_or(usize::MAX);
        Arc::new(Semaphore::new(MAX_BLOCK_WAITS.min(requests / 2)))
    });
    let builder = Builder {
        config,
        aliases: &aliases,
        environment,
        store,
        keystore,
        development_clock,
        relays,
        work: &work,
        unrecorded,
        wait_places,
        impersonations: config.network.has_controls.then(Arc::default),
    };
    let chains = builder.build()?;
    let observed_p = builder.observed_p()?;
    Ok(BuiltChains { aliases, chains, observed_p, work })
}

/// The store, its chains, and P if it is an observed chain.
pub type UncheckedChains = (Store, Vec<(ChainSpec, Chain)>, Option<Arc<Platform>>);

/// Opens the store and the chains of an existing folder without checks and without writing.
pub fn open_unchecked(
    config: &Config,
    environment: &Environment,
) -> Result<UncheckedChains, StartError> {
    let folder = DataFolder::from_config(config)?;
    let store = folder.open_offline_store(config)?;
    fork::refuse(&store)?;
    let config = &beginning::of_data(config, &store, environment)?;
    let unrecorded = parameters::compare(&config.network, &store)?;
    let parts = (&Keystore::disabled(), None, &TxRelays::default());
    let built = build(config, &store, parts, environment, &unrecorded)?;
    Ok((store, built.chains, built.observed_p))
}

/// Opens the store and the chains of an existing folder, for commands on a stopped node.
pub fn open_offline(
    config: &Config,
    keystore: &Arc<Keystore>,
    environment: Environment,
    machine: MachineConfig,
) -> Result<(Store, OpenChains), StartError> {
    let folder = DataFolder::from_config(config)?;
    let store = folder.open_offline_store(config)?;
    fork::refuse(&store)?;
    let config = &beginning::of_folder(config, &store, &environment)?;
    let environment = first_start::with_clock(environment, config, &store)?;
    let prepared = prepare(config, &store, (keystore, &TxRelays::default()), &environment)?;
    let chains = open(config, &store, prepared, &environment, machine)?;
    Ok((store, chains))
}

/// Aliases of all chains of the network, whether the node runs them or not: addresses and `/ext/info` contain them.
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
    keystore: &'a Arc<Keystore>,
    development_clock: Option<&'a AdjustableClock>,
    relays: &'a TxRelays,
    work: &'a Arc<Notify>,
    unrecorded: &'a UnrecordedParameters,
    /// Places for sends that wait for their block; `None`: no send waits.
    wait_places: Option<Arc<Semaphore>>,
    /// The impersonated addresses of a development network.
    impersonations: Option<Arc<Impersonations>>,
}

impl Builder<'_> {
    /// The chains of the network that this version runs.
    fn build(&self) -> Result<Vec<(ChainSpec, Chain)>, StartError> {
        let network = &self.config.network;
        let takeover = self.takeover()?;
        let mut chains = Vec::with_capacity(network.chains.len());
        for spec in &network.chains {
            let coin = network.coin_of(spec);
            let mut aliases = network.coin_aliases(spec, &self.config.settings.native_aliases.0);
            if let Some(takeover) = takeover.as_ref().filter(|_| coin == network.native_asset_id) {
                // The other network's native asset is this one's.
                aliases.push(takeover.origin.native_asset_id.to_string());
            }
            let context = self.context(spec.id, (coin, aliases), network.peers_of(spec))?;
            let is_known = !self.unrecorded.contains(spec);
            let parts = ChainInputs {
                keystore: self.keystore,
                clock: self.development_clock,
                fork: self.fork(spec),
                takeover: takeover.as_ref().filter(|_| Some(spec) == network.x_chain()),
            };
            let chain = factory::build(spec, context, self.config, parts, is_known)?;
            chains.push((spec.clone(), chain));
        }
        Ok(chains)
    }

    /// What the X-Chain took over, or takes over now.
    fn takeover(&self) -> Result<Option<Arc<Takeover>>, StartError> {
        let Some(chain) = self.config.network.x_chain() else { return Ok(None) };
        let stored = takeover::stored(chain, self.store)?;
        Ok(stored.or_else(|| self.environment.takeover.clone()))
    }

    /// The block of another node on which the chain begins: only the first EVM chain does.
    fn fork(&self, spec: &ChainSpec) -> Option<&ForkPoint> {
        let fork = self.environment.fork.as_ref()?;
        (spec.id == self.config.network.evm_chain().id).then_some(&fork.point)
    }

    /// The P-Chain, if the configuration or the store has it as an observed chain.
    fn observed_p(&self) -> Result<Option<Arc<Platform>>, StartError> {
        let reader = self.store.snapshot()?;
        let is_known = CHAINS.contains(reader.as_ref(), Scope::NODE, P_CHAIN_ID.as_bytes())?;
        drop(reader);
        if !is_known && !self.config.observes_p {
            return Ok(None);
        }
        let network = &self.config.network;
        let native = (network.native_asset_id, self.config.settings.native_aliases.0.clone());
        let context = self.context(P_CHAIN_ID, native, network.peers_of_p())?;
        Ok(Some(Platform::new(context)))
    }

    /// The context of a chain with that native asset (with its aliases) and those peers.
    fn context(
        &self,
        chain_id: ChainId,
        (native_asset_id, native_aliases): (AssetId, Vec<String>),
        peers: Vec<ChainId>,
    ) -> Result<ChainContext, StartError> {
        let network = &self.config.network;
        Ok(ChainContext {
            network_id: network.id,
            hrp: network.hrp.to_owned(),
            chain_id,
            scope: meta::scope(self.store.kv.as_ref(), &chain_id)?,
            native_asset_id,
            native_aliases,
            aliases: Arc::clone(self.aliases) as Arc<dyn Aliases>,
            clock: Arc::clone(&self.environment.clock),
            store: self.store.clone(),
            peers: Arc::new(peers),
            work: Arc::clone(self.work),
            forwarding: self.relays.forwarding.clone(),
            exchange: self.relays.exchange.clone(),
            block_waits: self.block_waits(),
            impersonations: self.impersonations.clone(),
        })
    }

    fn block_waits(&self) -> Option<Arc<BlockWaits>> {
        let places = self.wait_places.clone()?;
        Some(BlockWaits::new(places, Arc::clone(self.work)))
    }
}
