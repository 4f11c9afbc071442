//! `/ext/bc/P`: the P-Chain methods that client libraries call first (docs/decisions.md, "P-Chain as a peer").
//!
//! The P-Chain has no blocks here. Its replies come from the network's definition, and for exports of other chains
//! from shared memory. Its height is always that of the genesis.

mod staking;
mod utxos;

use std::collections::BTreeSet;
use std::sync::Arc;

use esker_chain::Aliases;
use esker_http::{Readiness, RouteError, Routes};
use esker_primitives::clock::Clock;
use esker_primitives::{AssetId, ChainId, Id, SubnetId, TxId, go};
use esker_rpc::handler::{blocking, quick};
use esker_rpc::wire::{JsonU32, JsonU64};
use esker_rpc::{MethodTable, NoArgs, RpcError, Service, cost};
use esker_storage::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::utxos::LocalUtxos;
use super::facts::FeeConfig;
use super::inputs::{BaseInputs, ChainInputs};
use super::time::Timestamp;
use super::{Blockchain, NetworkFacts};
use crate::aliases::AliasTable;
use crate::discovery::chain_endpoint;

/// The P-Chain's ID.
const P_CHAIN: ChainId = ChainId::ZERO;
/// The primary network's subnet.
const PRIMARY: SubnetId = SubnetId::ZERO;

/// The `platform` service.
pub(crate) struct PlatformApi {
    network: NetworkFacts,
    local: LocalUtxos,
    aliases: Arc<AliasTable>,
    /// The running chains.
    running: BTreeSet<ChainId>,
    store: Store,
    clock: Arc<dyn Clock>,
}

/// Adds `/ext/bc/P` under all aliases of the P-Chain.
pub(super) fn install(
    base: &BaseInputs,
    chains: &ChainInputs,
    routes: &Routes,
) -> Result<(), RouteError> {
    let api = PlatformApi {
        local: LocalUtxos::new(&base.network.platform_utxos),
        network: base.network.clone(),
        aliases: Arc::clone(&chains.aliases),
        running: chains.running.iter().map(|chain| chain.vm.context().chain_id).collect(),
        store: base.store.clone(),
        clock: Arc::clone(&base.clock),
    };
    let endpoint = ("", chain_endpoint(super::P_CHAIN, "", api.service()));
    routes.chain(&P_CHAIN, &chains.aliases.aliases(&P_CHAIN), vec![endpoint], &Readiness::ready())
}

/// The `platform` namespace.
pub(crate) fn methods() -> MethodTable<PlatformApi> {
    MethodTable::new("platform")
        .on("getHeight", quick(PlatformApi::get_height))
        .on("getTimestamp", quick(PlatformApi::get_timestamp))
        .on("getFeeConfig", quick(PlatformApi::get_fee_config))
        .on("getFeeState", quick(PlatformApi::get_fee_state))
        .on("getMinStake", quick(PlatformApi::get_min_stake))
        .on("getStakingAssetID", quick(PlatformApi::get_staking_asset_id))
        .on("getBlockchains", quick(PlatformApi::get_blockchains))
        .on("getBlockchainStatus", quick(PlatformApi::get_blockchain_status))
        .on("validatedBy", quick(PlatformApi::validated_by))
        .on("validates", quick(PlatformApi::validates))
        .on("getSubnets", quick(PlatformApi::get_subnets))
        .on("getTxStatus", quick(PlatformApi::get_tx_status))
        .on("getCurrentValidators", quick(PlatformApi::get_current_validators))
        .on("getCurrentSupply", blocking(PlatformApi::get_current_supply))
        .cost(cost::SEARCH)
        .on("getValidatorsAt", quick(PlatformApi::get_validators_at))
        .on("issueTx", blocking(PlatformApi::issue_tx))
        .cost(cost::SEND)
        .on("getBalance", quick(PlatformApi::get_balance))
        .cost(cost::SEARCH)
        .on("getUTXOs", blocking(PlatformApi::get_utxos))
        .cost(cost::CALL)
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct SubnetArgs {
    #[serde(rename = "subnetID")]
    subnet_id: SubnetId,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct SubnetsArgs {
    ids: Option<Vec<SubnetId>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct BlockchainArgs {
    #[serde(rename = "blockchainID")]
    blockchain_id: ChainId,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct BlockchainTextArgs {
    #[serde(rename = "blockchainID")]
    blockchain_id: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct TxArgs {
    #[serde(rename = "txID")]
    tx_id: TxId,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HeightReply {
    height: JsonU64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TimestampReply {
    timestamp: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FeeStateReply {
    capacity: u64,
    excess: u64,
    price: u64,
    timestamp: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MinStakeReply {
    min_validator_stake: JsonU64,
    min_delegator_stake: JsonU64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StakingAssetReply {
    #[serde(rename = "assetID")]
    asset_id: AssetId,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BlockchainsReply {
    blockchains: Vec<ShownBlockchain>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ShownBlockchain {
    id: ChainId,
    name: String,
    #[serde(rename = "subnetID")]
    subnet_id: SubnetId,
    #[serde(rename = "vmID")]
    vm_id: Id,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StatusReply {
    status: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ValidatedByReply {
    #[serde(rename = "subnetID")]
    subnet_id: SubnetId,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ValidatesReply {
    #[serde(rename = "blockchainIDs")]
    blockchain_ids: Vec<ChainId>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SubnetsReply {
    /// `null` if none of the requested subnets is known.
    subnets: Option<Vec<ShownSubnet>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShownSubnet {
    id: SubnetId,
    control_keys: [String; 0],
    threshold: JsonU32,
}

impl PlatformApi {
    pub(crate) fn service(self) -> Service {
        methods().bind(Arc::new(self))
    }

    fn get_height(&self, _: NoArgs) -> Result<HeightReply, RpcError> {
        Ok(HeightReply { height: JsonU64(0) })
    }

    fn get_timestamp(&self, _: NoArgs) -> Result<TimestampReply, RpcError> {
        Ok(TimestampReply { timestamp: self.chain_time() })
    }

    fn get_fee_config(&self, _: NoArgs) -> Result<FeeConfig, RpcError> {
        let etna = self.clock.now_s() >= self.network.upgrades.etna;
        Ok(if etna { self.network.fee_config } else { FeeConfig::default() })
    }

    fn get_fee_state(&self, _: NoArgs) -> Result<FeeStateReply, RpcError> {
        // The price if there are no transactions.
        let price = self.network.fee_config.min_price;
        Ok(FeeStateReply { capacity: 0, excess: 0, price, timestamp: self.chain_time() })
    }

    fn get_min_stake(&self, args: SubnetArgs) -> Result<MinStakeReply, RpcError> {
        only_primary(&args.subnet_id)?;
        Ok(MinStakeReply {
            min_validator_stake: JsonU64(self.network.min_stake.validator),
            min_delegator_stake: JsonU64(self.network.min_stake.delegator),
        })
    }

    fn get_staking_asset_id(&self, args: SubnetArgs) -> Result<StakingAssetReply, RpcError> {
        only_primary(&args.subnet_id)?;
        Ok(StakingAssetReply { asset_id: self.network.native_asset_id })
    }

    fn get_blockchains(&self, _: NoArgs) -> Result<BlockchainsReply, RpcError> {
        let shown = |chain: &Blockchain| ShownBlockchain {
            id: chain.id,
            name: chain.name.clone(),
            subnet_id: chain.subnet_id,
            vm_id: chain.vm_id,
        };
        Ok(BlockchainsReply { blockchains: self.network.blockchains.iter().map(shown).collect() })
    }

    fn get_blockchain_status(&self, args: BlockchainTextArgs) -> Result<StatusReply, RpcError> {
        let text = args.blockchain_id;
        if text.is_empty() {
            return Err(RpcError::new("argument 'blockchainID' not given"));
        }
        let id = match self.aliases.lookup(&text) {
            Some(id) => id,
            None => text.parse().map_err(|error| {
                RpcError::new(format!("problem parsing blockchainID {}: {error}", go::quote(&text)))
            })?,
        };
        let status = if self.running.contains(&id) {
            "Validating"
        } else if id == P_CHAIN {
            // No transaction created it, so the reference finds no validated subnet.
            "Syncing"
        } else if self.blockchain(&id).is_some() {
            "Created"
        } else {
            "Unknown"
        };
        Ok(StatusReply { status })
    }

    fn validated_by(&self, args: BlockchainArgs) -> Result<ValidatedByReply, RpcError> {
        let id = args.blockchain_id;
        // The P-Chain, which is also the default, belongs to the primary network.
        if id == P_CHAIN {
            return Ok(ValidatedByReply { subnet_id: PRIMARY });
        }
        let chain = self.blockchain(&id).ok_or_else(|| {
            RpcError::new(format!("problem retrieving blockchain \"{id}\": not found"))
        })?;
        Ok(ValidatedByReply { subnet_id: chain.subnet_id })
    }

    fn validates(&self, args: SubnetArgs) -> Result<ValidatesReply, RpcError> {
        let subnet = args.subnet_id;
        if subnet != PRIMARY {
            let text = format!("problem retrieving subnet \"{subnet}\": not found");
            return Err(RpcError::new(text));
        }
        let chains = self.network.blockchains.iter().filter(|chain| chain.subnet_id == subnet);
        Ok(ValidatesReply { blockchain_ids: chains.map(|chain| chain.id).collect() })
    }

    fn get_subnets(&self, args: SubnetsArgs) -> Result<SubnetsReply, RpcError> {
        // The primary network is the only subnet. It has no control keys.
        let asked = args.ids.unwrap_or_default();
        let shown = asked.is_empty() || asked.contains(&PRIMARY);
        let primary = ShownSubnet { id: PRIMARY, control_keys: [], threshold: JsonU32(0) };
        Ok(SubnetsReply { subnets: shown.then(|| vec![primary]) })
    }

    fn get_tx_status(&self, args: TxArgs) -> Result<StatusReply, RpcError> {
        // All transactions are those of the genesis, which created the blockchains.
        let known = self.blockchain(&args.tx_id).is_some();
        Ok(StatusReply { status: if known { "Committed" } else { "Unknown" } })
    }

    fn blockchain(&self, id: &ChainId) -> Option<&Blockchain> {
        self.network.blockchains.iter().find(|chain| chain.id == *id)
    }

    /// Timestamp of the last block, which is the genesis.
    fn chain_time(&self) -> Timestamp {
        Timestamp::from_s(self.network.start_time_s)
    }
}

fn only_primary(subnet: &SubnetId) -> Result<(), RpcError> {
    if *subnet == PRIMARY {
        return Ok(());
    }
    Err(RpcError::new(format!("failed fetching subnet transformation for {subnet}: not found")))
}
