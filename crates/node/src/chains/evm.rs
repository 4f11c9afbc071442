//! Builds an EVM chain.

use std::sync::Arc;

use esker_chain::forward::TxKind;
use esker_chain::{ChainContext, ChainError};
use esker_evm::chain::{Evm, EvmConfig, GenesisSource, PRUNED_WINDOW};
use esker_evm::control::{ControlExtension, Controls};
use esker_evm::extension::{BlockExtension, NoExtension};
use esker_evm_execution::executor::ChainParams;
use esker_evm_state::blocks::History;
use esker_nat::{AtomicExtension, Nat};
use esker_settings::config::Config;
use esker_settings::networks::{ChainSpec, EvmParameters};

use super::evm_chain::EvmChain;
use super::evm_settings::{
    allows_unprotected, build_mode, check, has_log_timestamps, in_dev, is_archive, pool_config,
};
use super::parts::ChainInputs;
use super::rules;

/// Builds the chain of a specification.
pub(super) fn build(
    (spec, parameters): (&ChainSpec, &EvmParameters),
    context: ChainContext,
    config: &Config,
    inputs: ChainInputs<'_>,
    is_known: bool,
) -> Result<EvmChain, ChainError> {
    let ChainInputs { clock, fork, .. } = inputs;
    let settings = config.chain(&spec.id);
    let exchange = context.exchange.clone();
    let has_controls = config.network.has_controls;
    let clock = clock.filter(|_| config.mode.is_development() && config.decides_alone());
    let controls = clock.map(|clock| {
        let addresses = context.impersonations.clone().unwrap_or_default();
        let controls = Controls::new(clock.clone(), Arc::clone(&context.work));
        Arc::new(controls.with_addresses(addresses))
    });
    let next_header = controls.as_ref().map(|controls| Arc::clone(controls.next_header()));
    let has_log_timestamps = has_log_timestamps(settings, parameters, config.mode);
    let (rules, atomic_rules) =
        rules::of_chain(parameters, has_controls, next_header, has_log_timestamps);
    let params = ChainParams {
        keeps_console: config.mode.is_development() && !config.settings.no_console,
        keeps_touched: in_dev(settings.index_addresses, config.mode),
        ..ChainParams::new(Arc::clone(&rules), context.network_id, context.chain_id)
    };
    // Below its first block the state is another node's, and only undo rows tell which values are its own.
    let is_archive = fork.is_some() || is_archive(settings, parameters, config.mode);
    let evm_config = EvmConfig {
        history: match config.settings.state_window {
            Some(blocks) => History::Window(blocks),
            None if is_archive => History::Archive,
            None => History::Window(PRUNED_WINDOW),
        },
        preimages: in_dev(settings.preimages_enabled, config.mode),
        pool: pool_config(settings, &config.settings, config.mode.is_development()),
        mode: build_mode(config.settings.block_time.0),
        allow_unprotected: allows_unprotected(settings, config.mode),
        reports_calls: config.settings.print_traces && !config.settings.silent,
        max_pool_txs: usize::try_from(config.settings.max_block_transactions)
            .ok()
            .filter(|n| *n > 0),
    };
    let atomic_rules = atomic_rules.filter(|_| parameters.has_atomic_transactions());
    let atomic = atomic_rules.map(|rules| Arc::new(AtomicExtension::new(context.clone(), rules)));
    let mut extension: Arc<dyn BlockExtension> = match &atomic {
        Some(atomic) => Arc::clone(atomic) as _,
        None => Arc::new(NoExtension),
    };
    if has_controls {
        extension = Arc::new(ControlExtension::new(extension, rules, controls.clone()));
    }
    let parse = rules::parse_genesis(parameters);
    let genesis = GenesisSource::json(spec.genesis.clone(), parse, is_known);
    let genesis = genesis.with_number(parameters.genesis_number).with_fork(fork.cloned());
    let evm = Evm::new(context, params, evm_config, genesis, extension, controls)?;
    check(spec, config)?;
    if !is_known && fork.is_none() {
        log_missing_contracts(spec, parameters, &evm)?;
    }
    if let Some(pools) = &exchange {
        pools.register(spec.id, TxKind::Evm, evm.exchange_pool());
    }
    let Some(atomic) = atomic else { return Ok(EvmChain::new(evm)) };
    let nat = Nat::new(evm, atomic);
    if let Some(pools) = exchange {
        pools.register(spec.id, TxKind::Atomic, nat.exchange_pool());
    }
    Ok(EvmChain::with_atomic(nat))
}

/// Warns of a new chain on which no block can be made.
fn log_missing_contracts(
    spec: &ChainSpec,
    parameters: &EvmParameters,
    evm: &Evm,
) -> Result<(), ChainError> {
    let missing = rules::missing_contracts(parameters, evm.genesis_definition()?.as_ref());
    if !missing.is_empty() {
        let chain = spec.primary_alias();
        tracing::warn!(
            chain,
            ?missing,
            "no block can be made or imported: the genesis has no code for contracts that each block of its fork calls \
             (EIP-7002, EIP-7251); add them to alloc"
        );
    }
    Ok(())
}
