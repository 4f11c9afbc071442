//! The second stage: the chains, and the machine that commits all of them in one write.

use std::sync::Arc;

use esker_chain::forward::Forwarding;
use esker_chain::{ChainMachine as _, Machine, Maintenance};
use esker_follow::PreferredSource;
use esker_http::Readiness;
use esker_keystore::Keystore;
use esker_platform::Platform;
use esker_primitives::SubnetId;
use esker_settings::networks::ChainSpec;

use super::StoreStage;
use crate::aliases::AliasTable;
use crate::api::{ChainInputs, RunningChain};
use crate::block_log::BlockLogTask;
use crate::chains::{
    Chain, ChainRoutes, ChainServices, Development, ServiceParts, TxRelays, services,
};
use crate::diagnostics::Diagnostics;
use crate::journal;
use crate::wiring::chains::{self, OpenChains, machine_config};
use crate::wiring::error::StartError;
use crate::wiring::{engine, index, keystore, snapshot};

/// Chains whose next blocks nobody decides yet.
pub(in crate::wiring) struct ChainStage {
    pub(super) block_log: BlockLogTask,
    pub(super) maintenance: Vec<Maintenance>,
    pub(super) routes: ChainRoutes,
    pub(super) chains: Vec<(ChainSpec, Chain)>,
    pub(super) observed_p: Option<Arc<Platform>>,
    pub(super) machine: Arc<Machine>,
    pub(super) development: Option<Development>,
    pub(super) aliases: Arc<AliasTable>,
    /// The first bundle in the store, 0 unless the node joined from a snapshot.
    pub(super) first_bundle: u64,
    pub(super) keystore: Arc<Keystore>,
    pub(super) diagnostics: Diagnostics,
    /// The forwarder of a follower's transactions.
    pub(super) forwarding: Option<Arc<Forwarding>>,
    pub(super) preferred: PreferredSource,
    pub(super) base: StoreStage,
}

impl ChainStage {
    /// Opens the chains, from a snapshot if the node is to join from one.
    pub(in crate::wiring) async fn open(mut base: StoreStage) -> Result<Self, StartError> {
        let StoreStage { config, store, folder, environment, metrics, validator, logs, .. } = &base;
        let keystore = keystore::open(config, store, environment);
        metrics.watch_hasher("users", keystore.hasher());
        let diagnostics = Diagnostics::new(config, folder.path(), logs.levels.clone());
        let preferred = PreferredSource::default();
        let relays = TxRelays {
            forwarding: engine::forwarding(config, &environment.clock, &preferred),
            exchange: validator.as_ref().map(|validator| Arc::clone(&validator.pools)),
        };
        let opened = Box::pin(open_chains(&mut base, &keystore, &relays)).await?;
        let OpenChains { aliases, chains, observed_p, machine, clock: _, development_clock } =
            opened;
        let StoreStage { config, folder, environment, metrics, .. } = &base;
        let parts = ServiceParts {
            keystore: &keystore,
            data_folder: Some(folder.path()),
            diagnostics: &diagnostics,
            metrics,
            randomness: &environment.randomness,
            fork: environment.fork.as_ref().map(|fork| &fork.source),
            resets: &base.resets,
            own_addresses: &base.own_addresses,
        };
        let alone = Some(&machine).filter(|_| config.decides_alone());
        let services = services::build(&chains, alone, development_clock.as_ref(), config, parts);
        let ChainServices { routes, development } = services?;
        let first_bundle = machine.history_start()?;
        if first_bundle > 0 {
            tracing::info!(
                bundle = first_bundle,
                "this node joined from a snapshot: its history begins there"
            );
        }
        let threads = chains.iter().map(|(_, chain)| chain.start_maintenance());
        let maintenance = threads.collect::<Result<_, _>>().map_err(StartError::Thread)?;
        if let Some(path) = base.folder.persistent_path() {
            let vms: Vec<_> = chains.iter().map(|(_, chain)| chain.vm()).collect();
            journal::restore(path, &vms);
        }
        let (events, clock) = (machine.subscribe(), base.environment.clock.clone());
        let block_log = BlockLogTask::spawn(events, machine.chains(), clock);
        Ok(Self {
            block_log,
            maintenance,
            routes,
            chains,
            observed_p,
            machine,
            development,
            aliases,
            first_bundle,
            keystore,
            diagnostics,
            forwarding: relays.forwarding,
            preferred,
            base,
        })
    }

    /// The inputs of the node's own APIs.
    pub(super) fn api_inputs(&self, ready: &Readiness) -> ChainInputs {
        ChainInputs {
            aliases: Arc::clone(&self.aliases),
            running: self.running_chains(ready),
            first_bundle: self.first_bundle,
            taken_over: self.chains.iter().find_map(|(_, chain)| chain.taken_over()),
        }
    }

    fn running_chains(&self, ready: &Readiness) -> Vec<RunningChain> {
        let has_index = self.base.config.settings.index_enabled;
        let running = self.chains.iter().map(|(spec, chain)| {
            let routes = self.routes.get(&spec.id).into_iter().flatten();
            RunningChain {
                vm: chain.vm(),
                suffixes: routes.map(|route| route.suffix).collect(),
                subnet_id: SubnetId::ZERO,
                ready: ready.clone(),
                index: has_index.then(|| index::source(chain)),
                was_dag: chain.was_dag(),
            }
        });
        running.collect()
    }

    /// The chain with this ID.
    pub(super) fn chain(&self, id: esker_primitives::ChainId) -> Option<&Chain> {
        self.chains.iter().find(|(spec, _)| spec.id == id).map(|(_, chain)| chain)
    }
}

/// Opens the chains, from a snapshot if the node is to join from one.
async fn open_chains(
    base: &mut StoreStage,
    keystore: &Arc<Keystore>,
    relays: &TxRelays,
) -> Result<OpenChains, StartError> {
    let StoreStage { config, store, environment, early, stop_start, .. } = base;
    let prepared = chains::prepare(config, store, (keystore, relays), environment)?;
    if snapshot::is_wanted(config, store)? {
        let (of_store, stop) = ((&prepared, &*store), stop_start.clone());
        snapshot::join(config, of_store, environment, early, stop).await?;
    }
    chains::open(config, store, prepared, environment, machine_config(config))
}
