//! The first stage: the log, the folder with its store, and the beginning of the node.

use std::sync::Arc;
use std::time::Instant;

use esker_chain::Shutdown;
use esker_evm_rpc::ResetPort;
use esker_http::Tls;
use esker_settings::config::Config;
use esker_settings::fixture::Fixture;
use esker_storage::Store;
use esker_validators::ValidatorConfig;

use crate::api::{BaseInputs, NetworkFacts};
use crate::environment::Environment;
use crate::identity::Identity;
use crate::logging::{self, Logs};
use crate::metrics::Metrics;
use crate::own_addresses::OwnAddresses;
use crate::validator_changes::{StoreChangeLog, consensus};
use crate::wiring::data::DataFolder;
use crate::wiring::early::EarlyServer;
use crate::wiring::error::StartError;
use crate::wiring::{beginning, first_start, fixture, fork, listen, running, takeover};

/// An open store, locked by this process and bound to this network.
pub(in crate::wiring) struct StoreStage {
    pub(super) begun: Instant,
    /// Ends a start that takes long.
    pub(super) stop_start: Shutdown,
    pub(super) logs: Logs,
    pub(super) tls: Option<Tls>,
    pub(super) metrics: Arc<Metrics>,
    /// Kept until the engine takes it; `None`: this node is not a validator.
    pub(super) validator: Option<ValidatorConfig>,
    pub(super) identity: Arc<Identity>,
    pub(super) early: EarlyServer,
    pub(super) environment: Environment,
    /// The environment of a node that takes the place of this one.
    pub(super) given: Environment,
    /// Resets to other chains.
    pub(super) resets: ResetPort,
    /// Where the node listens, once it does.
    pub(super) own_addresses: OwnAddresses,
    /// The initial content of a new development network.
    pub(super) fixture: Option<Arc<Fixture>>,
    pub(super) config: Config,
    pub(super) store: Store,
    /// It is the last member: a temporary folder is removed after everything else is dropped.
    pub(super) folder: DataFolder,
}

impl StoreStage {
    /// Opens the store, and completes the configuration with values of the store or of a follower's sources.
    pub(in crate::wiring) async fn open(
        config: Config,
        environment: Environment,
        mut stop_start: Shutdown,
    ) -> Result<Self, StartError> {
        let (begun, given) = (Instant::now(), environment.clone());
        if !config.network.validators.is_empty() {
            consensus(&environment, &config.network)?;
        }
        let logs = logging::install(&config.log());
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        let tls = listen::tls(&config)?;
        let metrics = Arc::new(Metrics::of_build(environment.commit));
        metrics.watch_log(logs.levels.clone());
        let folder = DataFolder::from_config(&config)?;
        let mut validator = config.validator(folder.path())?;
        if let Some(validator) = &validator {
            listen::check_validator(validator.listen)?;
        }
        let store = folder.open_store(&config, &metrics)?;
        if let Some(validator) = &mut validator {
            validator.changes = Arc::new(StoreChangeLog::new(store.clone()));
        }
        let identity = Arc::new(folder.identity(&environment.randomness)?);
        let of_node = (identity.node_id(), tls.clone(), &environment.clock, &metrics);
        let mut early = EarlyServer::new(&config, of_node, (&store, folder.path()));
        let (config, environment) =
            Box::pin(fork::open(config, environment, (&store, folder.path()))).await?;
        let beginning =
            beginning::of_node(config, &store, &environment, &mut early, &mut stop_start);
        let config = Box::pin(beginning).await?;
        let environment = tokio::select! {
            opened = Box::pin(takeover::open(&config, environment, &store)) => opened?,
            () = stop_start.wait() => return Err(StartError::Stopped),
        };
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
        Ok(Self {
            begun,
            stop_start,
            logs,
            tls,
            metrics,
            validator,
            identity,
            early,
            environment,
            given,
            resets: ResetPort::default(),
            own_addresses: OwnAddresses::default(),
            fixture,
            config,
            store,
            folder,
        })
    }

    /// The inputs of the node's own APIs.
    pub(super) fn api_inputs(&self) -> BaseInputs {
        BaseInputs {
            network: NetworkFacts::for_network(&self.config.network),
            identity: Arc::clone(&self.identity),
            store: self.store.clone(),
            data_dir: Some(self.folder.path().to_owned()),
            clock: Arc::clone(&self.environment.clock),
            metrics: Arc::clone(&self.metrics),
            fork: self.environment.fork.as_ref().map(|fork| fork.source.clone()),
        }
    }
}
