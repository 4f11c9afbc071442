//! What each fork brings (EIP-7910).

use alloy_eips::eip2124::ForkHash;
use esker_evm_state::types::SealedHeader;

use super::addresses::beacon_roots;
use super::phase::Phase;
use super::schedule::ForkSchedule;
use crate::executor::named_precompiles;
use crate::rules::execution::BlobLimits;
use crate::rules::published::{ForkConfig, ForkConfigs};

/// The chain has no blobs. The fraction is that of Cancun, so the base fee of blobs stays 1.
const NO_BLOBS: BlobLimits =
    BlobLimits { target: 0, max: 0, update_fraction: 3_338_477, max_a_transaction: None };

/// The forks around a time, Unix s.
pub(super) fn forks(schedule: &ForkSchedule, genesis: &SealedHeader, now: u64) -> ForkConfigs {
    let times = schedule.activations(genesis.header.time);
    let passed = times.partition_point(|time| *time <= now);
    let fork = |passed: usize| fork(schedule, genesis, &times[..passed]);
    let is_last = passed == times.len();
    ForkConfigs {
        current: fork(passed),
        next: (!is_last).then(|| fork(passed + 1)),
        last: (!is_last).then(|| fork(times.len())),
    }
}

/// The fork that holds after these activations (Unix s).
fn fork(schedule: &ForkSchedule, genesis: &SealedHeader, passed: &[u64]) -> ForkConfig {
    let activation_time = passed.last().copied().unwrap_or_default();
    let phase = schedule.phase_at(activation_time.max(genesis.header.time));
    let execution = phase.map(|phase: Phase| phase.rules().execution);
    let mut fork_hash = ForkHash::from(genesis.hash);
    passed.iter().for_each(|time| fork_hash += *time);
    let system_contract = execution.as_ref().and_then(beacon_roots);
    ForkConfig {
        activation_time,
        fork_hash: fork_hash.0,
        blobs: Some(NO_BLOBS),
        precompiles: named_precompiles(execution.as_ref()),
        system_contracts: system_contract
            .map(|address| ("BEACON_ROOTS_ADDRESS", address))
            .into_iter()
            .collect(),
    }
}
