//! `/ext/bc/CHAIN/admin` of an EVM chain, if it is enabled: profiles, log level, configuration.

use std::sync::Arc;

use esker_primitives::excerpt;
use esker_profiling::Folder;
use esker_rpc::handler::quick;
use esker_rpc::{MethodTable, NoArgs, RpcError, Service};
use esker_settings::logging::LogLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EmptyReply;
use super::profiles::{self, HasProfiles, Profiles};
use super::vm_config::Flags;
use crate::logging::LogLevels;

/// The `admin` service of one chain.
#[derive(Debug)]
pub(crate) struct ChainAdminApi {
    /// Name of the chain's logger.
    logger: String,
    levels: LogLevels,
    profiles: Profiles,
    config: Flags,
}

/// The `admin` namespace of a chain.
fn methods() -> MethodTable<ChainAdminApi> {
    MethodTable::new("admin").trusted_callers_only(|table| {
        let table = table.on("setLogLevel", quick(ChainAdminApi::set_log_level));
        profiles::add_methods(table).on("getVMConfig", quick(ChainAdminApi::get_vm_config))
    })
}

impl HasProfiles for ChainAdminApi {
    fn profiles(&self) -> &Profiles {
        &self.profiles
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct LevelArgs {
    level: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct VmConfigReply {
    config: Flags,
}

impl ChainAdminApi {
    /// The service of the chain whose logger has this name. `getVMConfig` shows `config`.
    pub(crate) fn new(logger: String, levels: LogLevels, folder: Folder, config: Flags) -> Self {
        Self { logger, levels, profiles: Profiles::new(folder), config }
    }

    pub(crate) fn service(self) -> Service {
        methods().bind(Arc::new(self))
    }

    fn set_log_level(&self, args: LevelArgs) -> Result<EmptyReply, RpcError> {
        let level = parse_level(&args.level).ok_or_else(|| {
            let level = excerpt(&args.level);
            // The space at the end is the reference's.
            RpcError::new(format!("failed to parse log level: unknown level: {level} "))
        })?;
        self.levels.set(&self.logger, Some(level), Some(level));
        Ok(EmptyReply {})
    }

    fn get_vm_config(&self, _: NoArgs) -> Result<VmConfigReply, RpcError> {
        Ok(VmConfigReply { config: self.config.clone() })
    }
}

/// A level by its name in the EVM's own log.
fn parse_level(name: &str) -> Option<LogLevel> {
    Some(match name.to_ascii_lowercase().as_str() {
        "trace" | "trce" => LogLevel::Verbo,
        "debug" | "dbug" => LogLevel::Debug,
        "info" => LogLevel::Info,
        "warn" => LogLevel::Warn,
        "error" | "eror" => LogLevel::Error,
        "crit" => LogLevel::Fatal,
        _ => return None,
    })
}
