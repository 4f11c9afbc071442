//! Builds an EVM chain with its services.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::hex::FromHexError;
use alloy_primitives::{B256, U256};
use esker_chain::forward::TxKind;
use esker_chain::{ChainContext, ChainError};
use esker_evm::accounts::{AccountManager, AccountManagers, KeyRing, NoAccounts};
use esker_evm::chain::{BuildMode, Evm, EvmConfig, GenesisSource, PRUNED_WINDOW};
use esker_evm::control::{ControlExtension, Controls, ImpersonatedAccounts, Snapshots};
use esker_evm::extension::{BlockExtension, ExtDataView, NoExtension};
use esker_evm::oracle::{FeeOracle, OracleConfig, PriceOptionsConfig};
use esker_evm::pool::PoolConfig;
use esker_evm_execution::executor::ChainParams;
use esker_evm_execution::rules::{CChainRules, Rules};
use esker_evm_rpc::debug::runtime_methods;
use esker_evm_rpc::evm::{
    FilterConfig, Filters, ReceiptWaits, TransactApi, TransactConfig, filter_methods,
    reading_methods, transacting_methods,
};
use esker_evm_rpc::subscriptions::Subscriptions;
use esker_evm_rpc::{
    Api, Apis, ChainFiles, ChainTraces, DevelopmentNode, LoadedBlocks, ProofWindow, ReadApi,
    ReadConfig, StateLoads, TraceFiles, admin_methods, development_methods, file_tracing_methods,
    tracing_methods,
};
use esker_evm_state::blocks::History;
use esker_js_tracer::{ScriptConfig, ScriptHost, ScriptSlots};
use esker_key_directory::{KeyDirectory, KeyDirectoryConfig, ScryptCost};
use esker_nat::service::NatService;
use esker_nat::{AtomicExtension, Nat};
use esker_primitives::network::{MAIN_ID, TEST_ID};
use esker_primitives::{Clock, Randomness};
use esker_rpc::positional::{Limits, Server};
use esker_rpc::{Route, Service};
use esker_settings::config::value::Switch;
use esker_settings::config::{ChainSettings, Config, Mode, personal};
use esker_settings::networks::accounts::{Account, well_known};
use esker_settings::networks::{ChainSpec, EvmParameters, Network};
use thiserror::Error;

use super::evm_chain::EvmChain;
use super::import::Importer;
use super::{ServiceParts, SharedParts, rules};
use crate::api::admin::chain::ChainAdminApi;
use crate::api::admin::runtime::ChainRuntime;
use crate::api::admin::vm_config::{self, Effective};
use crate::discovery::chain_info;
use crate::metrics::Metrics;

/// Path of the methods, below the chain's name.
pub(crate) const RPC: &str = "/rpc";
/// Path of the websockets, below the chain's name.
const WS: &str = "/ws";

/// Path of the chain's admin API, if it is enabled, below the chain's name.
pub(crate) const ADMIN: &str = "/admin";

/// The reply of `nat.version`.
const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The inputs from which a chain is built.
struct Inputs<'a> {
    spec: &'a ChainSpec,
    parameters: &'a EvmParameters,
    config: &'a Config,
    settings: &'a ChainSettings,
    services: ServiceParts<'a>,
    shared: &'a SharedParts,
    randomness: &'a Randomness,
}

/// The chain itself, before any API reads it.
struct OpenedChain {
    evm: Arc<Evm>,
    /// Its atomic transactions, if it has any.
    atomic: Option<Arc<AtomicExtension>>,
    params: ChainParams,
    controls: Option<Arc<Controls>>,
    /// The clock of block times.
    chain_clock: Arc<dyn Clock>,
    /// The node's clock, for time limits.
    clock: Arc<dyn Clock>,
    importer: Importer,
    is_archive: bool,
}

/// Builds the chain of a specification, with its endpoints.
pub(super) fn build(
    (spec, parameters): (&ChainSpec, &EvmParameters),
    context: ChainContext,
    config: &Config,
    (services, shared, randomness): (ServiceParts<'_>, &SharedParts, &Randomness),
    is_known: bool,
) -> Result<(EvmChain, Vec<Route>), ChainError> {
    let settings = config.chain(&spec.id);
    let inputs = Inputs { spec, parameters, config, settings, services, shared, randomness };
    let exchange = context.exchange.clone();
    let opened = inputs.open(context, is_known)?;
    let apis = personal::apis(settings, config.mode).map_err(|error| inputs.fault(&error))?;
    let reads = inputs.reads(&opened);
    let transact = inputs.transact(&opened, &reads)?;
    let (evm, atomic) = (Arc::clone(&opened.evm), opened.atomic.clone());
    let is_archive = opened.is_archive;
    let service = inputs.methods(&apis, opened, &reads, &transact);
    let server = inputs.server(&apis, &evm, service, &transact);
    let mut routes = vec![Route::positional(RPC, server.clone()).with_socket(WS, Arc::new(server))];
    if let Some(pools) = &exchange {
        pools.register(spec.id, TxKind::Evm, evm.exchange_pool());
    }
    let chain = match atomic {
        Some(atomic) => {
            let nat = Nat::new(evm, atomic);
            if let Some(pools) = exchange {
                pools.register(spec.id, TxKind::Atomic, nat.exchange_pool());
            }
            let keystore = Arc::clone(services.keystore);
            routes.extend(NatService::new(nat.clone(), keystore, VERSION.to_owned()).routes());
            EvmChain::with_atomic(nat)
        }
        None => EvmChain::new(evm),
    };
    if settings.admin_api_enabled {
        routes.push(inputs.admin(&apis, is_archive));
    }
    Ok((chain, routes))
}

impl Inputs<'_> {
    /// The chain's name in errors, logs and metrics.
    fn alias(&self) -> String {
        self.spec.primary_alias()
    }

    fn fault(&self, error: &dyn std::fmt::Display) -> ChainError {
        ChainError::Genesis(format!("chain {}: {error}", self.alias()))
    }

    /// Opens the chain on its store.
    fn open(&self, context: ChainContext, is_known: bool) -> Result<OpenedChain, ChainError> {
        let Self { spec, parameters, config, settings, shared, .. } = self;
        let development = shared.development.as_ref();
        let controls = development.filter(|_| config.mode == Mode::Dev && config.decides_alone());
        let controls = controls
            .map(|shared| Arc::new(Controls::new(shared.clock.clone(), Arc::clone(&context.work))));
        let (rules, atomic_rules) = self.rules(controls.as_ref());
        let params = ChainParams::new(Arc::clone(&rules), context.network_id, context.chain_id);
        // Time limits are those of the node; blocks may have another time.
        let chain_clock = Arc::clone(&context.clock);
        let clock =
            development.map_or_else(|| Arc::clone(&chain_clock), |shared| shared.clock.base());
        let importer = Importer {
            chain: context.chain_id,
            machine: Arc::clone(&shared.machine),
            development: development.map(|shared| shared.clock.clone()),
            rules: Arc::clone(&rules),
        };
        let is_archive = is_archive(settings, parameters, config.mode);
        let evm_config = EvmConfig {
            history: if is_archive { History::Archive } else { History::Window(PRUNED_WINDOW) },
            preimages: in_dev(settings.preimages_enabled, config.mode),
            pool: pool_config(settings),
            mode: build_mode(config.settings.block_time.0),
            allow_unprotected: allows_unprotected(settings, config.mode),
        };
        let atomic_rules = atomic_rules.filter(|_| parameters.has_atomic_transactions());
        let atomic =
            atomic_rules.map(|rules| Arc::new(AtomicExtension::new(context.clone(), rules)));
        let mut extension: Arc<dyn BlockExtension> = match &atomic {
            Some(atomic) => Arc::clone(atomic) as _,
            None => Arc::new(NoExtension),
        };
        if config.network.has_controls {
            extension = Arc::new(ControlExtension::new(extension, rules, controls.clone()));
        }
        let genesis = GenesisSource::json(spec.genesis.clone(), is_known);
        let evm = Evm::new(context, params.clone(), evm_config, genesis, extension)?;
        if let Some(controls) = &controls {
            evm.set_controls(Arc::clone(controls));
        }
        Ok(OpenedChain { evm, atomic, params, controls, chain_clock, clock, importer, is_archive })
    }

    fn rules(&self, controls: Option<&Arc<Controls>>) -> (Arc<dyn Rules>, Option<CChainRules>) {
        let has_controls = self.config.network.has_controls;
        let next_header = controls.map(|controls| Arc::clone(controls.next_header()));
        rules::of_chain(self.parameters, has_controls, next_header)
    }

    /// The API that reads the chain.
    fn reads(&self, opened: &OpenedChain) -> Arc<ReadApi> {
        let Self { config, settings, .. } = self;
        let (evm, atomic) = (&opened.evm, &opened.atomic);
        Arc::new(ReadApi {
            loaded: LoadedBlocks::default(),
            chain: evm.clone(),
            pool: evm.clone(),
            ext_data: atomic
                .as_ref()
                .filter(|_| settings.atomic_transactions)
                .map(|atomic| Arc::clone(atomic) as Arc<dyn ExtDataView>),
            config: ReadConfig {
                allow_unfinalized_queries: settings.allow_unfinalized_queries,
                is_development: config.network.has_controls,
                proof_window: ProofWindow::of(
                    opened.is_archive,
                    settings.historical_proof_query_window,
                ),
                client_version: config.client_version(),
                // Network 1 on the public networks (docs/decisions.md, "Network version").
                net_version: match config.network.id {
                    MAIN_ID | TEST_ID => "1".to_owned(),
                    _ => self.parameters.chain_id.to_string(),
                },
            },
        })
    }

    /// The API that sends, calls and estimates.
    fn transact(
        &self,
        opened: &OpenedChain,
        reads: &Arc<ReadApi>,
    ) -> Result<Arc<TransactApi>, ChainError> {
        let Self { spec, config, settings, services, randomness, .. } = self;
        let OpenedChain { evm, params, controls, chain_clock, clock, .. } = opened;
        let key_folder = services.data_folder.and_then(|data| config.key_folder(settings, data));
        let accounts =
            accounts(config, controls.clone(), key_folder, (clock, randomness), services.metrics);
        let rules = Arc::clone(&params.rules);
        let scripts = script_config(settings, config.mode, &self.shared.script_slots);
        Ok(Arc::new(TransactApi {
            reads: Arc::clone(reads),
            chain: params.clone(),
            oracle: FeeOracle::new(oracle_config(spec, settings, config), rules),
            submitter: evm.clone(),
            events: evm.clone(),
            accounts,
            clock: Arc::clone(chain_clock),
            limit_clock: Arc::clone(clock),
            config: transact_config(settings, config).map_err(|error| self.fault(&error))?,
            senders: Arc::clone(evm.senders()),
            receipt_waits: ReceiptWaits::default(),
            scripts: Arc::new(ScriptHost::new(scripts)),
        }))
    }

    /// The methods of the enabled namespaces.
    fn methods(
        &self,
        apis: &Apis,
        opened: OpenedChain,
        reads: &Arc<ReadApi>,
        transact: &Arc<TransactApi>,
    ) -> Service {
        let Self { spec, config, settings, services, randomness, .. } = self;
        let OpenedChain { evm, clock, importer, .. } = opened;
        let filters = self.filters(&evm, reads, &clock);
        let mut service = reading_methods(reads, apis)
            .merge(&filter_methods(&filters, apis))
            .merge(&transacting_methods(transact, apis));
        if apis.has(Api::DebugTracer) {
            service = service.merge(&tracing_methods(transact));
        }
        let folder = || services.data_folder.map(|folder| folder.join(&settings.chain_files_dir));
        if let Some(folder) = folder().filter(|_| apis.has(Api::DebugFileTracer)) {
            let files = TraceFiles::new(transact, folder, Arc::clone(randomness));
            service = service.merge(&file_tracing_methods(&Arc::new(files)));
        }
        if let Some(folder) = folder().filter(|_| apis.has(Api::Admin)) {
            let files = ChainFiles::new(evm.clone(), Arc::new(importer), folder);
            service = service.merge(&admin_methods(&Arc::new(files)));
        }
        if apis.has(Api::DebugHandler) {
            service = service.merge(&runtime_methods(Arc::new(ChainRuntime {
                logger: self.alias(),
                levels: services.diagnostics.levels.clone(),
                folder: services.diagnostics.chain_folder(settings, &self.alias()),
            })));
        }
        let development = self.shared.development.as_ref();
        if let Some(shared) = development.filter(|_| config.mode == Mode::Dev) {
            let snapshots = Arc::clone(&shared.snapshots);
            snapshots.add_chain(&evm);
            let patience = limits(settings).call_timeout * 9 / 10;
            let transact = Arc::clone(transact);
            let node = development_node(transact, (&evm, patience), snapshots, randomness);
            let node = Arc::new(node);
            if spec.id == config.network.evm_chain().id {
                shared.set_node(&node);
            }
            service = service.merge(&development_methods(&node));
        }
        service
    }

    fn filters(
        &self,
        evm: &Arc<Evm>,
        reads: &Arc<ReadApi>,
        clock: &Arc<dyn Clock>,
    ) -> Arc<Filters> {
        let max_blocks = self.settings.api_max_blocks_per_request;
        let filters = Filters::new(
            Arc::clone(reads),
            evm.clone(),
            Arc::clone(clock),
            Arc::clone(self.randomness),
            FilterConfig { max_blocks, ..FilterConfig::default() },
        );
        // Weak, so that metrics do not keep the chain, and with it the store, alive.
        let weak = Arc::downgrade(&filters);
        self.services.metrics.watch_filters(&self.alias(), move || {
            weak.upgrade().map(|filters| filters.counts()).unwrap_or_default()
        });
        filters
    }

    /// The server of the methods, with its subscriptions.
    fn server(
        &self,
        apis: &Apis,
        evm: &Arc<Evm>,
        service: Service,
        transact: &Arc<TransactApi>,
    ) -> Server {
        let Self { services: ServiceParts { metrics, .. }, randomness, .. } = self;
        let mut server = Server::new(service, limits(self.settings));
        if apis.has(Api::EthFilter) {
            let subscriptions =
                Subscriptions::new(evm.clone(), evm.clone(), Arc::clone(randomness));
            let weak = Arc::downgrade(&subscriptions);
            metrics.watch_subscriptions(&self.alias(), move || {
                weak.upgrade().map(|subscriptions| subscriptions.counts()).unwrap_or_default()
            });
            server = server.with_notifier(subscriptions);
        }
        if apis.has(Api::DebugTracer) {
            let traces = ChainTraces::new(transact, Arc::clone(randomness));
            let weak = Arc::downgrade(&traces);
            metrics.watch_subscriptions(&self.alias(), move || {
                weak.upgrade().map(|traces| traces.counts()).unwrap_or_default()
            });
            server = server.with_notifier(traces);
        }
        server.with_discovery(&chain_info(&self.alias(), RPC, Some(WS)))
    }

    /// The chain's admin API.
    fn admin(&self, apis: &Apis, is_archive: bool) -> Route {
        let Self { config, settings, services, .. } = self;
        let effective = Effective {
            apis,
            is_archive,
            keeps_preimages: in_dev(settings.preimages_enabled, config.mode),
            allows_unprotected: allows_unprotected(settings, config.mode),
            log_level: settings.log_level.unwrap_or(config.settings.log_level),
        };
        let admin = ChainAdminApi::new(
            self.alias(),
            services.diagnostics.levels.clone(),
            services.diagnostics.chain_folder(settings, &self.alias()),
            vm_config::shown(settings, &effective),
        );
        Route::object(ADMIN, admin.service())
    }
}

/// The accounts for which the node signs: those of a development network, and those of the folder of keys.
fn accounts(
    config: &Config,
    controls: Option<Arc<Controls>>,
    key_folder: Option<PathBuf>,
    (clock, randomness): (&Arc<dyn Clock>, &Randomness),
    metrics: &Metrics,
) -> Arc<dyn AccountManager> {
    let mut managers: Vec<Arc<dyn AccountManager>> = Vec::new();
    if config.mode == Mode::Dev {
        managers.push(Arc::new(dev_accounts(&config.network)));
        let well_known = key_ring([&well_known()]);
        managers.push(Arc::new(match config.settings.list_well_known_account {
            true => well_known,
            false => well_known.hidden(),
        }));
    }
    managers.extend(
        controls.map(|c| Arc::new(ImpersonatedAccounts::new(c)) as Arc<dyn AccountManager>),
    );
    managers.push(match key_folder {
        Some(folder) => {
            let cost = ScryptCost::STANDARD;
            let directory =
                KeyDirectoryConfig { folder, cost, limits: config.account_hash_limits() };
            let keys = KeyDirectory::open(directory, Arc::clone(clock), Arc::clone(randomness));
            metrics.watch_hasher("accounts", keys.hasher());
            Arc::new(keys)
        }
        None => Arc::new(NoAccounts),
    });
    Arc::new(AccountManagers::new(managers))
}

/// The accounts of the development network in their order.
fn dev_accounts(network: &Network) -> KeyRing {
    key_ring(network.dev_accounts.iter().flat_map(|funded| &funded.accounts))
}

fn key_ring<'a>(accounts: impl IntoIterator<Item = &'a Account>) -> KeyRing {
    let keys = accounts.into_iter().map(|account| account.key().as_bytes().as_slice());
    KeyRing::new(keys).expect("the keys are good ones")
}

fn build_mode(block_time: Duration) -> BuildMode {
    match u64::try_from(block_time.as_millis()) {
        Ok(0) => BuildMode::Immediate,
        ms => BuildMode::Interval(ms.unwrap_or(u64::MAX)),
    }
}

fn allows_unprotected(settings: &ChainSettings, mode: Mode) -> bool {
    in_dev(settings.allow_unprotected_txs, mode)
}

/// A switch that is on under `esker dev` unless it is configured.
fn in_dev(switch: Switch, mode: Mode) -> bool {
    match switch {
        Switch::Auto => mode == Mode::Dev,
        Switch::On => true,
        Switch::Off => false,
    }
}

fn development_node(
    transact: Arc<TransactApi>,
    (chain, mining_patience): (&Arc<Evm>, Duration),
    snapshots: Arc<Snapshots>,
    randomness: &Randomness,
) -> DevelopmentNode {
    let mut instance_id = B256::ZERO;
    randomness(instance_id.as_mut_slice());
    DevelopmentNode {
        transact,
        chain: Arc::clone(chain),
        snapshots,
        state_loads: StateLoads::default(),
        mining_patience,
        version: env!("CARGO_PKG_VERSION"),
        instance_id,
    }
}

fn is_archive(settings: &ChainSettings, parameters: &EvmParameters, mode: Mode) -> bool {
    match settings.pruning_enabled {
        Switch::Auto => mode == Mode::Dev || parameters.is_archive_by_default(),
        Switch::On => false,
        Switch::Off => true,
    }
}

/// Scripts run in processes of this very program.
fn script_config(settings: &ChainSettings, mode: Mode, slots: &Arc<ScriptSlots>) -> ScriptConfig {
    // The link is also valid if the file was replaced while the node runs.
    let link = PathBuf::from("/proc/self/exe");
    let program = if link.exists() { link } else { std::env::current_exe().unwrap_or(link) };
    let runs_custom = match settings.tracer_scripts_enabled {
        Switch::Auto => mode == Mode::Dev,
        Switch::On => true,
        Switch::Off => false,
    };
    ScriptConfig { program, slots: Arc::clone(slots), runs_custom }
}

fn pool_config(settings: &ChainSettings) -> PoolConfig {
    PoolConfig {
        price_bump: settings.tx_pool_price_bump.0,
        account_slots: settings.tx_pool_account_slots.count(),
        global_slots: settings.tx_pool_global_slots.count(),
        account_queue: settings.tx_pool_account_queue.count(),
        global_queue: settings.tx_pool_global_queue.count(),
        lifetime_ms: u64::try_from(settings.tx_pool_lifetime.as_millis()).unwrap_or(u64::MAX),
        ..PoolConfig::default()
    }
}

/// The least tip, and the highest tip if it would be below the least. On the C-Chain of a development network they
/// are such that the suggested price is `gas-price`.
fn oracle_config(spec: &ChainSpec, settings: &ChainSettings, config: &Config) -> OracleConfig {
    let is_c = spec.id == config.network.evm_chain().id;
    let of_price = config.min_suggested_tip().filter(|_| is_c);
    let min_tip = U256::from(of_price.unwrap_or(settings.tx_pool_price_limit));
    let usual = OracleConfig::default();
    OracleConfig { min_tip, max_tip: usual.max_tip.max(min_tip), ..usual }
}

/// A hash in the settings is none.
#[derive(Debug, Error)]
#[error("allow-unprotected-tx-hashes: {text}: {error}")]
struct TxHashError {
    text: String,
    error: FromHexError,
}

#[expect(clippy::cast_precision_loss, reason = "whole coins: far below 2^53")]
fn transact_config(
    settings: &ChainSettings,
    config: &Config,
) -> Result<TransactConfig, TxHashError> {
    let hashes = settings.allow_unprotected_tx_hashes.0.iter().map(|text| {
        text.parse::<B256>().map_err(|error| TxHashError { text: text.clone(), error })
    });
    Ok(TransactConfig {
        allow_unprotected_tx_hashes: hashes.collect::<Result<_, _>>()?,
        price_options: PriceOptionsConfig {
            slow_percent: settings.price_options_slow_fee_percentage,
            fast_percent: settings.price_options_fast_fee_percentage,
            max_tip: U256::from(settings.price_options_max_tip),
        },
        gas_cap: settings.rpc_gas_cap,
        tx_fee_cap: settings.rpc_tx_fee_cap as f64,
        max_duration: settings.api_max_duration,
        allow_unprotected_txs: allows_unprotected(settings, config.mode),
        allow_unlock: config.allows_unlock(settings),
        failed_sends: config.failed_sends(),
        ..TransactConfig::default()
    })
}

fn limits(settings: &ChainSettings) -> Limits {
    let default = Limits::default();
    let body_bytes = match settings.evm_http_body_limit {
        0 => default.body_bytes,
        bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
    };
    let call_timeout = match settings.api_max_duration {
        none if none.is_zero() => default.call_timeout,
        most => default.call_timeout.min(most),
    };
    Limits {
        batch_items: usize::try_from(settings.batch_request_limit).unwrap_or(usize::MAX),
        methods_on_sockets: settings.ws_http_methods_enabled,
        body_bytes,
        call_timeout,
        ..default
    }
}
