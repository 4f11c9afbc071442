//! `/ext/admin`, if it is enabled: aliases of routes and chains, levels of the loggers, the newest lines of the log,
//! profiles, backups, the validators, the configuration, and raw reads of the store. Further files have the admin endpoint of one chain
//! (`chain`), and the operations of the node that the service `debug-handler` uses (`runtime`).

pub(crate) mod chain;
mod logs;
mod profiles;
pub(crate) mod runtime;
pub(crate) mod settings;
mod validators;
pub(crate) mod vm_config;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};

use esker_chain::Aliases;
use esker_http::Routes;
use esker_primitives::{ChainId, excerpt, hexfmt};
use esker_profiling::Folder;
use esker_rpc::handler::{blocking, quick, waits};
use esker_rpc::wire::JsonU64;
use esker_rpc::{MethodTable, NoArgs, RpcError, Service};
use esker_settings::logging::{Levels, LogLevel};
use esker_settings::networks::MAX_ALIAS_BYTES;
use esker_storage::{MAX_KEY_LEN, Store};
use esker_validators::ValidatorEngine;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use self::profiles::{HasProfiles, Profiles, profiling};
use self::settings::ShownSetting;
use crate::aliases::AliasTable;
use crate::backup::Backups;
use crate::logging::{LogLevels, LogTail};

pub use self::settings::ShownSettings;

/// Largest value of the store that `dbGet` shows, bytes.
const MAX_SHOWN_VALUE: usize = 1024 * 1024;

/// The error code of `dbGet` for a key that does not exist; the reference's number.
const NOT_FOUND: u32 = 2;

/// The parts that the admin API uses beside the names of chains and routes.
#[derive(Clone, Debug)]
pub struct AdminDeps {
    /// The loggers.
    pub levels: LogLevels,
    /// The folder of profiles.
    pub profiles: Folder,
    /// The newest lines of the log.
    pub tail: Arc<LogTail>,
    /// The settings.
    pub settings: ShownSettings,
    /// Copies of the data folder.
    pub backups: Arc<Backups>,
    /// The engine, if this node is a validator.
    pub validator: Option<Arc<dyn ValidatorEngine>>,
}

/// The `admin` service.
#[derive(Debug)]
pub struct AdminApi {
    aliases: Arc<AliasTable>,
    /// Weak, because the routes refer to this service.
    routes: Weak<Routes>,
    levels: LogLevels,
    tail: Arc<LogTail>,
    profiles: Profiles,
    settings: ShownSettings,
    backups: Arc<Backups>,
    validator: Option<Arc<dyn ValidatorEngine>>,
    store: Store,
}

/// The `admin` namespace.
pub(crate) fn methods() -> MethodTable<AdminApi> {
    MethodTable::new("admin").trusted_callers_only(|table| {
        let table = table
            .on("alias", quick(AdminApi::alias))
            .on("aliasChain", quick(AdminApi::alias_chain))
            .on("getChainAliases", quick(AdminApi::get_chain_aliases))
            .on("getLoggerLevel", quick(AdminApi::get_logger_level))
            .on("setLoggerLevel", quick(AdminApi::set_logger_level))
            .on("getLogs", quick(AdminApi::get_logs))
            .on("getConfig", quick(|api: &AdminApi, _: NoArgs| Ok(api.settings.config.clone())))
            .returns::<BTreeMap<String, Value>>()
            .on(
                "getSettings",
                quick(|api: &AdminApi, _: NoArgs| {
                    Ok(SettingsReply { settings: api.settings.settings.clone() })
                }),
            )
            .on("loadVMs", quick(|_, _: NoArgs| Ok(LoadVmsReply::default())))
            .on("dbGet", blocking(AdminApi::db_get))
            .on("backup", waits(AdminApi::backup))
            .on("getValidators", quick(AdminApi::get_validators))
            .on("approveValidators", blocking(AdminApi::approve_validators))
            .on("stacktrace", profiling(Profiles::write_stacks));
        profiles::add_methods(table)
    })
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct AliasArgs {
    endpoint: String,
    alias: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct AliasChainArgs {
    chain: String,
    alias: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct ChainArgs {
    chain: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
struct GetLevelArgs {
    logger_name: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
struct SetLevelArgs {
    logger_name: String,
    log_level: Option<LevelArg>,
    display_level: Option<LevelArg>,
}

/// A log level by name.
#[derive(Clone, Copy, Debug)]
struct LevelArg(LogLevel);

esker_rpc::text_schema!(
    LevelArg,
    "LogLevel",
    "level",
    "^[a-zA-Z]+$",
    "A log level by name, in any letter case."
);

impl<'de> Deserialize<'de> for LevelArg {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct KeyArgs {
    key: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
struct BackupArgs {
    path: String,
    /// 0 is no limit.
    bytes_per_second: JsonU64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BackupReply {
    /// The folder, absolute.
    path: String,
    /// Bytes of the store's copy.
    size: JsonU64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SettingsReply {
    /// In the order of docs/configuration.md, then those of chains.
    settings: Vec<ShownSetting>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct EmptyReply {}

/// Virtual machines found since the start, of which there are none: all are part of the node.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct LoadVmsReply {
    #[serde(rename = "newVMs")]
    new_vms: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DbGetReply {
    /// Hex; empty if there is no such key.
    value: String,
    error_code: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChainAliasesReply {
    /// `null` for an unknown chain.
    aliases: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LevelsReply {
    logger_levels: BTreeMap<String, ShownLevels>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShownLevels {
    log_level: &'static str,
    display_level: &'static str,
}

impl From<Levels> for ShownLevels {
    fn from(levels: Levels) -> Self {
        Self { log_level: levels.file.name(), display_level: levels.display.name() }
    }
}

impl HasProfiles for AdminApi {
    fn profiles(&self) -> &Profiles {
        &self.profiles
    }
}

impl AdminApi {
    /// A service over these names, routes and loggers, and this store.
    pub fn new(
        aliases: Arc<AliasTable>,
        routes: &Arc<Routes>,
        deps: AdminDeps,
        store: Store,
    ) -> Self {
        let AdminDeps { levels, tail, profiles, settings, backups, validator } = deps;
        let profiles = Profiles::new(profiles);
        let routes = Arc::downgrade(routes);
        Self { aliases, routes, levels, tail, profiles, settings, backups, validator, store }
    }

    pub(crate) fn service(self) -> Service {
        methods().bind(Arc::new(self))
    }

    fn alias(&self, args: AliasArgs) -> Result<EmptyReply, RpcError> {
        check_length(&args.alias)?;
        self.add_route(&args.endpoint, &args.alias)
    }

    fn alias_chain(&self, args: AliasChainArgs) -> Result<EmptyReply, RpcError> {
        check_length(&args.alias)?;
        let chain = self.aliases.lookup(&args.chain).ok_or_else(|| {
            RpcError::new(format!("there is no ID with alias: {}", excerpt(&args.chain)))
        })?;
        self.aliases.add(chain, &args.alias).map_err(|error| RpcError::new(error.to_string()))?;
        self.add_route(&format!("bc/{chain}"), &format!("bc/{}", args.alias))
    }

    fn get_chain_aliases(&self, args: ChainArgs) -> Result<ChainAliasesReply, RpcError> {
        let chain: ChainId =
            args.chain.parse().map_err(|error| RpcError::new(format!("{error}")))?;
        let aliases = self.aliases.aliases(&chain);
        Ok(ChainAliasesReply { aliases: (!aliases.is_empty()).then_some(aliases) })
    }

    fn get_logger_level(&self, args: GetLevelArgs) -> Result<LevelsReply, RpcError> {
        if args.logger_name.is_empty() {
            return Ok(shown(self.levels.all()));
        }
        let levels = self.levels.get(&args.logger_name);
        let levels = levels.ok_or_else(|| no_logger(&args.logger_name))?;
        Ok(shown([(args.logger_name, levels)]))
    }

    fn set_logger_level(&self, args: SetLevelArgs) -> Result<LevelsReply, RpcError> {
        let file = args.log_level.map(|level| level.0);
        let display = args.display_level.map(|level| level.0);
        if file.is_none() && display.is_none() {
            return Err(RpcError::new("need to specify either displayLevel or logLevel"));
        }
        let names = match args.logger_name.as_str() {
            "" => self.levels.names(),
            name => vec![name.to_owned()],
        };
        let set = names.into_iter().map(|name| {
            let levels = self.levels.set(&name, file, display).ok_or_else(|| no_logger(&name))?;
            Ok((name, levels))
        });
        Ok(shown(set.collect::<Result<Vec<_>, RpcError>>()?))
    }

    /// A row of the node's own store, by its whole key.
    fn db_get(&self, args: KeyArgs) -> Result<DbGetReply, RpcError> {
        let error = |error: &dyn std::fmt::Display| RpcError::new(error.to_string());
        let key = match args.key.as_str() {
            "" => Vec::new(),
            key => hexfmt::decode_plain(key).map_err(|fault| error(&fault))?,
        };
        let mut value = None;
        if (1..=MAX_KEY_LEN).contains(&key.len()) {
            let view = self.store.snapshot().map_err(|fault| error(&fault))?;
            let mut show = |bytes: &[u8]| {
                value = Some((bytes.len() <= MAX_SHOWN_VALUE).then(|| hexfmt::encode_plain(bytes)));
            };
            view.get_with(&key, &mut show).map_err(|fault| error(&fault))?;
        }
        match value {
            Some(Some(value)) => Ok(DbGetReply { value, error_code: 0 }),
            Some(None) => Err(RpcError::new(format!("value of more than {MAX_SHOWN_VALUE} bytes"))),
            None => Ok(DbGetReply { value: String::new(), error_code: NOT_FOUND }),
        }
    }

    /// It runs on a thread of its own, since it may take long. The client does not hold that thread.
    async fn backup(self: Arc<Self>, args: BackupArgs) -> Result<BackupReply, RpcError> {
        let (to, rate) = (Path::new(&args.path), args.bytes_per_second.0);
        let written = Arc::clone(&self.backups).write(to, rate).await;
        let written = written.map_err(|error| {
            // An error names files below the path. A long path is cut, like all texts of clients.
            let short = excerpt(&args.path).to_string();
            let text = error.to_string();
            RpcError::new(match short == args.path {
                true => text,
                false => text.replace(&args.path, &short),
            })
        })?;
        Ok(BackupReply { path: written.path.display().to_string(), size: JsonU64(written.bytes) })
    }

    fn add_route(&self, endpoint: &str, alias: &str) -> Result<EmptyReply, RpcError> {
        if let Some(routes) = self.routes.upgrade() {
            routes.alias(endpoint, alias).map_err(|error| RpcError::new(error.to_string()))?;
        }
        Ok(EmptyReply {})
    }
}

fn check_length(alias: &str) -> Result<(), RpcError> {
    if alias.len() > MAX_ALIAS_BYTES {
        return Err(RpcError::new("alias length is too long"));
    }
    Ok(())
}

fn shown(levels: impl IntoIterator<Item = (String, Levels)>) -> LevelsReply {
    let logger_levels = levels.into_iter().map(|(name, levels)| (name, levels.into())).collect();
    LevelsReply { logger_levels }
}

fn no_logger(name: &str) -> RpcError {
    let name = esker_primitives::go::quote(name);
    RpcError::new(format!("logger with name {name} not found"))
}
