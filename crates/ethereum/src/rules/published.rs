//! The forks that a chain publishes (EIP-7910).

use alloy_eips::eip2935::HISTORY_STORAGE_ADDRESS;
use alloy_eips::eip4788::BEACON_ROOTS_ADDRESS;
use alloy_eips::eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS;
use alloy_eips::eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS;
use alloy_primitives::Address;
use esker_evm_execution::executor::named_precompiles;
use esker_evm_execution::rules::{ForkConfig, ForkConfigs};
use esker_evm_state::types::{Header, SealedHeader};

use crate::execution::execution_rules;
use crate::forks::{ChainConfig, Fork, fork_hash};

/// The forks around the last block.
pub(super) fn forks(config: &ChainConfig, genesis: &SealedHeader, head: &Header) -> ForkConfigs {
    let begin = genesis.header.time;
    let mut times: Vec<u64> = Fork::TIMED
        .into_iter()
        .filter_map(|fork| config.time(fork))
        .filter(|time| begin < *time)
        .collect();
    times.dedup();
    let passed = times.partition_point(|time| *time <= head.time);
    let current = match times[..passed].last() {
        Some(time) => fork_from(config, genesis, *time),
        None => fork(config, genesis, 0, (head.number, begin, head.difficulty.is_zero())),
    };
    let later = &times[passed..];
    ForkConfigs {
        current,
        next: later.first().map(|time| fork_from(config, genesis, *time)),
        last: later.last().map(|time| fork_from(config, genesis, *time)),
    }
}

/// The fork that begins at a time after the first block, Unix s.
fn fork_from(config: &ChainConfig, genesis: &SealedHeader, time: u64) -> ForkConfig {
    fork(config, genesis, time, (u64::MAX, time, true))
}

/// The fork of a block: its height, its time (Unix s), whether it has no proof of work.
fn fork(
    config: &ChainConfig,
    genesis: &SealedHeader,
    activation_time: u64,
    (number, time, is_merged): (u64, u64, bool),
) -> ForkConfig {
    let fork = config.fork_at(number, time, is_merged);
    let execution = execution_rules(config, fork);
    ForkConfig {
        activation_time,
        fork_hash: fork_hash(config, genesis.hash, genesis.header.time, number, time),
        blobs: execution.blobs,
        precompiles: named_precompiles(Some(&execution)),
        system_contracts: system_contracts(config, fork),
    }
}

fn system_contracts(config: &ChainConfig, fork: Fork) -> Vec<(&'static str, Address)> {
    let mut named = Vec::new();
    if fork >= Fork::Cancun {
        named.push(("BEACON_ROOTS_ADDRESS", BEACON_ROOTS_ADDRESS));
    }
    if fork >= Fork::Prague {
        named.extend([
            ("CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS", CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS),
            ("DEPOSIT_CONTRACT_ADDRESS", config.deposit_contract),
            ("HISTORY_STORAGE_ADDRESS", HISTORY_STORAGE_ADDRESS),
            ("WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS", WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS),
        ]);
    }
    named
}
