//! The services over an EVM chain.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use alloy_primitives::B256;
use esker_chain::{AdjustableClock, ChainError, ChainVm as _, Machine};
use esker_evm::accounts::{AccountManager, AccountManagers, KeyRing, NoAccounts};
use esker_evm::control::{Controls, ImpersonatedAccounts, Snapshots};
use esker_evm::extension::ExtDataView;
use esker_evm::oracle::FeeOracle;
use esker_evm_rpc::debug::runtime_methods;
use esker_evm_rpc::evm::{
    FilterConfig, Filters, ReceiptWaits, TransactApi, filter_methods, reading_methods,
    transacting_methods,
};
use esker_evm_rpc::subscriptions::Subscriptions;
use esker_evm_rpc::{
    Api, Apis, ChainFiles, ChainTraces, DevelopmentNode, ForkSource, LoadedBlocks, ProofWindow,
    ReadApi, ReadConfig, StateLoads, TraceFiles, admin_methods, development_methods,
    file_tracing_methods, otterscan_methods, testing_methods, trace_methods, tracing_methods,
    witness_methods,
};
use esker_js_tracer::{ScriptHost, ScriptSlots};
use esker_key_directory::{KeyDirectory, KeyDirectoryConfig, ScryptCost};
use esker_nat::service::NatService;
use esker_primitives::network::{MAIN_ID, TEST_ID};
use esker_primitives::{Clock, Randomness};
use esker_rpc::positional::Server;
use esker_rpc::{Fallback, Route, Service};
use esker_settings::config::{ChainSettings, Config, Mode, personal};
use esker_settings::networks::accounts::{Account, well_known};
use esker_settings::networks::{ChainSpec, EvmParameters, Network};

use super::evm_chain::EvmChain;
use super::evm_settings::{
    allows_unprotected, fault, in_dev, is_archive, limits, oracle_config, script_config,
    transact_config,
};
use super::fork_history::ForkHistory;
use super::fork_source::ForkSourceControl;
use super::import::Importer;
use super::parts::ServiceParts;
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

/// The inputs that the services of all EVM chains share.
#[derive(Clone, Copy)]
pub(super) struct SharedInputs<'a> {
    /// The machine of a node that decides alone.
    pub(super) machine: Option<&'a Arc<Machine>>,
    /// The clock of a development network.
    pub(super) clock: Option<&'a AdjustableClock>,
    /// The snapshots of a development network.
    pub(super) snapshots: Option<&'a Arc<Snapshots>>,
    /// Places for processes that run scripts.
    pub(super) script_slots: &'a Arc<ScriptSlots>,
}

/// The inputs from which the services of a chain are built.
struct Inputs<'a> {
    spec: &'a ChainSpec,
    parameters: &'a EvmParameters,
    chain: &'a EvmChain,
    config: &'a Config,
    settings: &'a ChainSettings,
    parts: ServiceParts<'a>,
    shared: SharedInputs<'a>,
}

/// The endpoints of a chain, and under `esker dev` the object of its development methods.
pub(super) struct EvmServices {
    pub(super) routes: Vec<Route>,
    pub(super) development: Option<Arc<DevelopmentNode>>,
}

/// Builds the services over a chain.
///
/// # Errors
/// A setting can't be used.
pub(super) fn build(
    (spec, parameters, chain): (&ChainSpec, &EvmParameters, &EvmChain),
    config: &Config,
    (parts, shared): (ServiceParts<'_>, SharedInputs<'_>),
) -> Result<EvmServices, ChainError> {
    let settings = config.chain(&spec.id);
    let inputs = Inputs { spec, parameters, chain, config, settings, parts, shared };
    let apis = personal::apis(settings, config.mode).map_err(|error| fault(spec, &error))?;
    let reads = inputs.reads();
    let transact = inputs.transact(&reads)?;
    let filters = inputs.filters(&reads);
    let mut service = inputs.methods(&apis, &reads, (&transact, &filters));
    let development = inputs.development_node(&transact);
    if let Some(node) = &development {
        service = service.merge(&development_methods(node));
    }
    if reads.config.is_development {
        service.take_any_number_form();
    }
    let fork = parts.fork.filter(|_| chain.evm().fork().is_some());
    let history: Option<Arc<dyn Fallback>> = fork.map(|fork| {
        let get_logs = service.method("evm", "getLogs").map(Arc::downgrade).unwrap_or_default();
        Arc::new(ForkHistory::new(fork.clone(), chain.evm().clone(), filters, get_logs)) as _
    });
    if let Some(history) = &history {
        service.set_fallback(history);
    }
    let server = inputs.server(&apis, service, &transact);
    let mut routes = vec![Route::positional(RPC, server.clone()).with_socket(WS, Arc::new(server))];
    if let Some(nat) = chain.nat() {
        let keystore = Arc::clone(parts.keystore);
        let nat = NatService::new(nat.clone(), keystore, VERSION.to_owned());
        routes.extend(nat.routes(history.as_ref()));
    }
    if settings.admin_api_enabled {
        routes.push(inputs.admin(&apis));
    }
    Ok(EvmServices { routes, development })
}

impl Inputs<'_> {
    /// The chain's name in logs and metrics.
    fn alias(&self) -> String {
        self.spec.primary_alias()
    }

    /// The API that reads the chain.
    fn reads(&self) -> Arc<ReadApi> {
        let Self { chain, config, settings, .. } = self;
        let evm = chain.evm();
        Arc::new(ReadApi {
            loaded: LoadedBlocks::default(),
            chain: evm.clone(),
            pool: evm.clone(),
            ext_data: chain
                .nat()
                .filter(|_| settings.atomic_transactions)
                .map(|nat| Arc::clone(nat.extension()) as Arc<dyn ExtDataView>),
            config: ReadConfig {
                allow_unfinalized_queries: settings.allow_unfinalized_queries,
                is_development: config.network.has_controls,
                hardhat_answers: config.settings.hardhat_answers,
                anvil_answers: config.settings.anvil_answers,
                calls_take_any_price: config.settings.hardhat_answers
                    || config.settings.refuse_low_fees,
                proof_window: ProofWindow::new(
                    is_archive(settings, self.parameters, config.mode),
                    settings.historical_proof_query_window,
                ),
                client_version: config.client_version(),
                // Network 1 on the public networks (docs/decisions.md, "Network version").
                net_version: match config.network.id {
                    MAIN_ID | TEST_ID => "1".to_owned(),
                    _ => self.parameters.chain_id.to_string(),
                },
                slots_in_an_epoch: config.settings.slots_in_an_epoch,
            },
        })
    }

    /// The API that sends, calls and estimates.
    fn transact(&self, reads: &Arc<ReadApi>) -> Result<Arc<TransactApi>, ChainError> {
        let Self { spec, config, settings, parts, .. } = self;
        let (evm, clock, randomness) = (self.chain.evm(), self.limit_clock(), parts.randomness);
        let key_folder = parts.data_folder.and_then(|data| config.key_folder(settings, data));
        let accounts = accounts(
            config,
            evm.controls().cloned(),
            key_folder,
            (&clock, randomness),
            parts.metrics,
        );
        let rules = Arc::clone(&evm.params().rules);
        let scripts = script_config(settings, config.mode, self.shared.script_slots);
        Ok(Arc::new(TransactApi {
            reads: Arc::clone(reads),
            chain: evm.params().clone(),
            oracle: FeeOracle::new(oracle_config(spec, settings, config), rules),
            submitter: evm.clone(),
            events: evm.clone(),
            accounts,
            clock: Arc::clone(&evm.context().clock),
            limit_clock: clock,
            config: transact_config(settings, config).map_err(|error| fault(spec, &error))?,
            senders: Arc::clone(evm.senders()),
            receipt_waits: ReceiptWaits::default(),
            scripts: Arc::new(ScriptHost::new(scripts)),
            printed: evm.controls().map(|controls| controls.printed_calls().clone()),
            traces_calls: evm.config().reports_calls,
            artifacts: evm.controls().map(|controls| controls.artifacts().clone()),
        }))
    }

    /// The clock of time limits: the node's. Blocks of a development network may have another clock.
    fn limit_clock(&self) -> Arc<dyn Clock> {
        match self.shared.clock {
            Some(clock) => clock.base(),
            None => Arc::clone(&self.chain.evm().context().clock),
        }
    }

    /// Imports blocks into the machine.
    fn importer(&self) -> Importer {
        let evm = self.chain.evm();
        Importer {
            chain: evm.context().chain_id,
            machine: self.shared.machine.map_or_else(Weak::new, Arc::downgrade),
            development: self.shared.clock.cloned(),
            rules: Arc::clone(&evm.params().rules),
            is_fork: evm.fork().is_some(),
        }
    }

    /// The methods of the enabled namespaces.
    fn methods(
        &self,
        apis: &Apis,
        reads: &Arc<ReadApi>,
        (transact, filters): (&Arc<TransactApi>, &Arc<Filters>),
    ) -> Service {
        let Self { settings, parts, .. } = self;
        let (evm, randomness) = (self.chain.evm(), parts.randomness);
        let mut service = reading_methods(reads, apis)
            .merge(&filter_methods(filters, apis))
            .merge(&transacting_methods(transact, apis));
        if apis.has(Api::DebugTracer) {
            service = service
                .merge(&tracing_methods(transact))
                .merge(&witness_methods(transact))
                .merge(&trace_methods(transact));
        }
        if apis.has(Api::Ots) {
            service = service.merge(&otterscan_methods(transact));
        }
        let folder = || parts.data_folder.map(|folder| folder.join(&settings.chain_files_dir));
        if let Some(folder) = folder().filter(|_| apis.has(Api::DebugFileTracer)) {
            let files = TraceFiles::new(transact, folder, Arc::clone(randomness));
            service = service.merge(&file_tracing_methods(&Arc::new(files)));
        }
        if let Some(folder) = folder().filter(|_| apis.has(Api::Admin)) {
            let files = ChainFiles::new(evm.clone(), Arc::new(self.importer()), folder);
            service = service.merge(&admin_methods(&Arc::new(files)));
        }
        if apis.has(Api::Testing) {
            service = service.merge(&testing_methods(evm.clone()));
        }
        if apis.has(Api::DebugHandler) {
            service = service.merge(&runtime_methods(Arc::new(ChainRuntime {
                logger: self.alias(),
                levels: parts.diagnostics.levels.clone(),
                folder: parts.diagnostics.chain_folder(settings, &self.alias()),
            })));
        }
        service
    }

    fn filters(&self, reads: &Arc<ReadApi>) -> Arc<Filters> {
        let max_blocks = self.settings.api_max_blocks_per_request;
        let filters = Filters::new(
            Arc::clone(reads),
            self.chain.evm().clone(),
            self.limit_clock(),
            Arc::clone(self.parts.randomness),
            FilterConfig { max_blocks, ..FilterConfig::default() },
        );
        // Weak, so that metrics do not keep the chain, and with it the store, alive.
        let weak = Arc::downgrade(&filters);
        self.parts.metrics.watch_filters(&self.alias(), move || {
            weak.upgrade().map(|filters| filters.counts()).unwrap_or_default()
        });
        filters
    }

    /// The server of the methods, with its subscriptions.
    fn server(&self, apis: &Apis, service: Service, transact: &Arc<TransactApi>) -> Server {
        let ServiceParts { metrics, randomness, .. } = self.parts;
        let evm = self.chain.evm();
        let mut server = Server::new(service, limits(self.settings, self.config));
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
    fn admin(&self, apis: &Apis) -> Route {
        let Self { config, settings, parts, .. } = self;
        let effective = Effective {
            apis,
            is_archive: is_archive(settings, self.parameters, config.mode),
            keeps_preimages: in_dev(settings.preimages_enabled, config.mode),
            allows_unprotected: allows_unprotected(settings, config.mode),
            log_level: settings.log_level.unwrap_or(config.settings.log_level),
        };
        let admin = ChainAdminApi::new(
            self.alias(),
            parts.diagnostics.levels.clone(),
            parts.diagnostics.chain_folder(settings, &self.alias()),
            vm_config::shown(settings, &effective),
        );
        Route::object(ADMIN, admin.service())
    }

    /// The source of the chain, if it is a fork.
    fn fork_source(&self) -> Option<Arc<dyn ForkSource>> {
        let Self { chain, config, parts, .. } = self;
        let fork = parts.fork.filter(|_| chain.evm().fork().is_some())?.clone();
        Some(Arc::new(ForkSourceControl::new(fork, config, parts.own_addresses.clone())))
    }

    /// The object of the development methods, under `esker dev` and `esker evm`.
    fn development_node(&self, transact: &Arc<TransactApi>) -> Option<Arc<DevelopmentNode>> {
        let snapshots = self.shared.snapshots.filter(|_| self.config.mode.is_development())?;
        let mut instance_id = B256::ZERO;
        (self.parts.randomness)(instance_id.as_mut_slice());
        Some(Arc::new(DevelopmentNode {
            transact: Arc::clone(transact),
            chain: Arc::clone(self.chain.evm()),
            snapshots: Arc::clone(snapshots),
            fork_source: self.fork_source(),
            resets: self.parts.resets.clone(),
            state_loads: StateLoads::default(),
            mining_patience: limits(self.settings, self.config).call_timeout * 9 / 10,
            interval_in_ms: self.config.settings.interval_in_ms,
            version: env!("CARGO_PKG_VERSION"),
            instance_id,
        }))
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
    if config.mode.is_development() {
        managers.push(Arc::new(dev_accounts(&config.network)));
    }
    // Only where the genesis of X gives it coins.
    if config.mode == Mode::Dev {
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
