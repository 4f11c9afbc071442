//! The configuration of a chain of the EVM as `getVMConfig` shows it: the flags of the reference in its order, with this
//! node's values. A flag without a meaning here shows the reference's default.

use esker_evm_execution::call::go_duration;
use esker_evm_rpc::{Api, Apis};
use esker_settings::config::ChainSettings;
use esker_settings::logging::LogLevel;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// The services. Those that the reference has on by default come first, in its order.
const IN_ORDER: [Api; 17] = [
    Api::Eth,
    Api::EthFilter,
    Api::Net,
    Api::Web3,
    Api::InternalEth,
    Api::InternalBlockchain,
    Api::InternalTransaction,
    Api::InternalTxPool,
    Api::InternalAccount,
    Api::InternalPersonal,
    Api::InternalDebug,
    Api::Admin,
    Api::Debug,
    Api::DebugTracer,
    Api::DebugFileTracer,
    Api::DebugHandler,
    Api::Ots,
];

/// The part of the configuration that does not follow from the settings alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effective<'a> {
    pub(crate) apis: &'a Apis,
    pub(crate) is_archive: bool,
    pub(crate) keeps_preimages: bool,
    pub(crate) allows_unprotected: bool,
    /// Level of the chain's log file.
    pub(crate) log_level: LogLevel,
}

/// The flags by name, in order.
#[derive(Clone, Debug)]
pub(crate) struct Flags(Vec<(&'static str, Value)>);

esker_rpc::schema!(Flags, "VmConfig", {
    "title": "settings",
    "description": "The chain's settings by their names.",
    "type": "object",
});

impl Serialize for Flags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The flags of a chain.
pub(crate) fn shown(settings: &ChainSettings, effective: &Effective<'_>) -> Flags {
    let Effective { apis, is_archive, keeps_preimages, allows_unprotected, log_level } = *effective;
    let s = settings;
    // The configured names, or else the names in the reference's order.
    let names: Vec<&str> = match s.eth_apis.0.is_empty() {
        true => IN_ORDER.into_iter().filter(|api| apis.has(*api)).map(Api::name).collect(),
        false => s.eth_apis.0.iter().map(String::as_str).collect(),
    };
    Flags(vec![
        ("snowman-api-enabled", json!(false)),
        ("admin-api-enabled", json!(s.admin_api_enabled)),
        ("admin-api-dir", json!(s.admin_api_dir)),
        ("coreth-admin-api-enabled", json!(s.admin_api_enabled)),
        ("coreth-admin-api-dir", json!(s.admin_api_dir)),
        ("warp-api-enabled", json!(false)),
        ("eth-apis", json!(names)),
        ("continuous-profiler-dir", json!("")),
        ("continuous-profiler-frequency", json!("15m0s")),
        ("continuous-profiler-max-files", json!(5)),
        ("rpc-gas-cap", json!(s.rpc_gas_cap)),
        ("rpc-tx-fee-cap", json!(s.rpc_tx_fee_cap)),
        ("trie-clean-cache", json!(512)),
        ("trie-dirty-cache", json!(512)),
        ("trie-dirty-commit-target", json!(20)),
        ("trie-prefetcher-parallelism", json!(16)),
        ("snapshot-cache", json!(256)),
        ("preimages-enabled", json!(keeps_preimages)),
        ("snapshot-wait", json!(false)),
        ("snapshot-verification-enabled", json!(false)),
        ("pruning-enabled", json!(!is_archive)),
        ("accepted-queue-limit", json!(64)),
        ("commit-interval", json!(4096)),
        ("allow-missing-tries", json!(false)),
        ("populate-missing-tries-parallelism", json!(1024)),
        ("prune-warp-db-enabled", json!(false)),
        ("metrics-expensive-enabled", json!(true)),
        ("local-txs-enabled", json!(false)),
        ("tx-pool-price-limit", json!(s.tx_pool_price_limit)),
        ("tx-pool-price-bump", json!(s.tx_pool_price_bump.0)),
        ("tx-pool-account-slots", json!(s.tx_pool_account_slots.0)),
        ("tx-pool-global-slots", json!(s.tx_pool_global_slots.0)),
        ("tx-pool-account-queue", json!(s.tx_pool_account_queue.0)),
        ("tx-pool-global-queue", json!(s.tx_pool_global_queue.0)),
        ("tx-pool-lifetime", json!(go_duration(s.tx_pool_lifetime))),
        ("api-max-duration", json!(go_duration(s.api_max_duration))),
        ("ws-cpu-refill-rate", json!("0s")),
        ("ws-cpu-max-stored", json!("0s")),
        ("api-max-blocks-per-request", json!(s.api_max_blocks_per_request)),
        ("allow-unfinalized-queries", json!(s.allow_unfinalized_queries)),
        ("allow-unprotected-txs", json!(allows_unprotected)),
        ("allow-unprotected-tx-hashes", json!(s.allow_unprotected_tx_hashes.0)),
        ("keystore-directory", json!(s.keystore_directory)),
        ("keystore-external-signer", json!("")),
        ("keystore-insecure-unlock-allowed", json!(s.keystore_insecure_unlock_allowed)),
        ("push-gossip-percent-stake", json!(0.9)),
        ("push-gossip-num-validators", json!(100)),
        ("push-gossip-num-peers", json!(0)),
        ("push-regossip-num-validators", json!(10)),
        ("push-regossip-num-peers", json!(0)),
        ("push-gossip-frequency", json!("100ms")),
        ("pull-gossip-frequency", json!("1s")),
        ("regossip-frequency", json!("30s")),
        ("tx-regossip-frequency", json!("0s")),
        ("log-level", json!(level(log_level))),
        ("log-json-format", json!(false)),
        ("offline-pruning-enabled", json!(false)),
        ("offline-pruning-bloom-filter-size", json!(512)),
        ("offline-pruning-data-directory", json!("")),
        ("max-outbound-active-requests", json!(16)),
        ("state-sync-enabled", json!(null)),
        ("state-sync-skip-resume", json!(false)),
        ("state-sync-server-trie-cache", json!(64)),
        ("state-sync-ids", json!("")),
        ("state-sync-commit-interval", json!(16384)),
        ("state-sync-min-blocks", json!(300_000)),
        ("state-sync-request-size", json!(1024)),
        ("inspect-database", json!(false)),
        ("skip-upgrade-check", json!(false)),
        ("accepted-cache-size", json!(32)),
        ("transaction-history", json!(0)),
        ("tx-lookup-limit", json!(0)),
        ("skip-tx-indexing", json!(false)),
        ("warp-off-chain-messages", json!(null)),
        ("http-body-limit", json!(s.evm_http_body_limit)),
    ])
}

/// The reference's name of a level.
fn level(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Off | LogLevel::Fatal => "crit",
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info | LogLevel::Trace => "info",
        LogLevel::Debug => "debug",
        LogLevel::Verbo => "trace",
    }
}
