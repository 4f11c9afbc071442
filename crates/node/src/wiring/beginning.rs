//! The beginning of a development network: its first start, unless the configuration sets it. The data folder records
//! it.

use std::sync::Arc;

use esker_chain::Shutdown;
use esker_chain::tables::CHAINS;
use esker_evm_execution::rules::FeeOverrides;
use esker_settings::config::{Beginning, Config};
use esker_settings::networks::{DEV_START_TIMES, DevStart};
use esker_storage::meta;
use esker_storage::{Scope, StorageResult, Store, WriteSet};

use super::asking::{self, Answers};
use super::early::EarlyServer;
use super::parameter_error::ParameterError;
use super::{StartError, fixture, follow};
use crate::api::EarlyStatus;
use crate::environment::Environment;

/// Owner of the record in the store.
const OWNER: &[u8] = b"beginning";
/// Time of the C-Chain's block 0, Unix seconds.
const START: &str = "start";
/// Whether the extra data of that block is a fee window.
const FEE_WINDOW: &str = "fee window";

/// The recorded beginning of a folder's network.
enum StoredBeginning {
    /// There is none.
    Nothing,
    /// The network began with this block 0.
    Start(DevStart),
    /// Block 0 is that of the genesis file, as in versions that had no other.
    OfFile,
}

impl StoredBeginning {
    fn read(store: &Store) -> StorageResult<Self> {
        let reader = store.snapshot()?;
        if CHAINS.first(reader.as_ref(), Scope::NODE, &[], None)?.is_none() {
            return Ok(Self::Nothing);
        }
        Ok(start(store)?.map_or(Self::OfFile, Self::Start))
    }
}

/// The beginning of this folder's network; `None` if it follows from the network alone.
pub fn start(store: &Store) -> StorageResult<Option<DevStart>> {
    let recorded = meta::parameters(store.snapshot()?.as_ref(), OWNER)?.unwrap_or_default();
    let value = |wanted| recorded.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let time_s = value(START).and_then(|value| value.parse().ok());
    let has_fee_window = value(FEE_WINDOW).is_some();
    Ok(time_s.map(|time_s| DevStart { time_s, has_fee_window }))
}

/// The configuration of a node with the beginning of its network. The beginning of a new network is recorded before
/// anything else, so that a start that is killed changes nothing. A follower of a new network asks its sources until
/// one answers; meanwhile the early server answers requests.
pub(super) async fn of_node(
    mut config: Config,
    store: &Store,
    environment: &Environment,
    server: &mut EarlyServer,
    stop: &mut Shutdown,
) -> Result<Config, StartError> {
    if !config.network.is_development() {
        return Ok(config);
    }
    let sources = config.sources();
    let asks = matches!(StoredBeginning::read(store)?, StoredBeginning::Nothing)
        && config.settings.timestamp.is_none()
        && !sources.is_empty();
    if asks {
        let answers = Arc::new(Answers::new(&sources));
        let asked = (&config.dialer, sources.as_slice());
        let asking = async {
            tokio::select! {
                beginning = asking::ask(
                    asked,
                    config.network.id,
                    follow::timeouts(&config),
                    environment.clock.as_ref(),
                    &answers,
                ) => Some(beginning),
                () = stop.wait() => None,
            }
        };
        let what = "waiting for a source that says when the network began";
        let status = Arc::clone(&answers) as Arc<dyn EarlyStatus>;
        let asked = Box::pin(server.serve_while(&config, what, status, asking)).await?;
        config.beginning = asked.ok_or(StartError::Stopped)?;
    }
    of_folder(&config, store, environment)
}

/// The same for a command on a folder.
pub(super) fn of_folder(
    config: &Config,
    store: &Store,
    environment: &Environment,
) -> Result<Config, StartError> {
    let config = config.clone();
    if !config.network.is_development() {
        return Ok(config);
    }
    let recorded = StoredBeginning::read(store)?;
    let found = match recorded {
        StoredBeginning::Start(start) => Beginning::At(start),
        StoredBeginning::OfFile => Beginning::OfFile,
        StoredBeginning::Nothing => new(&config, environment),
    };
    check(&config, found)?;
    if matches!(recorded, StoredBeginning::Nothing) {
        record(store, found)?;
    }
    Ok(begun(config, found))
}

/// The same for a command that writes nothing.
pub(super) fn of_data(
    config: &Config,
    store: &Store,
    environment: &Environment,
) -> Result<Config, StartError> {
    match StoredBeginning::read(store)? {
        StoredBeginning::Nothing => Ok(config.clone()),
        StoredBeginning::Start(_) | StoredBeginning::OfFile => {
            of_folder(config, store, environment)
        }
    }
}

/// The beginning of a network that has none yet.
fn new(config: &Config, environment: &Environment) -> Beginning {
    match (config.beginning, config.settings.timestamp) {
        (Beginning::New, Some(start)) => Beginning::At(DevStart::at(start)),
        (Beginning::New, None) => Beginning::At(DevStart::at(now(config, environment))),
        (given, _) => given,
    }
}

/// The start of a network that begins now, Unix seconds: its fixture's blocks come after it and end now.
fn now(config: &Config, environment: &Environment) -> u64 {
    let now_ms = environment.clock.now_ms().saturating_sub(fixture::duration_ms(&config.network));
    (now_ms / 1000).clamp(*DEV_START_TIMES.start(), *DEV_START_TIMES.end())
}

/// Compares the beginning with the settings, or with the blocks of an import.
fn check(config: &Config, found: Beginning) -> Result<(), ParameterError> {
    if let (Beginning::At(found), Some(wanted)) = (found, config.settings.timestamp)
        && found.time_s != wanted
    {
        let name = format!("genesis of {}", config.network.evm_chain().name);
        return Err(match config.network.x_chain() {
            Some(_) => ParameterError::DevNetwork { name },
            None => ParameterError::EvmNetwork { name },
        });
    }
    if config.beginning != Beginning::New && config.beginning != found {
        let shown = |beginning| match beginning {
            Beginning::At(DevStart { time_s, has_fee_window: true }) => format!("at {time_s}"),
            Beginning::At(DevStart { time_s, has_fee_window: false }) => {
                format!("at {time_s} with an earlier version")
            }
            Beginning::New | Beginning::OfFile => "with an earlier version".to_owned(),
        };
        return Err(ParameterError::Beginning {
            found: shown(found),
            wanted: shown(config.beginning),
        });
    }
    Ok(())
}

fn record(store: &Store, beginning: Beginning) -> StorageResult<()> {
    let values = match beginning {
        Beginning::At(start) => {
            let time = (START.to_owned(), start.time_s.to_string());
            let window = (FEE_WINDOW.to_owned(), "80 bytes".to_owned());
            [Some(time), start.has_fee_window.then_some(window)].into_iter().flatten().collect()
        }
        Beginning::New | Beginning::OfFile => Vec::new(),
    };
    let mut out = WriteSet::new();
    meta::put_parameters(&mut out, OWNER, &values);
    store.writer.commit_blocking(out)
}

/// The configuration with this beginning.
fn begun(mut config: Config, beginning: Beginning) -> Config {
    match beginning {
        Beginning::At(start) => config.network = config.network.beginning_at(start),
        Beginning::OfFile if config.settings.gas_limit.is_none() => {
            // Blocks had the gas limit of the rules.
            let parameters = config.network.evm_parameters_mut();
            parameters.set_fees(FeeOverrides { gas_limit: None, ..parameters.fees() });
        }
        Beginning::New | Beginning::OfFile => {}
    }
    config
}
