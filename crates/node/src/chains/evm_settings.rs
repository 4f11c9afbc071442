//! Derives the configuration of an EVM chain from its settings.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::hex::FromHexError;
use alloy_primitives::{B256, U256};
use esker_chain::ChainError;
use esker_evm::chain::BuildMode;
use esker_evm::oracle::{OracleConfig, PriceOptionsConfig};
use esker_evm::pool::{PoolConfig, RefusedTxs};
use esker_evm_rpc::evm::TransactConfig;
use esker_js_tracer::{ScriptConfig, ScriptSlots};
use esker_rpc::positional::{ErrorTexts, Limits};
use esker_settings::config::value::Switch;
use esker_settings::config::{ChainSettings, Config, Mode, Settings, personal};
use esker_settings::networks::{ChainSpec, EvmParameters, EvmRules};
use thiserror::Error;

/// Checks the settings of a chain that only its services use.
///
/// # Errors
/// A value can't be used.
pub(super) fn check(spec: &ChainSpec, config: &Config) -> Result<(), ChainError> {
    let settings = config.chain(&spec.id);
    personal::apis(settings, config.mode).map_err(|error| fault(spec, &error))?;
    transact_config(settings, config).map_err(|error| fault(spec, &error))?;
    Ok(())
}

/// A fault of the chain's parameters or settings.
pub(super) fn fault(spec: &ChainSpec, error: &dyn std::fmt::Display) -> ChainError {
    ChainError::Genesis(format!("chain {}: {error}", spec.primary_alias()))
}

pub(super) fn build_mode(block_time: Duration) -> BuildMode {
    match u64::try_from(block_time.as_millis()) {
        Ok(0) => BuildMode::Immediate,
        ms => BuildMode::Interval(ms.unwrap_or(u64::MAX)),
    }
}

pub(super) fn allows_unprotected(settings: &ChainSettings, mode: Mode) -> bool {
    in_dev(settings.allow_unprotected_txs, mode)
}

/// A switch that is on under `esker dev` and `esker evm` unless it is configured.
pub(super) fn in_dev(switch: Switch, mode: Mode) -> bool {
    match switch {
        Switch::Auto => mode.is_development(),
        Switch::On => true,
        Switch::Off => false,
    }
}

pub(super) fn is_archive(settings: &ChainSettings, parameters: &EvmParameters, mode: Mode) -> bool {
    match settings.pruning_enabled {
        Switch::Auto => mode.is_development() || parameters.is_archive_by_default(),
        Switch::On => false,
        Switch::Off => true,
    }
}

/// Whether logs show the time of their block. The C-Chain's reference does not show it.
pub(super) fn has_log_timestamps(
    settings: &ChainSettings,
    parameters: &EvmParameters,
    mode: Mode,
) -> bool {
    match settings.log_timestamps {
        Switch::Auto => mode.is_development() || matches!(parameters.rules, EvmRules::Ethereum(_)),
        Switch::On => true,
        Switch::Off => false,
    }
}

/// Scripts run in processes of this very program.
pub(super) fn script_config(
    settings: &ChainSettings,
    mode: Mode,
    slots: &Arc<ScriptSlots>,
) -> ScriptConfig {
    // The link is also valid if the file was replaced while the node runs.
    let link = PathBuf::from("/proc/self/exe");
    let program = if link.exists() { link } else { std::env::current_exe().unwrap_or(link) };
    let runs_custom = match settings.tracer_scripts_enabled {
        Switch::Auto => mode.is_development(),
        Switch::On => true,
        Switch::Off => false,
    };
    ScriptConfig { program, slots: Arc::clone(slots), runs_custom }
}

/// Blobs that a development node keeps for tools: 16 MiB.
const RECENT_BLOBS: usize = 128;

pub(super) fn pool_config(
    settings: &ChainSettings,
    node: &Settings,
    is_development: bool,
) -> PoolConfig {
    PoolConfig {
        price_bump: settings.tx_pool_price_bump.0,
        account_slots: settings.tx_pool_account_slots.count(),
        global_slots: settings.tx_pool_global_slots.count(),
        account_queue: settings.tx_pool_account_queue.count(),
        global_queue: settings.tx_pool_global_queue.count(),
        lifetime_ms: u64::try_from(settings.tx_pool_lifetime.as_millis()).unwrap_or(u64::MAX),
        by_arrival: node.order_by_arrival,
        checks_balance: !node.no_pool_balance_checks,
        recent_blobs: if is_development { RECENT_BLOBS } else { 0 },
        refused: refused_txs(node),
        ..PoolConfig::default()
    }
}

fn refused_txs(node: &Settings) -> RefusedTxs {
    match node.hardhat_answers {
        true => RefusedTxs::NotInNextBlock,
        false if node.refuse_low_fees => RefusedTxs::LowFees,
        false => RefusedTxs::None,
    }
}

/// The least tip, and the highest tip if it would be below the least. On the C-Chain of a development network they
/// are such that the suggested price is `gas-price`.
pub(super) fn oracle_config(
    spec: &ChainSpec,
    settings: &ChainSettings,
    config: &Config,
) -> OracleConfig {
    let is_c = spec.id == config.network.evm_chain().id;
    let of_price = config.min_suggested_tip().filter(|_| is_c);
    let min_tip = U256::from(of_price.unwrap_or(settings.tx_pool_price_limit));
    let usual = OracleConfig::default();
    OracleConfig { min_tip, max_tip: usual.max_tip.max(min_tip), ..usual }
}

/// A hash in the settings is none.
#[derive(Debug, Error)]
#[error("allow-unprotected-tx-hashes: {text}: {error}")]
pub(super) struct TxHashError {
    text: String,
    error: FromHexError,
}

#[expect(clippy::cast_precision_loss, reason = "whole coins: far below 2^53")]
pub(super) fn transact_config(
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
        // Anvil has no cap: who can't pay is refused for that.
        tx_fee_cap: match config.settings.anvil_answers {
            true => 0.0,
            false => settings.rpc_tx_fee_cap as f64,
        },
        max_duration: settings.api_max_duration,
        allow_unprotected_txs: allows_unprotected(settings, config.mode),
        allow_unlock: config.allows_unlock(settings),
        failed_sends: config.failed_sends(),
        max_trace_blocks: settings.api_max_blocks_per_request,
        ..TransactConfig::default()
    })
}

pub(super) fn limits(settings: &ChainSettings, config: &Config) -> Limits {
    let default = Limits::default();
    let body_bytes = match settings.evm_http_body_limit {
        // The server's limit is the only chain's, too.
        0 if config.mode == Mode::Evm => config.settings.http_body_limit.count(),
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
        error_texts: match (config.settings.anvil_answers, config.settings.hardhat_answers) {
            (true, _) => ErrorTexts::Anvil,
            (false, true) => ErrorTexts::Hardhat,
            (false, false) => ErrorTexts::Geth,
        },
        ..default
    }
}
