//! The profile of a public node: the values that `public` sets, and the services that it withholds (docs/public.md).

use std::fmt::Write as _;

use esker_evm_rpc::{Api, Apis};
use esker_http::PRIVATE_HOSTS;

use super::Settings;
use super::keystore::is_local;

/// The owner of a row's setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The node.
    Node,
    /// Every EVM chain.
    EvmChains,
}

/// One setting of the profile.
#[derive(Clone, Copy, Debug)]
pub struct ProfileRow {
    /// The owner of the setting.
    pub scope: Scope,
    /// Its name.
    pub key: &'static str,
    /// Text of its value.
    pub value: &'static str,
    /// Whether a user's value serves something that the profile withholds; `None`: any other value is accepted.
    pub is_withheld: Option<fn(&str) -> bool>,
    /// The reason why the profile sets it.
    pub reason: &'static str,
}

/// The services that a public node withholds.
const WITHHELD_APIS: [Api; 9] = [
    Api::Admin,
    Api::Debug,
    Api::DebugFileTracer,
    Api::DebugHandler,
    Api::DebugTracer,
    Api::InternalDebug,
    Api::InternalPersonal,
    Api::InternalTxPool,
    Api::Ots,
];

/// The settings of a public node.
pub const PUBLIC: &[ProfileRow] = &[
    ProfileRow {
        scope: Scope::Node,
        key: "api-admin-enabled",
        value: "false",
        is_withheld: Some(is_true),
        reason: "`/ext/admin` reads the store, changes log levels and writes profiles",
    },
    ProfileRow {
        scope: Scope::Node,
        key: "api-keystore-enabled",
        value: "false",
        is_withheld: Some(is_true),
        reason: "users' keys and passwords do not belong on a node of somebody else",
    },
    ProfileRow {
        scope: Scope::Node,
        key: "api-key-methods-enabled",
        value: "false",
        is_withheld: Some(is_true),
        reason: "the methods of `xvm`, `wallet` and `nat` that take a password: without users they have no use",
    },
    ProfileRow {
        scope: Scope::Node,
        key: "http-rate-limit",
        value: "200",
        is_withheld: None,
        reason: "one address can't take the node from the others: 200 small reads or 20 calls each second",
    },
    ProfileRow {
        scope: Scope::Node,
        key: "http-rate-burst",
        value: "2000",
        is_withheld: None,
        reason: "a page that loads asks for much at once: ten seconds' worth",
    },
    ProfileRow {
        scope: Scope::EvmChains,
        key: "admin-api-enabled",
        value: "false",
        is_withheld: Some(is_true),
        reason: "the chain's admin API writes profiles and changes log levels",
    },
    ProfileRow {
        scope: Scope::EvmChains,
        key: "eth-apis",
        value: "eth,eth-filter,net,web3,internal-eth,internal-blockchain,internal-transaction",
        is_withheld: Some(names_withheld_api),
        reason: "without `debug`, `personal`, `txpool` and `admin`",
    },
    ProfileRow {
        scope: Scope::EvmChains,
        key: "batch-request-limit",
        value: "40",
        is_withheld: None,
        reason: "the specification's limit of a public node",
    },
    ProfileRow {
        scope: Scope::EvmChains,
        key: "ws-http-methods-enabled",
        value: "false",
        is_withheld: None,
        reason: "websockets are for what HTTP can't serve: HTTP is simpler to balance and to limit",
    },
    ProfileRow {
        scope: Scope::EvmChains,
        key: "api-max-blocks-per-request",
        value: "2048",
        is_withheld: None,
        reason: "a search of logs reads no more blocks than that",
    },
    ProfileRow {
        scope: Scope::EvmChains,
        key: "api-max-duration",
        value: "10s",
        is_withheld: None,
        reason: "a call or batch occupies a thread for no longer",
    },
];

fn is_true(text: &str) -> bool {
    text == "true"
}

fn names_withheld_api(names: &str) -> bool {
    // A name of no service is an error of its own.
    let apis = Apis::parse(names.split(',').filter(|name| !name.is_empty()));
    apis.is_ok_and(|apis| WITHHELD_APIS.into_iter().any(|api| apis.has(api)))
}

/// The row of a setting.
pub(super) fn row(scope: Scope, key: &str) -> Option<&'static ProfileRow> {
    PUBLIC.iter().find(|row| row.scope == scope && row.key == key)
}

/// Warnings about settings that a public node most likely needs.
pub(super) fn warnings(settings: &Settings) -> Vec<String> {
    let mut warnings = Vec::new();
    if !settings.public {
        return warnings;
    }
    let is_own = |name: &String| name == "localhost" || name == PRIVATE_HOSTS;
    if settings.http_allowed_hosts.0.iter().all(is_own) {
        warnings.push(
            "public: requests that call the node by a name get status 403: list its names in http-allowed-hosts"
                .to_owned(),
        );
    }
    if is_local(settings) && settings.http_trusted_proxies.0.is_empty() {
        warnings.push(
            "public: clients behind a proxy share one limit of rates: set http-trusted-proxies and \
             http-client-address-header"
                .to_owned(),
        );
    }
    warnings
}

/// The table of the settings, for docs/public.md.
pub fn markdown() -> String {
    let mut table =
        String::from("| Setting | Value | Otherwise refused | Why |\n|---|---|---|---|\n");
    for ProfileRow { scope, key, value, is_withheld, reason } in PUBLIC {
        let whose = match scope {
            Scope::Node => "",
            Scope::EvmChains => " of every EVM chain",
        };
        let refused = if is_withheld.is_some() { "yes" } else { "" };
        // Writing to a String can't fail.
        let _ok = writeln!(table, "| `{key}`{whose} | `{value}` | {refused} | {reason} |");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::keys::{CHAIN_KEYS, KEYS, find};
    use super::*;

    #[test]
    fn every_row_sets_a_setting_to_a_value_of_it_that_is_not_withheld() {
        for row in PUBLIC {
            let table = match row.scope {
                Scope::Node => KEYS,
                Scope::EvmChains => CHAIN_KEYS,
            };
            let key = find(table, row.key).unwrap();
            assert_eq!((key.check)(row.value).as_deref(), Ok(row.value), "{}", row.key);
            assert!(!row.is_withheld.is_some_and(|is_withheld| is_withheld(row.value)));
        }
    }
}
