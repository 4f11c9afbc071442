//! The services of an EVM chain, the folder of its encrypted keys, and the cases in which they are refused
//! (docs/decisions.md, "When the keystore is served").

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use esker_evm_rpc::{Api, Apis, UnknownApi};
use esker_keystore::HashLimits;
use esker_primitives::ChainId;

use super::keystore::{address, is_local};
use super::{ChainSettings, Config, ConfigError, Mode, Settings, tls};

/// Services of `esker dev` unless the configuration names others.
const DEV_APIS: [&str; 17] = [
    "eth",
    "eth-filter",
    "net",
    "web3",
    "internal-eth",
    "internal-blockchain",
    "internal-transaction",
    "internal-tx-pool",
    "internal-account",
    "internal-personal",
    "debug-handler",
    "debug-tracer",
    "debug-file-tracer",
    "debug",
    "internal-debug",
    "ots",
    "admin",
];

/// The service that only `esker evm` adds to them.
const OF_EVM_ALONE: &str = "testing";

/// The folder of encrypted keys if none is named, below the data folder.
const KEY_FOLDER: &str = "keystore";

/// The services of a chain.
pub fn apis(chain: &ChainSettings, mode: Mode) -> Result<Apis, UnknownApi> {
    match (chain.eth_apis.0.is_empty(), mode) {
        (true, Mode::Dev) => Apis::parse(DEV_APIS),
        (true, Mode::Evm) => Apis::parse(DEV_APIS.into_iter().chain([OF_EVM_ALONE])),
        (true, Mode::Node) => Ok(Apis::default()),
        (false, _) => Apis::parse(chain.eth_apis.0.iter().map(String::as_str)),
    }
}

impl Config {
    /// The folder of a chain's encrypted keys; `None`: the chain has none.
    ///
    /// `esker dev` has a default folder only if others can't reach it: otherwise anybody could fill the disk.
    pub fn key_folder(&self, chain: &ChainSettings, data_folder: &Path) -> Option<PathBuf> {
        if !chain.keystore_directory.is_empty() {
            return Some(data_folder.join(&chain.keystore_directory));
        }
        let is_served = apis(chain, self.mode).is_ok_and(|apis| apis.has(Api::InternalPersonal));
        let is_safe =
            !self.is_reached_by_others() || self.settings.allow_keystore_on_public_address;
        (is_served && is_safe).then(|| data_folder.join(KEY_FOLDER))
    }

    /// Whether clients may unlock the accounts of a chain for later calls. Those calls need no password. So this is
    /// allowed only if no other machine can call the node, or if the setting allows it.
    pub fn allows_unlock(&self, chain: &ChainSettings) -> bool {
        !self.is_reached_by_others() || chain.keystore_insecure_unlock_allowed
    }

    /// The limits of password checks of accounts. One runs at a time, and takes 256 MiB and a core for about a
    /// second.
    pub fn account_hash_limits(&self) -> HashLimits {
        HashLimits { at_once: 1, ..self.hash_limits() }
    }

    fn is_reached_by_others(&self) -> bool {
        self.settings.public || !is_local(&self.settings)
    }
}

/// Refuses accounts with passwords that other machines could reach, unless a setting allows it.
pub(super) fn check(
    settings: &Settings,
    chains: &BTreeMap<ChainId, ChainSettings>,
    mode: Mode,
) -> Result<Option<String>, ConfigError> {
    let is_asked_for = chains.values().any(|chain| {
        let is_named = !chain.eth_apis.0.is_empty() || !chain.keystore_directory.is_empty();
        is_named && apis(chain, mode).is_ok_and(|apis| apis.has(Api::InternalPersonal))
    });
    if !is_asked_for || is_local(settings) {
        return Ok(None);
    }
    let place = address(settings);
    if !settings.allow_keystore_on_public_address {
        return Err(ConfigError::Conflict(format!(
            "eth-apis: internal-personal signs with the keys of the node's accounts, and others can reach {place}: \
             leave it out, or listen on 127.0.0.1 (http-host), or set allow-keystore-on-public-address if this is \
             what you want"
        )));
    }
    let clear = if tls::files(settings).is_none() { " travel there in the clear, and" } else { "" };
    Ok(Some(format!(
        "personal_ is served at {place}: passwords{clear} can be tried by whoever reaches it"
    )))
}
