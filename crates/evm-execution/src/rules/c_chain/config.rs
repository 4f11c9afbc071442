//! The forks that a node publishes: the result of `getChainConfig` (docs/protocol/c-chain-rpc.md, "Chain
//! configuration").

use alloy_primitives::{B256, b256};
use schemars::JsonSchema;
use serde::Serialize;

use super::phase::Phase;
use super::schedule::{ForkSchedule, UNSCHEDULED};
use crate::genesis::GenesisError;

/// The whole configuration in the order of the result. It has the fields of all releases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "When each fork begins, and the chain's ID.")]
pub struct ChainConfig {
    chain_id: u64,
    homestead_block: u64,
    dao_fork_block: u64,
    dao_fork_support: bool,
    eip150_block: u64,
    #[schemars(with = "String")]
    eip150_hash: B256,
    eip155_block: u64,
    eip158_block: u64,
    byzantium_block: u64,
    constantinople_block: u64,
    petersburg_block: u64,
    istanbul_block: u64,
    muir_glacier_block: u64,
    berlin_block: u64,
    london_block: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    shanghai_time: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancun_time: Option<u64>,
    apricot_phase1_block_timestamp: u64,
    apricot_phase2_block_timestamp: u64,
    apricot_phase3_block_timestamp: u64,
    apricot_phase4_block_timestamp: u64,
    apricot_phase5_block_timestamp: u64,
    apricot_phase_pre6_block_timestamp: u64,
    apricot_phase6_block_timestamp: u64,
    apricot_phase_post6_block_timestamp: u64,
    banff_block_timestamp: u64,
    cortina_block_timestamp: u64,
    durango_block_timestamp: u64,
    etna_timestamp: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fortuna_timestamp: Option<u64>,
}

/// Constant since the first release.
const EIP150_HASH: B256 =
    b256!("0x2086799aeebeae135c246c65021c82b4e15a2c451340993aacfd2751886514f0");

impl ChainConfig {
    /// The configuration of a chain. Two forks of Ethereum have heights only on the public networks, which are known
    /// by their chain IDs.
    pub fn new(chain_id: u64, schedule: &ForkSchedule) -> Self {
        let (berlin_block, london_block) = match chain_id {
            43114 => (1_640_340, 3_308_552),
            43113 => (184_985, 805_078),
            _ => (0, 0),
        };
        let [apricot1, apricot2, apricot3, apricot4] = schedule.history;
        let at = |phase| schedule.begins(phase);
        let scheduled = |phase| Some(at(phase)).filter(|time| *time < UNSCHEDULED);
        Self {
            chain_id,
            homestead_block: 0,
            dao_fork_block: 0,
            dao_fork_support: true,
            eip150_block: 0,
            eip150_hash: EIP150_HASH,
            eip155_block: 0,
            eip158_block: 0,
            byzantium_block: 0,
            constantinople_block: 0,
            petersburg_block: 0,
            istanbul_block: 0,
            muir_glacier_block: 0,
            berlin_block,
            london_block,
            shanghai_time: scheduled(Phase::Durango),
            cancun_time: scheduled(Phase::Etna),
            apricot_phase1_block_timestamp: apricot1,
            apricot_phase2_block_timestamp: apricot2,
            apricot_phase3_block_timestamp: apricot3,
            apricot_phase4_block_timestamp: apricot4,
            apricot_phase5_block_timestamp: at(Phase::Apricot5),
            apricot_phase_pre6_block_timestamp: at(Phase::ApricotPre6),
            apricot_phase6_block_timestamp: at(Phase::Apricot6),
            apricot_phase_post6_block_timestamp: at(Phase::ApricotPost6),
            banff_block_timestamp: at(Phase::Banff),
            cortina_block_timestamp: at(Phase::Cortina),
            durango_block_timestamp: at(Phase::Durango),
            etna_timestamp: at(Phase::Etna),
            fortuna_timestamp: scheduled(Phase::Fortuna),
        }
    }
}

/// Checks that a chain with one schedule, whose head has the time `head_time` (Unix s), can continue with another
/// one. Only forks that the chain has reached in neither schedule may move.
pub fn check_schedule(
    stored: &ForkSchedule,
    new: &ForkSchedule,
    head_time: u64,
) -> Result<(), GenesisError> {
    let history = (1..=4).map(|n| format!("ApricotPhase{n}"));
    let phases = Phase::ALL.into_iter().map(|phase| match phase {
        Phase::Apricot5 => "ApricotPhase5".into(),
        Phase::ApricotPre6 => "ApricotPhasePre6".into(),
        Phase::Apricot6 => "ApricotPhase6".into(),
        Phase::ApricotPost6 => "ApricotPhasePost6".into(),
        Phase::Banff | Phase::Cortina | Phase::Durango | Phase::Etna | Phase::Fortuna => {
            format!("{phase:?}")
        }
    });
    let have = stored.history.into_iter().chain(stored.phases);
    let want = new.history.into_iter().chain(new.phases);
    for (name, (have, want)) in history.chain(phases).zip(have.zip(want)) {
        if have != want && (have <= head_time || want <= head_time) {
            let what = format!("{name} fork block timestamp");
            let rewind_to = have.min(want).saturating_sub(1);
            return Err(GenesisError::Schedule { what, have, want, rewind_to });
        }
    }
    Ok(())
}
