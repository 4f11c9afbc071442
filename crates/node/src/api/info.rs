//! `/ext/info`: identity, versions, network and fees.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use esker_chain::{Aliases, Engine, Role};
use esker_http::{Readiness, RouteError, Routes};
use esker_primitives::{ChainId, Id, NodeId, SubnetId, excerpt};
use esker_rpc::handler::quick;
use esker_rpc::wire::{JsonU32, JsonU64};
use esker_rpc::{MethodTable, NoArgs, RpcError, Service};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::facts::{TxFees, UpgradeTimes};
use super::inputs::{BaseInputs, ChainInputs, RunningChain};
use super::time::Timestamp;
use crate::aliases::AliasTable;
use crate::discovery::node_endpoint;
use crate::identity::Identity;

/// Versions of the software.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// Name and version of the node: `esker/0.1.0`.
    pub node: String,
    /// Version of the store's layout.
    pub database: String,
    /// Version of the protocol for virtual machines in separate processes; 0: not supported.
    pub rpc_protocol: u32,
    /// The commit of the build, or empty.
    pub git_commit: String,
    /// Version of each virtual machine by its name.
    pub vms: BTreeMap<String, String>,
}

/// The software: its versions, and the parts that chains can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Software {
    /// Versions.
    pub versions: Versions,
    /// Virtual machines by ID with their names.
    pub vms: Vec<(Id, Vec<String>)>,
    /// Feature extensions by ID, with their names.
    pub fxs: Vec<(Id, String)>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UpgradesReply {
    apricot_phase1_time: Timestamp,
    apricot_phase2_time: Timestamp,
    apricot_phase3_time: Timestamp,
    apricot_phase4_time: Timestamp,
    #[serde(rename = "apricotPhase4MinPChainHeight")]
    apricot_phase4_min_p_chain_height: u64,
    apricot_phase5_time: Timestamp,
    apricot_phase_pre6_time: Timestamp,
    apricot_phase6_time: Timestamp,
    apricot_phase_post6_time: Timestamp,
    banff_time: Timestamp,
    cortina_time: Timestamp,
    #[serde(rename = "cortinaXChainStopVertexID")]
    cortina_x_chain_stop_vertex_id: Id,
    durango_time: Timestamp,
    etna_time: Timestamp,
}

impl From<&UpgradeTimes> for UpgradesReply {
    fn from(times: &UpgradeTimes) -> Self {
        let at = Timestamp::from_s;
        Self {
            apricot_phase1_time: at(times.apricot_phase_1),
            apricot_phase2_time: at(times.apricot_phase_2),
            apricot_phase3_time: at(times.apricot_phase_3),
            apricot_phase4_time: at(times.apricot_phase_4),
            apricot_phase4_min_p_chain_height: times.apricot_phase_4_min_p_chain_height,
            apricot_phase5_time: at(times.apricot_phase_5),
            apricot_phase_pre6_time: at(times.apricot_phase_pre_6),
            apricot_phase6_time: at(times.apricot_phase_6),
            apricot_phase_post6_time: at(times.apricot_phase_post_6),
            banff_time: at(times.banff),
            cortina_time: at(times.cortina),
            cortina_x_chain_stop_vertex_id: times.cortina_x_chain_stop_vertex_id,
            durango_time: at(times.durango),
            etna_time: at(times.etna),
        }
    }
}

/// The `info` service.
pub(crate) struct InfoApi {
    network_id: u32,
    network_name: String,
    fees: TxFees,
    upgrades: UpgradeTimes,
    identity: Arc<Identity>,
    versions: Versions,
    node_ip: SocketAddr,
    vms: Vec<(Id, Vec<String>)>,
    fxs: Vec<(Id, String)>,
    aliases: Arc<AliasTable>,
    chains: Vec<(ChainId, Readiness)>,
    engine: Arc<dyn Engine>,
}

/// Adds `/ext/info`.
pub(super) fn install(
    (base, chains, engine): (&BaseInputs, &ChainInputs, &Arc<dyn Engine>),
    software: Software,
    node_ip: SocketAddr,
    routes: &Routes,
) -> Result<(), RouteError> {
    let chain = |running: &RunningChain| (running.vm.context().chain_id, running.ready.clone());
    let network = &base.network;
    let Software { versions, vms, fxs } = software;
    let api = InfoApi {
        chains: chains.running.iter().map(chain).collect(),
        network_id: network.id,
        network_name: network.name.clone(),
        fees: network.fees,
        upgrades: network.upgrades,
        identity: Arc::clone(&base.identity),
        versions,
        node_ip,
        vms,
        fxs,
        aliases: Arc::clone(&chains.aliases),
        engine: Arc::clone(engine),
    };
    routes.node("info", node_endpoint("info", api.service()))
}

/// The `info` namespace.
pub(crate) fn methods() -> MethodTable<InfoApi> {
    MethodTable::new("info")
        .on("getNetworkID", quick(InfoApi::get_network_id))
        .on("getNetworkName", quick(InfoApi::get_network_name))
        .on("getBlockchainID", quick(InfoApi::get_blockchain_id))
        .on("getNodeVersion", quick(InfoApi::get_node_version))
        .on("getNodeID", quick(InfoApi::get_node_id))
        .on("getNodeIP", quick(InfoApi::get_node_ip))
        .on("isBootstrapped", quick(InfoApi::is_bootstrapped))
        .on("peers", quick(InfoApi::peers))
        .on("uptime", quick(InfoApi::uptime))
        .on("getVMs", quick(InfoApi::get_vms))
        .on("getTxFee", quick(InfoApi::get_tx_fee))
        .on("upgrades", quick(InfoApi::upgrades))
        .on("acps", quick(InfoApi::acps))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct AliasArgs {
    alias: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct ChainArgs {
    chain: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct PeersArgs {
    #[serde(rename = "nodeIDs")]
    node_ids: Option<Vec<NodeIdArg>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct UptimeArgs {
    #[serde(rename = "subnetID")]
    subnet_id: SubnetId,
}

/// A node ID in its text form.
#[derive(Debug)]
struct NodeIdArg(
    #[expect(dead_code, reason = "peers are not named yet: a node alone has none")] NodeId,
);

esker_rpc::schema_as!(NodeIdArg, "NodeId", NodeId);

impl<'de> Deserialize<'de> for NodeIdArg {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct NetworkIdReply {
    #[serde(rename = "networkID")]
    network_id: JsonU32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct NetworkNameReply {
    #[serde(rename = "networkName")]
    network_name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BlockchainIdReply {
    #[serde(rename = "blockchainID")]
    blockchain_id: ChainId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NodeVersionReply {
    version: String,
    database_version: String,
    rpc_protocol_version: JsonU32,
    git_commit: String,
    vm_versions: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct NodeIdReply {
    #[serde(rename = "nodeID")]
    node_id: String,
    #[serde(rename = "nodePOP")]
    node_pop: Possession,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Possession {
    public_key: String,
    proof_of_possession: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct NodeIpReply {
    ip: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct IsBootstrappedReply {
    is_bootstrapped: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PeersReply {
    num_peers: JsonU64,
    peers: Vec<Peer>,
}

/// A peer. A node that decides alone has none.
#[derive(Debug, Serialize, JsonSchema)]
enum Peer {}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UptimeReply {
    rewarding_stake_percentage: &'static str,
    weighted_average_percentage: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct VmsReply {
    vms: BTreeMap<String, Vec<String>>,
    fxs: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TxFeeReply {
    tx_fee: JsonU64,
    create_asset_tx_fee: JsonU64,
    create_subnet_tx_fee: JsonU64,
    transform_subnet_tx_fee: JsonU64,
    create_blockchain_tx_fee: JsonU64,
    add_primary_network_validator_fee: JsonU64,
    add_primary_network_delegator_fee: JsonU64,
    add_subnet_validator_fee: JsonU64,
    add_subnet_delegator_fee: JsonU64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AcpsReply {
    acps: BTreeMap<u32, Acp>,
}

/// The votes on an ACP. A node without peers has none.
#[derive(Debug, Serialize, JsonSchema)]
enum Acp {}

impl InfoApi {
    pub(crate) fn service(self) -> Service {
        methods().bind(Arc::new(self))
    }

    fn get_network_id(&self, _: NoArgs) -> Result<NetworkIdReply, RpcError> {
        Ok(NetworkIdReply { network_id: JsonU32(self.network_id) })
    }

    fn get_network_name(&self, _: NoArgs) -> Result<NetworkNameReply, RpcError> {
        Ok(NetworkNameReply { network_name: self.network_name.clone() })
    }

    fn get_blockchain_id(&self, args: AliasArgs) -> Result<BlockchainIdReply, RpcError> {
        let blockchain_id = self.aliases.lookup(&args.alias).ok_or_else(|| {
            RpcError::new(format!("there is no ID with alias: {}", excerpt(&args.alias)))
        })?;
        Ok(BlockchainIdReply { blockchain_id })
    }

    fn get_node_version(&self, _: NoArgs) -> Result<NodeVersionReply, RpcError> {
        let versions = self.versions.clone();
        Ok(NodeVersionReply {
            version: versions.node,
            database_version: versions.database,
            rpc_protocol_version: JsonU32(versions.rpc_protocol),
            git_commit: versions.git_commit,
            vm_versions: versions.vms,
        })
    }

    fn get_node_id(&self, _: NoArgs) -> Result<NodeIdReply, RpcError> {
        let hex = |bytes: &[u8]| format!("0x{}", hex::encode(bytes));
        Ok(NodeIdReply {
            node_id: self.identity.node_id().to_string(),
            node_pop: Possession {
                public_key: hex(&self.identity.bls_public_key()),
                proof_of_possession: hex(&self.identity.proof_of_possession()),
            },
        })
    }

    fn get_node_ip(&self, _: NoArgs) -> Result<NodeIpReply, RpcError> {
        Ok(NodeIpReply { ip: self.node_ip.to_string() })
    }

    fn is_bootstrapped(&self, args: ChainArgs) -> Result<IsBootstrappedReply, RpcError> {
        let name = args.chain;
        if name.is_empty() {
            return Err(RpcError::new("argument 'chain' not given"));
        }
        let chain = self.aliases.lookup(&name).ok_or_else(|| {
            RpcError::new(format!("there is no chain with alias/ID '{}'", excerpt(&name)))
        })?;
        let running = self.chains.iter().find(|(id, _)| *id == chain);
        // The P-Chain has no blocks here and is always bootstrapped. A chain that this node does not run never is.
        let is_bootstrapped = running.map_or(chain == ChainId::ZERO, |(_, ready)| ready.is_ready());
        Ok(IsBootstrappedReply { is_bootstrapped })
    }

    fn peers(&self, _: PeersArgs) -> Result<PeersReply, RpcError> {
        let status = self.engine.status();
        // A follower's source is no peer of the network; the status and the health report have it.
        let num_peers = match status.role {
            Role::Follower => 0,
            Role::Solo | Role::Validator => status.peers as u64,
        };
        Ok(PeersReply { num_peers: JsonU64(num_peers), peers: Vec::new() })
    }

    fn uptime(&self, args: UptimeArgs) -> Result<UptimeReply, RpcError> {
        if args.subnet_id != SubnetId::ZERO {
            return Err(RpcError::new("subnet is not tracked"));
        }
        // The share of the stake that observed this node. A node that is alone always observes itself.
        Ok(UptimeReply {
            rewarding_stake_percentage: "100.0000",
            weighted_average_percentage: "100.0000",
        })
    }

    fn get_vms(&self, _: NoArgs) -> Result<VmsReply, RpcError> {
        Ok(VmsReply {
            vms: self.vms.iter().map(|(id, names)| (id.to_string(), names.clone())).collect(),
            fxs: self.fxs.iter().map(|(id, name)| (id.to_string(), name.clone())).collect(),
        })
    }

    fn get_tx_fee(&self, _: NoArgs) -> Result<TxFeeReply, RpcError> {
        let fees = &self.fees;
        Ok(TxFeeReply {
            tx_fee: JsonU64(fees.tx),
            create_asset_tx_fee: JsonU64(fees.create_asset),
            create_subnet_tx_fee: JsonU64(fees.create_subnet),
            transform_subnet_tx_fee: JsonU64(fees.transform_subnet),
            create_blockchain_tx_fee: JsonU64(fees.create_blockchain),
            add_primary_network_validator_fee: JsonU64(fees.add_primary_network_validator),
            add_primary_network_delegator_fee: JsonU64(fees.add_primary_network_delegator),
            add_subnet_validator_fee: JsonU64(fees.add_subnet_validator),
            add_subnet_delegator_fee: JsonU64(fees.add_subnet_delegator),
        })
    }

    fn upgrades(&self, _: NoArgs) -> Result<UpgradesReply, RpcError> {
        Ok(UpgradesReply::from(&self.upgrades))
    }

    fn acps(&self, _: NoArgs) -> Result<AcpsReply, RpcError> {
        Ok(AcpsReply { acps: BTreeMap::new() })
    }
}
