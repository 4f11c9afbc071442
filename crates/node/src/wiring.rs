//! Builds a running node from a configuration, in the order of the data flow: store, identity, chains, machine,
//! engine, APIs, HTTP. [`Node::start`] is the whole sequence; the files of this folder have the steps.

mod asking;
mod avalanchego;
mod beginning;
mod chains;
mod data;
mod early;
mod engine;
mod error;
mod first_start;
mod fixture;
mod index;
mod keystore;
mod listen;
mod parameters;
mod running;
mod snapshot;
mod unserved;
mod versions;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use esker_chain::forward::ResubmitTask;
use esker_chain::{Aliases, ChainMachine as _, Machine, MachineConfig, Shutdown, Undo, UndoLimits};
use esker_evm::control::Snapshots;
use esker_evm_rpc::{DevelopmentNode, StateFileError};
use esker_follow::PreferredSource;
use esker_http::{HttpConfig, HttpState, Readiness, Routes, serve};
use esker_primitives::SubnetId;

pub use beginning::start as network_start;
pub use chains::{OpenChains, UncheckedChains, open_offline, open_unchecked};
pub use error::of_storage as storage_exit_code;
pub use error::{StartError, exit_code};
pub use first_start::exported as exported_by_p;
pub use running::RunningNode;
pub use snapshot::SharedMemoryPart;

use self::avalanchego::FollowedNode;
use self::data::DataFolder;
use self::early::EarlyServer;
use self::engine::{ChosenEngine, EngineThread};
use self::listen::EvmPort;
use crate::api::admin::settings::shown as shown_settings;
use crate::api::{self, AdminDeps, ApiDeps, FollowerDeps, NetworkFacts, RunningChain};
use crate::backup::{BackupSource, Backups};
use crate::block_log::BlockLogTask;
use crate::chains::{Chain, Development, NodeParts, development, endpoints};
use crate::config::{Config, Mode};
use crate::diagnostics::Diagnostics;
use crate::discovery::node_endpoint;
use crate::environment::Environment;
use crate::journal;
use crate::logging;
use crate::metrics::Metrics;
use crate::networks::ChainSpec;
use crate::validator_changes::StoreChangeLog;

/// Starts nodes.
#[derive(Clone, Copy, Debug)]
pub struct Node;

impl Node {
    /// Starts a node. It answers requests when this returns.
    ///
    /// Logging begins with the first node of the process. The calling thread is blocked on the disk for some
    /// milliseconds.
    ///
    /// # Errors
    /// See [`StartError`]. Nothing keeps running, and a temporary folder is removed.
    pub async fn start(
        config: Config,
        environment: Environment,
    ) -> Result<RunningNode, StartError> {
        let (_never, stop) = Shutdown::new();
        Box::pin(Self::start_unless_stopped(config, environment, stop)).await
    }

    /// As [`Self::start`]; a start that takes long ends at `stop` with [`StartError::Stopped`].
    pub async fn start_unless_stopped(
        config: Config,
        environment: Environment,
        stop_start: Shutdown,
    ) -> Result<RunningNode, StartError> {
        let begun = Instant::now();
        let (logs, log_files) = logging::install(&config.log());
        log_warnings(&config);
        let tls = listen::tls(&config)?;
        let metrics = Arc::new(Metrics::of_build(environment.commit));
        metrics.watch_log(logs.clone());

        // The store, locked by this process and bound to this network.
        let folder = DataFolder::of(&config)?;
        let mut validator = config.validator(folder.path())?;
        if let Some(validator) = &validator {
            listen::check_validator(validator.listen)?;
        }
        let store = folder.open_store(&config, &metrics)?;
        if let Some(validator) = &mut validator {
            validator.changes = Arc::new(StoreChangeLog::new(store.clone()));
        }
        let mut stop_start = stop_start;
        let identity = Arc::new(folder.identity(&environment.randomness)?);
        let of_node = (identity.node_id(), tls.clone(), &environment.clock, &metrics);
        let mut early = EarlyServer::new(&config, of_node, (&store, folder.path()));
        let beginning =
            beginning::of_node(config, &store, &environment, &mut early, &mut stop_start);
        let config = Box::pin(beginning).await?;
        let environment = first_start::with_clock(environment, &config, &store)?;
        let fixture = fixture::wanted(&config, &store)?;
        logging::check_files(&config.log())
            .map_err(|(path, error)| StartError::Logs { path, error })?;
        running::check_dump_file(&config)?;
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            commit = Some(environment.commit).filter(|commit| !commit.is_empty()),
            network = config.network.name,
            process = std::process::id(),
            "starting"
        );
        let keystore = keystore::open(&config, &store, &environment);
        metrics.watch_hasher("users", keystore.hasher());

        // The chains, and the machine that commits all of them in one write.
        let machine = machine_config(&config);
        let diagnostics = Diagnostics::new(&config, folder.path(), logs.clone());
        let preferred = PreferredSource::default();
        let forwarding = engine::forwarding(&config, &environment.clock, &preferred);
        let parts = NodeParts {
            keystore: &keystore,
            data_folder: Some(folder.path()),
            diagnostics: &diagnostics,
            machine: &Arc::default(),
            script_slots: &Arc::default(),
            forwarding: forwarding.as_ref(),
            exchange: validator.as_ref().map(|validator| &validator.pools),
            development: None,
            metrics: &metrics,
        };
        let prepared = chains::prepare(&config, &store, parts, &environment)?;
        if snapshot::is_wanted(&config, &store)? {
            let parts = (&prepared, &store);
            snapshot::join(&config, parts, &environment, &mut early, stop_start).await?;
        }
        let opened = chains::open(&config, &store, prepared, parts, &environment, machine)?;
        let OpenChains { aliases, chains, observed_p, machine, clock: _, development } = opened;
        let first_bundle = machine.history_start()?;
        if first_bundle > 0 {
            tracing::info!(
                bundle = first_bundle,
                "this node joined from a snapshot: its history begins there"
            );
        }
        let mut maintenance = Vec::new();
        for (_, chain) in &chains {
            maintenance.push(chain.start_maintenance().map_err(StartError::Thread)?);
        }

        if let Some(path) = folder.persistent_path() {
            let vms: Vec<_> = chains.iter().map(|(_, chain)| chain.vm()).collect();
            journal::restore(path, &vms);
        }

        let block_log =
            BlockLogTask::spawn(machine.subscribe(), machine.chains(), environment.clock.clone());

        // The engine, which orders blocks on a separate thread.
        let followed = observed_p.filter(|_| config.observes_p).map(|p| FollowedNode {
            network: config.network.clone(),
            chains: chains.clone(),
            p,
            store: store.clone(),
        });
        let chain_clock = development.as_ref().map(|shared| shared.clock.clone());
        let outside = (&environment, chain_clock, &store);
        let applying = match fixture.zip(development.as_ref()) {
            Some((fixture, shared)) => {
                let clock = shared.clock.clone();
                Some(fixture::Applying::begin(fixture, &config.network, clock))
            }
            None => None,
        };
        let chosen = engine::choose(&config, validator, &machine, outside, (followed, preferred))?;
        let ChosenEngine { engine, follower, validator } = chosen;
        let mut engine_thread = EngineThread::spawn(Arc::clone(&engine), machine.clone())?;
        let mut has_prepared = false;
        if config.network.dev_accounts.is_some() && follower.is_none() {
            let node = development.as_ref().and_then(Development::node);
            let parts = (applying, node);
            has_prepared =
                prepare_dev(&config, &chains, &machine, &mut engine_thread, parts).await?;
        }
        if let Some(shared) = development.as_ref().filter(|_| config.decides_alone()) {
            shared.snapshots.load().await.map_err(StartError::Snapshots)?;
            if config.mode == Mode::Dev {
                let marked = shared.snapshots.mark_beginning(has_prepared).await;
                marked.map_err(StartError::Snapshots)?;
            }
        }

        let (stop, stopped) = Shutdown::new();
        // The paths: chains under all their aliases, and the node's own APIs.
        let routes = Arc::new(Routes::new(metrics.clone()));
        let ready = Readiness::ready();
        let key_methods = config.settings.api_key_methods_enabled;
        for (_, chain) in &chains {
            let vm = chain.vm();
            let id = vm.context().chain_id;
            tracing::info!(chain = vm.name(), %id, height = vm.stats().height, "chain opened");
            let names = aliases.aliases(&id);
            let mut endpoints_of_chain = vm.routes();
            if let Some(shared) = development.as_ref().filter(|_| config.mode == Mode::Dev)
                && id == config.network.x_chain().id
            {
                development::add_methods(&mut endpoints_of_chain, &shared.snapshots);
            }
            let endpoints = endpoints(&vm.name(), endpoints_of_chain, key_methods);
            routes.chain(&id, &names, endpoints, &ready)?;
        }
        add_static_endpoints(&routes)?;
        keystore::add_endpoint(&config, keystore, &routes)?;
        unserved::note(&config, &chains, &aliases, &routes);
        let (listener, http_addr) = match early.listener {
            Some(bound) => bound,
            None => listen::http(&config).await?,
        };
        let evm = listen::evm(&config, &routes).await?;
        let backups = Backups::new(Arc::clone(&store.kv), BackupSource::of(&config, folder.path()));
        let health = api::install(
            ApiDeps {
                network: NetworkFacts::of(&config.network),
                identity: Arc::clone(&identity),
                versions: versions::versions(environment.commit),
                node_ip: SocketAddr::new(http_addr.ip(), STAKING_PORT),
                vms: versions::vms(),
                fxs: versions::fxs(),
                aliases: Arc::clone(&aliases),
                chains: running_chains(&config, &chains, &ready),
                engine,
                follower: follower.map(|follower| FollowerDeps {
                    follower,
                    max_lag: config.settings.follow_max_lag,
                }),
                first_bundle,
                validator: validator.clone(),
                sync: api::sync::server(&config, &machine, &store, stopped.clone())?,
                store: store.clone(),
                data_dir: Some(folder.path().to_owned()),
                clock: environment.clock.clone(),
                metrics: Arc::clone(&metrics),
                admin: config.settings.api_admin_enabled.then(|| AdminDeps {
                    levels: logs.clone(),
                    profiles: diagnostics.folder(),
                    config: shown_settings(&config, folder.path()),
                    backups: Arc::clone(&backups),
                    validator,
                }),
            },
            &routes,
        )?;

        // HTTP: from here on the node answers.
        let node_id = identity.node_id();
        let http = HttpConfig { spool: config.reply_spool(folder.path()), ..config.http() };
        let state = HttpState::new(http, Arc::clone(&routes), &node_id, metrics);
        let failed_calls = state.failed_calls().clone();
        let mut tasks = Vec::new();
        let (evm, evm_in_use) = match evm {
            EvmPort::Off => (None, None),
            EvmPort::Bound(evm) => (Some(*evm), None),
            EvmPort::InUse(address) => (None, Some(address)),
        };
        let evm_addr = evm.map(|evm| {
            let state = Arc::new(state.with_routes(Arc::new(evm.routes)));
            tasks.push(tokio::spawn(serve(
                vec![evm.listener],
                tls.clone(),
                state,
                wait_for_shutdown(stopped.clone()),
            )));
            tracing::info!(address = %evm.addr, "the C-Chain's JSON-RPC at /");
            evm.addr
        });
        let state = Arc::new(state);
        let stop_serving = wait_for_shutdown(stopped.clone());
        tasks.push(tokio::spawn(serve(vec![listener], tls.clone(), state, stop_serving)));
        if let Some(tls) = &tls {
            tasks.push(tokio::spawn(listen::follow_certificate(tls.clone(), stopped.clone())));
        }
        if let Some(forwarding) = forwarding.filter(|forwarding| !forwarding.is_read_only()) {
            tasks.push(tokio::spawn(ResubmitTask::new(forwarding).run(stopped.clone())));
        }
        tasks.push(tokio::spawn(health.run(stopped)));
        let ready_after = begun.elapsed();
        tracing::info!(
            http = %http_addr,
            network = config.network.name,
            node_id = %node_id,
            ms = u64::try_from(ready_after.as_millis()).unwrap_or(u64::MAX),
            "ready"
        );
        Ok(RunningNode {
            http_addr,
            evm_addr,
            evm_in_use,
            tls,
            node_id,
            ready_after,
            logs,
            log_files,
            routes,
            failed_calls,
            clock: environment.clock,
            chains: chains.into_iter().map(|(_, chain)| chain).collect(),
            machine,
            development,
            stop,
            tasks,
            engine: engine_thread,
            block_log,
            maintenance,
            backups,
            store,
            folder,
            config,
        })
    }
}

/// Settings of the machine.
fn machine_config(config: &Config) -> MachineConfig {
    let undo = match config.settings.rewind_depth {
        _ if config.mode == Mode::Dev && config.decides_alone() => Snapshots::UNDO,
        0 => Undo::Off,
        bundles => Undo::Keep(UndoLimits::bundles(bundles)),
    };
    MachineConfig { undo, decides_alone: config.decides_alone(), ..MachineConfig::default() }
}

/// Port for peers. The node does not listen on it.
const STAKING_PORT: u16 = 9651;

fn log_warnings(config: &Config) {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
}

/// Funds the accounts of the development network, applies its fixture and loads its state, unless the engine fails
/// meanwhile. Whether there was anything to do: blocks of transactions that waited over a restart do not count.
async fn prepare_dev(
    config: &Config,
    chains: &[(ChainSpec, Chain)],
    machine: &Arc<Machine>,
    engine: &mut EngineThread,
    (applying, node): (Option<fixture::Applying>, Option<Arc<DevelopmentNode>>),
) -> Result<bool, StartError> {
    let (x, c) = (config.network.x_chain().id, config.network.c_chain().id);
    let of = |id| chains.iter().find(|(spec, _)| spec.id == id).map(|(_, chain)| chain);
    let (Some(Chain::Xvm(xvm)), Some(Chain::Evm(nat))) = (of(x), of(c)) else { return Ok(false) };
    let prepare = async {
        let mut has_prepared =
            first_start::fund_dev_accounts(&config.network, xvm, machine).await?;
        if let Some(applying) = applying {
            let undo = machine_config(config).undo;
            applying.finish((xvm, nat), (machine, undo), &config.network).await?;
            has_prepared = true;
        }
        if let Some(((path, may_be_missing), node)) = config.state_to_load().zip(node) {
            has_prepared |= load_state(&node, path, may_be_missing).await?;
        }
        Ok(has_prepared)
    };
    tokio::select! {
        prepared = prepare => prepared,
        () = engine.ended() => {
            engine.stop().await?;
            Err(StartError::Funding("the engine stopped".to_owned()))
        }
    }
}

/// Brings the C-Chain to the state of a file. Whether that took blocks.
async fn load_state(
    node: &Arc<DevelopmentNode>,
    path: &Path,
    may_be_missing: bool,
) -> Result<bool, StartError> {
    match node.load_file(path).await {
        Err(StateFileError::Io { error, .. })
            if may_be_missing && error.kind() == std::io::ErrorKind::NotFound =>
        {
            Ok(false)
        }
        loaded => loaded.map_err(|error| StartError::State { doing: "load", error }),
    }
}

/// Resolves when the node stops.
async fn wait_for_shutdown(mut stop: Shutdown) {
    stop.wait().await;
}

/// Adds `/ext/vm/xvm` and the reference's aliases of it.
fn add_static_endpoints(routes: &Routes) -> Result<(), StartError> {
    use esker_xvm::genesis::primary::XVM_ID;
    let service = esker_xvm::service::genesis::service();
    routes.node("vm/xvm", node_endpoint("vm/xvm", service))?;
    routes.alias("vm/xvm", "vm/avm")?;
    routes.alias("vm/xvm", &format!("vm/{XVM_ID}"))?;
    Ok(())
}

fn running_chains(
    config: &Config,
    chains: &[(ChainSpec, Chain)],
    ready: &Readiness,
) -> Vec<RunningChain> {
    let running = |(_, chain): &(ChainSpec, Chain)| RunningChain {
        vm: chain.vm(),
        subnet_id: SubnetId::ZERO,
        ready: ready.clone(),
        index: config.settings.index_enabled.then(|| index::source(chain)),
        was_dag: chain.was_dag(),
    };
    chains.iter().map(running).collect()
}
