//! The node's configuration: flags, environment, file, defaults, in this order of precedence.
//!
//! [`keys`] is the table of settings. [`Config::load`] merges the layers, loads the network, and refuses conflicting
//! settings; [`Config::values`] has the origin of each value.

mod client_address;
mod dev;
pub mod docs;
mod error;
mod evm;
mod evm_alone;
pub mod file;
mod flags;
mod follow;
mod fork;
mod fork_x;
pub mod keys;
mod keystore;
mod merge;
mod nearest;
pub mod personal;
pub mod profile;
pub mod show;
mod tls;
mod validator;
pub mod value;
mod value_error;
mod x_address;

pub use error::{ConfigError, Origin};
pub use flags::{Flags, Mode};
pub use fork::{ForkBlock, ForkedRules, MAX_BACKOFF, MAX_TIMEOUT};
pub use keys::{ChainSettings, Settings};
pub use merge::ResolvedSetting;
pub use validator::{ENGINE_FOLDER, ValidatorError};
pub use value::Switch;
pub use value_error::ValueError;
pub use x_address::{XAddress, XAddresses};

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use esker_http::HttpConfig;
use esker_outbound::Dialer;
use esker_primitives::{ChainId, network};
use esker_rpc::work::{RateLimitConfig, SpoolConfig, SpoolSpace};
use esker_storage::FileSpace;

use self::file::FileLayer;
use self::merge::{Defaults, Layers};
use crate::fixture::FixtureSource;
use crate::logging::{Levels, LogConfig, Rotation};
use crate::networks::{
    self, AddChainError, DevStart, Network, NetworkError, P_ALIASES, Preset, Vm,
};

/// The complete configuration of a node.
#[derive(Clone, Debug)]
pub struct Config {
    /// Mode of the node.
    pub mode: Mode,
    /// The settings.
    pub settings: Settings,
    /// The network, with the chains that the configuration adds.
    pub network: Network,
    /// Whether the P-Chain is an observed chain of this node. If the folder has it as one, it stays one.
    pub observes_p: bool,
    /// Connects to the nodes that this one follows.
    pub dialer: Dialer,
    /// The beginning of a development network in a folder that has none yet.
    pub beginning: Beginning,
    /// The data folder; `None` for a temporary one.
    pub data_dir: Option<PathBuf>,
    /// The folder of the cache that all forks share; `None`: there is none.
    pub fork_cache: Option<PathBuf>,
    /// Settings of all chains of the network, by ID.
    pub chains: BTreeMap<ChainId, ChainSettings>,
    /// Each setting with its origin, in the order of the documentation.
    pub values: Vec<ResolvedSetting>,
    /// Oddities that are not errors, for the log.
    pub warnings: Vec<String>,
    /// The layers of values, for reloading the file.
    layers: Layers,
}

/// The beginning of a development network in a folder that has none yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beginning {
    /// At `timestamp`; without it at the beginning of its source; without a source now.
    #[default]
    New,
    /// With this block 0, which is that of imported blocks or of a source.
    At(DevStart),
    /// With block 0 of the genesis file, as in versions that had no other.
    OfFile,
}

impl Config {
    /// Merges flags, environment and the file that they name, and loads the network.
    ///
    /// # Errors
    /// The user must change something: the exit code is 2.
    pub fn load(
        mode: Mode,
        flags: Flags,
        env: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let env: Vec<_> = env.into_iter().collect();
        let mut layers = Layers::new(mode, flags, &env)?;
        layers.read_file()?;
        let home = env.iter().find(|(name, _)| name == "HOME").map(|(_, home)| home.as_str());
        let config = Self::of_layers(mode, layers, home.map(Path::new))?;
        let fork_cache = fork_cache(&config.settings.fork_cache, &env);
        Ok(Self { fork_cache, ..config })
    }

    fn of_layers(mode: Mode, layers: Layers, home: Option<&Path>) -> Result<Self, ConfigError> {
        layers.check_public()?;
        let mut settings = layers.settings()?;
        client_address::check(&settings)
            .map_err(|(name, reason)| layers.value_error(name, reason))?;
        let (mut network, fixture) = network(mode, &mut settings, &layers)?;
        if settings.http_head_limit.0 < MIN_HEAD_LIMIT {
            let reason = format!("expected at least {MIN_HEAD_LIMIT}");
            return Err(layers.value_error("http-head-limit", reason));
        }
        tls::check(&settings)?;
        let dialer = follow::check(&settings, mode, &network)
            .map_err(|(name, reason)| layers.value_error(name, reason))?;
        validator::check(&settings, mode, &network)
            .map_err(|(name, reason)| layers.value_error(name, reason))?;
        evm::check(&settings, &network)
            .map_err(|(name, reason)| layers.value_error(name, reason))?;
        evm::apply(&settings, &mut network);
        let chains = chains(&layers.file, &mut network, layers.defaults())?;
        // Its transactions depend on the chains, and on the C-Chain's chain ID and fees.
        if let Some(fixture) = fixture {
            fixture
                .apply(&mut network)
                .map_err(dev::fixture_fault)
                .map_err(|(name, reason)| layers.value_error(name, reason))?;
        }
        let data_dir = data_dir(mode, &settings, &network, home)?;
        let (values, mut warnings) = (layers.values(&network), layers.warnings.clone());
        warnings.extend(keystore::check(&settings, &network)?);
        warnings.extend(personal::check(&settings, &chains, mode)?);
        warnings.extend(profile::warnings(&settings));
        warnings.extend(ignored_settings(&layers.file));
        let observes_p = follow::observes_p(&settings);
        Ok(Self {
            mode,
            settings,
            network,
            observes_p,
            dialer,
            beginning: Beginning::default(),
            data_dir,
            fork_cache: None,
            chains,
            values,
            warnings,
            layers,
        })
    }

    /// The configuration of a node that takes the place of this one: on a block of another node, given by its URL and
    /// its height, or on none. The URL defaults to the present one, whose headers go to no other; the height to the newest.
    ///
    /// # Errors
    /// The settings don't go together with it.
    pub fn reset_to(&self, fork: Option<(Option<&str>, Option<u64>)>) -> Result<Self, ConfigError> {
        let urls = &self.settings.fork_url.0;
        let present = urls.join(",");
        let values = match fork {
            None => NO_FORK.map(|(name, text)| (name, text.to_owned())).to_vec(),
            Some((url, number)) => {
                let is_known = |url: &str| urls.iter().any(|known| known == url);
                let named = url.into_iter().flat_map(|url| url.split(',')).map(str::trim);
                let is_other = named.filter(|url| !url.is_empty()).any(|url| !is_known(url));
                let headers = self.settings.fork_header.0.join("\n");
                let number = number.map_or_else(|| "latest".to_owned(), |n| n.to_string());
                vec![
                    ("fork-url", url.unwrap_or(&present).to_owned()),
                    ("fork-from", String::new()),
                    ("fork-block", number),
                    ("fork-header", if is_other { String::new() } else { headers }),
                    // Its blocks follow those of the source.
                    ("number", "0".to_owned()),
                ]
            }
        };
        let mut layers = self.layers.clone();
        layers.set_reset(values);
        Self::of_layers(self.mode, layers, None)
    }

    /// Settings of one chain of the network.
    pub fn chain(&self, id: &ChainId) -> &ChainSettings {
        self.chains.get(id).expect("every chain of the network has settings")
    }

    /// Whether this chain indexes transactions by address.
    pub fn index_transactions(&self, chain: &ChainId) -> bool {
        match self.chain(chain).index_transactions {
            Switch::Auto => self.settings.index_transactions,
            Switch::On => true,
            Switch::Off => false,
        }
    }

    /// The settings by which the HTTP server writes results that are too large for memory to files of a folder.
    pub fn reply_spool(&self, folder: &Path) -> Option<SpoolConfig> {
        let limit = self.settings.http_reply_spool;
        let space = FileSpace::new(folder, self.settings.store_disk_reserve);
        (limit > 0).then(|| SpoolConfig {
            folder: folder.to_owned(),
            limit,
            result_limit: limit / 4,
            space: Some(Arc::new(ReplySpace(space))),
        })
    }

    /// Threads that answer requests; `None`: one for each processor.
    pub fn threads(&self) -> Option<usize> {
        usize::try_from(self.settings.threads).ok().filter(|threads| *threads > 0)
    }

    /// Settings of the HTTP server.
    pub fn http(&self) -> HttpConfig {
        let s = &self.settings;
        HttpConfig {
            allowed_hosts: s.http_allowed_hosts.0.clone(),
            allowed_origins: s.http_allowed_origins.0.clone(),
            client_address: client_address::header(s).expect("checked by Config::load"),
            rate_limit: NonZeroU32::new(s.http_rate_limit).map(|units_per_second| {
                let burst = u32::try_from(s.http_rate_burst.0).unwrap_or(u32::MAX);
                let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
                RateLimitConfig { units_per_second, burst }
            }),
            body_limit: s.http_body_limit.count(),
            head_limit: s.http_head_limit.count(),
            header_timeout: s.http_read_header_timeout,
            body_timeout: s.http_read_timeout,
            write_timeout: s.http_write_timeout,
            idle_timeout: s.http_idle_timeout,
            max_connections: s.http_max_connections.count(),
            max_in_flight: s.http_max_in_flight.count(),
            body_memory: s.http_body_memory.count(),
            reply_memory: s.http_reply_memory.count(),
            connection_reply_memory: s.http_connection_reply_memory.count(),
            call_memory: s.http_call_memory.count(),
            client_call_memory: s.http_client_call_memory.count(),
            shutdown_grace: s.http_shutdown_timeout,
            processors: self.threads().unwrap_or(HttpConfig::default().processors),
            ..HttpConfig::default()
        }
    }

    /// Settings of the loggers.
    pub fn log(&self) -> LogConfig {
        let s = &self.settings;
        LogConfig {
            format: s.log_format,
            main: Levels { file: s.log_level, display: s.log_display_level },
            chains: self.chain_levels(),
            folder: s
                .log_dir
                .clone()
                .or_else(|| self.data_dir.as_ref().map(|data| data.join(LOG_FOLDER))),
            rotation: Rotation {
                max_bytes: s.log_rotater_max_size.0.saturating_mul(1024 * 1024),
                max_files: s.log_rotater_max_files,
                interval: Some(s.log_rotater_interval).filter(|interval| !interval.is_zero()),
                max_age: match s.log_rotater_max_age {
                    0 => None,
                    days => Some(Duration::from_secs(u64::from(days) * 24 * 3600)),
                },
            },
            keeps_tail: s.api_admin_enabled,
        }
    }

    fn chain_levels(&self) -> Vec<(String, Levels)> {
        let s = &self.settings;
        let node = Levels { file: s.log_level, display: s.log_display_level };
        let p = self.network.x_chain().map(|_| (P_ALIASES[0].to_owned(), node));
        let mut levels: Vec<_> = p.into_iter().collect();
        levels.extend(self.network.chains.iter().map(|spec| {
            let chain = self.chain(&spec.id);
            let file = chain.log_level.unwrap_or(node.file);
            let display = chain.log_display_level.unwrap_or(node.display);
            (spec.primary_alias(), Levels { file, display })
        }));
        levels
    }

    /// Reads the configuration file again and returns its log levels. Other changes take effect at the next start.
    pub fn reload_log(&self) -> Result<LogConfig, ConfigError> {
        let mut layers = self.layers.clone();
        layers.read_file()?;
        let settings = layers.settings()?;
        let mut network = self.network.clone();
        let own = match self.mode {
            Mode::Evm => network.genesis_chains().len(),
            Mode::Dev | Mode::Node => networks::load(&self.settings.network)?.chains.len(),
        };
        network.chains.truncate(own);
        let chains = chains(&layers.file, &mut network, layers.defaults())?;
        Ok(Self { settings, network, chains, ..self.clone() }.log())
    }
}

/// The settings of a chain that is no fork.
const NO_FORK: [(&str, &str); 7] = [
    ("fork-url", ""),
    ("fork-from", ""),
    ("fork-block", "latest"),
    ("fork-header", ""),
    ("fork-proofs", "auto"),
    ("fork-keep-balances", "false"),
    ("fork-rate", "0"),
];

/// Folder of the log files below the data folder.
const LOG_FOLDER: &str = "logs";

/// Most threads that answer requests.
const MAX_THREADS: u64 = 1024;

/// Size of the HTTP library's buffer: a smaller limit has no effect.
const MIN_HEAD_LIMIT: u64 = 8192;

/// The network of the settings, and the fixture that it is to have.
fn network(
    mode: Mode,
    settings: &mut Settings,
    layers: &Layers,
) -> Result<(Network, Option<FixtureSource>), ConfigError> {
    let fault = |(name, reason)| layers.value_error(name, reason);
    if settings.threads > MAX_THREADS {
        return Err(fault(("threads", format!("expected at most {MAX_THREADS}"))));
    }
    dev::check(settings, mode).map_err(fault)?;
    evm_alone::check(settings, mode).map_err(fault)?;
    fork_x::check(settings, mode).map_err(fault)?;
    let is_given = |name: &str| layers.is_given(name);
    let loaded = match mode {
        Mode::Evm => {
            evm_alone::check_tables(&layers.file)?;
            let rules = layers.fork_rules.as_ref().and_then(ForkedRules::ethereum);
            return evm_alone::network(settings, rules, is_given).map_err(fault);
        }
        Mode::Dev | Mode::Node => networks::load(&settings.network)?,
    };
    check_network(mode, settings, &loaded)?;
    let (mut network, fixture) =
        dev::network(settings, loaded, layers.fork_rules.is_some(), is_given).map_err(fault)?;
    if let Some(rules) = &layers.fork_rules {
        rules.apply(&mut network);
    }
    Ok((network, fixture))
}

fn check_network(mode: Mode, settings: &Settings, loaded: &Network) -> Result<(), ConfigError> {
    if mode == Mode::Dev && settings.network != Preset::Dev.name() {
        return Err(ConfigError::Conflict(format!(
            "esker dev runs the development network: for network \"{}\" use esker node",
            settings.network
        )));
    }
    let wanted = &settings.network_id;
    if !wanted.is_empty() && network::id(wanted) != Some(loaded.id) {
        return Err(ConfigError::Conflict(format!(
            "network-id is {wanted}, but network \"{}\" has number {}: set network to {}",
            settings.network,
            loaded.id,
            match network::id(wanted) {
                Some(network::MAIN_ID) => "main",
                Some(network::TEST_ID) => "test",
                Some(network::LOCAL_ID) => "local",
                _ => "the file that describes it",
            }
        )));
    }
    Ok(())
}

fn data_dir(
    mode: Mode,
    settings: &Settings,
    network: &Network,
    home: Option<&Path>,
) -> Result<Option<PathBuf>, ConfigError> {
    match (&settings.data_dir, mode, home) {
        (Some(given), ..) => Ok(Some(given.clone())),
        (None, Mode::Dev | Mode::Evm, _) => Ok(None),
        (None, Mode::Node, Some(home)) => Ok(Some(home.join(".esker").join(&network.name))),
        (None, Mode::Node, None) => Err(ConfigError::Conflict(
            "there is no home folder to keep data in: set data-dir".to_owned(),
        )),
    }
}

/// The folder of the cache that forks share: the given one, else one in the user's folder of caches, if there is one.
fn fork_cache(given: &str, env: &[(String, String)]) -> Option<PathBuf> {
    let variable = |wanted: &str| {
        let value = env.iter().find(|(name, _)| name == wanted).map(|(_, value)| Path::new(value));
        value.filter(|path| path.is_absolute())
    };
    match given {
        "off" => None,
        "" => {
            let cache = variable("XDG_CACHE_HOME").map(Path::to_owned);
            let cache = cache.or_else(|| Some(variable("HOME")?.join(".cache")));
            cache.map(|cache| cache.join("esker").join("forks"))
        }
        path => Some(path.into()),
    }
}

/// A warning that lists all settings of the reference without effect here.
fn ignored_settings(file: &FileLayer) -> Option<String> {
    let names: Vec<_> = file
        .chains
        .iter()
        .flat_map(|(chain, table)| table.ignored.iter().map(move |name| format!("{chain}.{name}")))
        .collect();
    let list = names.join(", ");
    (!names.is_empty()).then(|| format!("settings without effect in this node, ignored: {list}"))
}

/// Settings of every chain. Declared chains join the network first, so tables may be in any order.
fn chains(
    file: &FileLayer,
    network: &mut Network,
    defaults: Defaults,
) -> Result<BTreeMap<ChainId, ChainSettings>, ConfigError> {
    let mut coins = Vec::new();
    for (name, table) in &file.chains {
        if table.values.contains_key("vm") {
            coins.push(merge::declare_chain(name, table, network, defaults)?);
        } else if let Some(key) =
            merge::DECLARING.iter().find(|key| table.values.contains_key(**key))
        {
            let given = table.values.get(*key).map(|given| given.origin.clone());
            return Err(ConfigError::Value {
                origin: given.unwrap_or_else(|| table.origin.clone()),
                key: format!("chains.{name}.{key}"),
                reason: "only for a table that declares its chain (vm)".to_owned(),
            });
        }
    }
    let declared = network.set_coins(&coins).and_then(|()| network.check_evm_chain_ids());
    declared.map_err(|error| chain_fault(file, error))?;
    let mut given = BTreeMap::new();
    for (name, table) in &file.chains {
        let Some(spec) = network.chain(name) else {
            let known = network.chains.iter().flat_map(|spec| spec.aliases.iter());
            return Err(ConfigError::Unknown {
                origin: table.origin.clone(),
                what: "chain",
                name: name.clone(),
                hint: nearest::hint(name, known.map(String::as_str)),
            });
        };
        let vm = if spec.parameters.evm().is_some() { Vm::Evm } else { Vm::Xvm };
        merge::check_vm(name, table, vm)?;
        merge::check_rules(name, table, spec)?;
        if given.insert(spec.id, merge::chain_settings(table, defaults)?).is_some() {
            let reason = "the chain has another table already".to_owned();
            let (origin, key) = (table.origin.clone(), format!("chains.{name}"));
            return Err(ConfigError::Value { origin, key, reason });
        }
    }
    for spec in &network.chains {
        given.entry(spec.id).or_insert_with(|| merge::default_chain_settings(defaults));
    }
    Ok(given)
}

/// The free space of the disk that has the files of large answers.
#[derive(Debug)]
struct ReplySpace(FileSpace);

impl SpoolSpace for ReplySpace {
    fn check(&self, bytes: u64) -> io::Result<()> {
        let checked = self.0.check(bytes);
        checked.map_err(|error| io::Error::new(io::ErrorKind::StorageFull, error))
    }
}

/// The error of a chain that can't be declared like this. It names the chain's table, if there is one.
fn chain_fault(file: &FileLayer, error: AddChainError) -> ConfigError {
    let table = error.chain().and_then(|chain| file.chains.get_key_value(chain));
    match table {
        Some((name, table)) => merge::chain_error(name, table, &error),
        None => ConfigError::Network(NetworkError::Chain(error)),
    }
}

#[cfg(test)]
mod tests;
