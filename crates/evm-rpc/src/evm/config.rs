//! `config`: what the chain's forks bring (EIP-7910; docs/decisions.md, "Further standard methods").

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256, hex};
use esker_evm_execution::rules::{ForkConfig, ForkConfigs, Rules};
use esker_evm_state::types::{Header, SealedHeader};
use esker_rpc::RpcError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::{Addr, Big};

/// The current, the next and the last fork.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConfigReply {
    current: ForkReply,
    next: Option<ForkReply>,
    last: Option<ForkReply>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ForkReply {
    /// Unix s; 0 if the fork is active from genesis on.
    activation_time: u64,
    /// Null before blobs.
    blob_schedule: Option<BlobSchedule>,
    chain_id: Big,
    fork_id: String,
    precompiles: BTreeMap<&'static str, Addr>,
    system_contracts: BTreeMap<&'static str, Addr>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BlobSchedule {
    target: u64,
    max: u64,
    base_fee_update_fraction: u64,
}

pub(super) fn config(reads: &ReadApi, (): ()) -> Result<ConfigReply, RpcError> {
    let head = reads.chain.head();
    // Of a forked chain the block on which it began is the first one here.
    let first = match reads.chain.ensure_in_history(0, 0) {
        Ok(()) => reads.chain.genesis_number(),
        Err(_) => reads.chain.first_block().saturating_sub(1),
    };
    let first = reads.chain.header_at(first).map_err(read_error)?.unwrap_or_else(|| head.clone());
    let chain_id = reads.chain.chain_id().map_err(read_error)?;
    Ok(config_at(reads.chain.rules(), chain_id, &first, &head.header))
}

/// The forks around a block.
fn config_at(
    rules: &dyn Rules,
    chain_id: u64,
    genesis: &SealedHeader,
    head: &Header,
) -> ConfigReply {
    let ForkConfigs { current, next, last } = rules.forks(genesis, head);
    let fork = |config: ForkConfig| fork(chain_id, config);
    ConfigReply { current: fork(current), next: next.map(fork), last: last.map(fork) }
}

fn fork(chain_id: u64, config: ForkConfig) -> ForkReply {
    let named = |all: Vec<(&'static str, Address)>| {
        all.into_iter().map(|(name, address)| (name, Addr(address))).collect()
    };
    let blob_schedule = config.blobs.map(|limits| BlobSchedule {
        target: limits.target,
        max: limits.max,
        base_fee_update_fraction: limits.update_fraction,
    });
    ForkReply {
        activation_time: config.activation_time,
        blob_schedule,
        chain_id: Big(U256::from(chain_id)),
        fork_id: hex::encode_prefixed(config.fork_hash),
        precompiles: named(config.precompiles),
        system_contracts: named(config.system_contracts),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, b256};
    use esker_evm_execution::rules::{CChainRules, FeeOverrides, ForkSchedule};
    use serde_json::{Value, json};

    use super::*;

    /// The main network's genesis block.
    const MAIN: B256 = b256!("0x31ced5b9beb7f8782b014660da0cb18cc409f121f408186886e1ca3e8eeca96b");

    fn config_of(schedule: ForkSchedule, genesis_time: u64, now: u64) -> Value {
        let rules = CChainRules::new(43114, schedule, FeeOverrides::default());
        let header = Header { time: genesis_time, ..Header::default() };
        let genesis = SealedHeader { header, hash: MAIN };
        let head = Header { time: now, ..Header::default() };
        serde_json::to_value(config_at(&rules, rules.chain_id(), &genesis, &head)).unwrap()
    }

    #[test]
    fn forks_come_one_after_the_other() {
        let config = config_of(ForkSchedule::MAIN, 0, 1_720_000_000);
        let time = |at: &str| config[at]["activationTime"].as_u64().unwrap();
        assert_eq!((time("current"), time("next")), (1_709_740_800, 1_734_368_400));
        assert_eq!(time("last"), 1_744_124_400);
        let has = |at: &str, name: &str| !config[at]["precompiles"][name].is_null();
        assert!(has("current", "WARP") && !has("current", "KZG_POINT_EVALUATION"));
        assert!(has("next", "KZG_POINT_EVALUATION") && !has("next", "NATIVE_ASSET_CALL"));
        assert_eq!(config["current"]["systemContracts"], json!({}));
        assert_eq!(
            config["next"]["systemContracts"],
            json!({"BEACON_ROOTS_ADDRESS": "0x000f3df6d732807ef1319fb7b8bb8522d0beac02"})
        );
        let ids = ["current", "next", "last"].map(|at| config[at]["forkId"].clone());
        assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
        // The genesis of the main network comes before everything that this software runs.
        let config = config_of(ForkSchedule::MAIN, 0, 0);
        let current = &config["current"];
        assert_eq!(
            (&current["activationTime"], &current["forkId"]),
            (&json!(0), &json!("0x718d5635"))
        );
        assert_eq!(config["next"]["activationTime"], 1_617_199_200);
        assert_eq!(current["precompiles"].as_object().unwrap().len(), 9);
    }

    #[test]
    fn what_holds_from_genesis_on_is_one_fork() {
        let time = 1_607_144_400;
        let config = config_of(ForkSchedule::LOCAL, time, time + 1);
        assert_eq!(
            config,
            json!({
                "current": {
                    "activationTime": 0,
                    "blobSchedule": {"target": 0, "max": 0, "baseFeeUpdateFraction": 3_338_477},
                    "chainId": "0xa86a",
                    "forkId": "0x718d5635",
                    "precompiles": {
                        "ECREC": "0x0000000000000000000000000000000000000001",
                        "SHA256": "0x0000000000000000000000000000000000000002",
                        "RIPEMD160": "0x0000000000000000000000000000000000000003",
                        "ID": "0x0000000000000000000000000000000000000004",
                        "MODEXP": "0x0000000000000000000000000000000000000005",
                        "BN254_ADD": "0x0000000000000000000000000000000000000006",
                        "BN254_MUL": "0x0000000000000000000000000000000000000007",
                        "BN254_PAIRING": "0x0000000000000000000000000000000000000008",
                        "BLAKE2F": "0x0000000000000000000000000000000000000009",
                        "KZG_POINT_EVALUATION": "0x000000000000000000000000000000000000000a",
                        "WARP": "0x0200000000000000000000000000000000000005",
                    },
                    "systemContracts": {
                        "BEACON_ROOTS_ADDRESS": "0x000f3df6d732807ef1319fb7b8bb8522d0beac02",
                    },
                },
                "next": null,
                "last": null,
            })
        );
    }
}
