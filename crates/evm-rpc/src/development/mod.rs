//! `anvil`, `hardhat` and their part of `evm`: what tools ask a development node about itself, and how they control it,
//! in the forms of those two (docs/decisions.md, "Tools made for anvil").
//!
//! Only development networks have these methods (`esker dev`, `esker evm`, `esker anvil`); no service of the list
//! `eth-apis` switches them on.

mod blobs;
mod chain;
mod compilation;
mod header;
mod impersonation;
mod mining;
mod numbers;
mod other_names;
mod reorg;
mod reset;
mod snapshots;
mod source;
mod state;
mod state_file;
mod time;
mod tokens;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::B256;
use esker_evm::chain::Evm;
use esker_evm::control::{ControlError, Controls, Snapshots};
use esker_evm::fork_point::ForkPoint;
use esker_evm::runs::MadeBlocks;
use esker_evm_execution::rules::Revision;
use esker_rpc::handler::{
    blocking, quick, restartable, restartable_then, waits, waits_with_caller, waits_with_notes,
};
use esker_rpc::{CallNotes, MethodTable, RpcError, Service, cost};
use schemars::JsonSchema;
use serde::Serialize;

pub use self::reset::{ResetPort, ResetRequest, ResetTarget};
pub use self::source::ForkSource;
pub use self::state_file::{StateFileError, StateLoads, check_dump_file};
use crate::error::read_error;
use crate::evm::TransactApi;
use crate::wire::{Big, Hash, Uint64};

/// The state of the methods besides the chain.
#[derive(Debug)]
pub struct DevelopmentNode {
    /// The chain and its fees.
    pub transact: Arc<TransactApi>,
    /// The chain, with controls.
    pub chain: Arc<Evm>,
    /// Snapshots of all chains of the node.
    pub snapshots: Arc<Snapshots>,
    /// The source of a forked chain.
    pub fork_source: Option<Arc<dyn ForkSource>>,
    /// Resets to other chains.
    pub resets: ResetPort,
    /// Loads one state at a time.
    pub state_loads: StateLoads,
    /// The time limit of a request that makes blocks.
    pub mining_patience: Duration,
    /// Whether numbers of `evm_setIntervalMining` are milliseconds, as Hardhat's, and not seconds.
    pub interval_in_ms: bool,
    /// Version of the node, without its name.
    pub version: &'static str,
    /// A new value in each run.
    pub instance_id: B256,
}

impl DevelopmentNode {
    fn controls(&self) -> Result<&Arc<Controls>, RpcError> {
        self.chain.controls().ok_or(ControlError::Followed).map_err(refused)
    }

    /// Whether answers are those of Hardhat's node.
    fn has_hardhat_answers(&self) -> bool {
        self.transact.reads.config.hardhat_answers
    }

    /// The reply of a control that is done.
    fn done(&self) -> Done {
        Done(self.has_hardhat_answers().then_some(true))
    }

    /// The controls, for what needs a later write.
    fn controls_to_write(&self) -> Result<&Arc<Controls>, RpcError> {
        let controls = self.controls()?;
        self.chain.ensure_writable().map_err(refused)?;
        Ok(controls)
    }

    /// Notes that the call has made blocks up to the last one.
    fn note_blocks(&self, notes: &CallNotes) {
        if notes.are_wanted() {
            notes.set(MadeBlocks(self.transact.reads.chain.head().header.number));
        }
    }

    /// Time of the last block of any chain of the node, Unix s.
    fn last_time_s(&self) -> Result<u64, RpcError> {
        self.chain.last_time_s().map_err(read_error)
    }
}

/// The reply of a control that is done: null as anvil's, or true as Hardhat's.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
struct Done(Option<bool>);

/// The methods of the three namespaces, two of `debug`, and the names of further tools.
pub fn development_methods(node: &Arc<DevelopmentNode>) -> Service {
    let anvil = both(MethodTable::new("anvil"))
        .on_list("nodeInfo", quick(node_info))
        .on_list("metadata", quick(anvil_metadata))
        .on_list("mine", waits_with_notes(mining::mine))
        .params(&["blocks", "interval"])
        .on_list("getAutomine", quick(mining::get_automine))
        .on_list("getIntervalMining", quick(mining::get_interval_mining))
        .on_list("dropTransaction", quick(mining::anvil_drop))
        .params(&["hash"])
        .on_list("dropAllTransactions", quick(mining::drop_all))
        .on_list("removePoolTransactions", quick(mining::remove_pool_transactions))
        .params(&["address"])
        .on_list("getGenesisTime", quick(chain::genesis_time))
        .on_list("getBlobByHash", blocking(blobs::by_hash))
        .params(&["hash"])
        .cost(cost::LARGE_READ)
        .on_list("getBlobsByTransactionHash", blocking(blobs::by_transaction))
        .params(&["hash"])
        .cost(cost::LARGE_READ)
        .on_list("setLoggingEnabled", waits_with_notes(time::set_logging))
        .params(&["enabled"])
        .on_list("dumpState", restartable(state_file::dump))
        .params(&["history"])
        .cost(cost::HEAVY)
        .on_list("loadState", waits(state_file::load))
        .params(&["state"])
        .on_list("enableTraces", waits(header::enable_traces))
        .on_list("setNextBlockBaseFeePerGas", quick(header::set_base_fee))
        .params(&["wei"])
        .on_list("setMinGasPrice", quick(header::set_min_gas_price))
        .params(&["wei"])
        .on_list("setCoinbase", quick(header::set_coinbase))
        .params(&["address"])
        .on_list("setPrevRandao", quick(header::set_random))
        .params(&["value"])
        .on_list("setNextBlockPrevRandao", quick(header::set_random))
        .params(&["value"])
        .on_list("setNextBlockParentBeaconBlockRoot", quick(header::set_beacon_root))
        .params(&["root"])
        .on_list("setRpcUrl", waits_with_caller(source::set_rpc_url))
        .params(&["url"])
        .on_list("reset", waits_with_caller(reset::reset))
        .params(&["options"])
        .on_list("rollback", waits(snapshots::rollback))
        .params(&["blocks"])
        .on_list("reorg", waits(reorg::reorg))
        .params(&["depth", "transactions"])
        .on_list("dealERC20", waits(tokens::deal))
        .params(&["address", "token", "units"])
        .also_named("setERC20Balance")
        .on_list("setERC20Allowance", waits(tokens::set_allowance))
        .params(&["owner", "spender", "token", "units"])
        .on_list("setBalance", waits_with_notes(state::set_balance))
        .params(&["address", "wei"])
        .on_list("addBalance", waits_with_notes(state::add_balance))
        .params(&["address", "wei"])
        .on_list("setNonce", waits_with_notes(state::set_nonce))
        .params(&["address", "nonce"])
        .on_list("setCode", waits_with_notes(state::set_code))
        .params(&["address", "code"])
        .on_list("setStorageAt", waits_with_notes(state::set_storage_at))
        .params(&["address", "slot", "value"])
        .on_list("impersonateAccount", quick(impersonation::impersonate))
        .params(&["address"])
        .on_list("stopImpersonatingAccount", quick(impersonation::stop))
        .params(&["address"])
        .on_list("autoImpersonateAccount", quick(impersonation::auto))
        .params(&["enabled"])
        .on_list("setChainId", waits_with_notes(values::set_chain_id))
        .params(&["chainId"])
        .on_list("impersonateSignature", waits_with_notes(values::impersonate_signature))
        .params(&["signature", "address"])
        .bind(Arc::clone(node));
    let standard = MethodTable::new("evm")
        .alias("eth")
        .on_list("protocolVersion", quick(chain::protocol_version))
        .on_list("hashrate", quick(chain::hashrate))
        .on_list("mining", quick(chain::mining))
        .on_list("networkId", quick(chain::network_id))
        .on_list("sendUnsignedTransaction", restartable_then(impersonation::send_unsigned))
        .params(&["transaction"])
        .bind(Arc::clone(node));
    let evm = both(MethodTable::new("evm"))
        .on_list("mine", waits_with_notes(mining::evm_mine))
        .params(&["options"])
        .on_list("setAccountNonce", waits_with_notes(state::set_nonce))
        .params(&["address", "nonce"])
        .bind(Arc::clone(node));
    // `setHead` is go-ethereum's, `clearTxpool` reth's and anvil's.
    let debug = MethodTable::new("debug")
        .on_list("setHead", waits(snapshots::set_head))
        .params(&["number"])
        .on_list("clearTxpool", quick(mining::drop_all))
        .bind(Arc::clone(node));
    anvil.merge(&other_names::methods(node)).merge(&evm).merge(&standard).merge(&debug)
}

/// The methods that have the names of both `anvil` and `evm`.
fn both(table: MethodTable<DevelopmentNode>) -> MethodTable<DevelopmentNode> {
    table
        .on_list("setAutomine", quick(mining::set_automine))
        .params(&["enabled"])
        .on_list("setIntervalMining", waits(mining::set_interval_mining))
        .params(&["seconds"])
        .on_list("setBlockGasLimit", quick(header::set_gas_limit))
        .params(&["gas"])
        .on_list("increaseTime", waits(time::increase_time))
        .params(&["seconds"])
        .on_list("setTime", waits(time::set_time))
        .params(&["timestamp"])
        .on_list("setNextBlockTimestamp", waits(time::set_next_time))
        .params(&["timestamp"])
        .on_list("setBlockTimestampInterval", waits(time::set_interval))
        .params(&["seconds"])
        .on_list("mine_detailed", waits_with_notes(mining::mine_detailed))
        .params(&["options"])
        .cost(cost::HEAVY)
        .on_list("removeBlockTimestampInterval", waits(time::remove_interval))
        .on_list("snapshot", waits(snapshots::take))
        .on_list("revert", waits(snapshots::revert))
        .params(&["id"])
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NodeInfoReply {
    current_block_number: Uint64,
    /// Unix s.
    current_block_timestamp: u64,
    current_block_hash: Hash,
    hard_fork: &'static str,
    transaction_order: &'static str,
    environment: Environment,
    fork_config: ForkConfig,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Environment {
    base_fee: Big,
    chain_id: u64,
    gas_limit: Uint64,
    gas_price: Big,
}

/// The forked chain, if there is one.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ForkConfig {
    fork_url: Option<String>,
    fork_block_number: Option<u64>,
    /// Milliseconds.
    fork_retry_backoff: Option<u64>,
}

/// The wait before the first retry of a request to the source of a fork, ms.
const FORK_RETRY_BACKOFF: u64 = 250;

impl ForkConfig {
    fn of(fork: &ForkPoint, source: Option<&Arc<dyn ForkSource>>) -> Self {
        Self {
            fork_url: source.and_then(|source| source.url()),
            fork_block_number: Some(fork.header.header.number),
            fork_retry_backoff: Some(FORK_RETRY_BACKOFF),
        }
    }
}

/// The forked chain, and the block.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ForkedNetwork {
    chain_id: u64,
    fork_block_number: u64,
    fork_block_hash: Hash,
}

impl ForkedNetwork {
    fn of(fork: &ForkPoint) -> Self {
        Self {
            chain_id: fork.chain_id,
            fork_block_number: fork.header.header.number,
            fork_block_hash: Hash(fork.header.hash),
        }
    }
}

/// The name of a revision, as anvil shows it.
const fn hard_fork(revision: Revision) -> &'static str {
    match revision {
        Revision::Frontier => "Frontier",
        Revision::Homestead => "Homestead",
        Revision::TangerineWhistle => "Tangerine",
        Revision::SpuriousDragon => "Spurious Dragon",
        Revision::Byzantium => "Byzantium",
        Revision::Constantinople => "Constantinople",
        Revision::Petersburg => "Petersburg",
        Revision::Istanbul => "Istanbul",
        Revision::Berlin => "Berlin",
        Revision::London => "London",
        Revision::Paris => "Paris",
        Revision::Shanghai => "Shanghai",
        Revision::Cancun => "Cancun",
        Revision::Prague => "Prague",
        Revision::Osaka => "Osaka",
    }
}

/// The state of the chain, and the properties of the next block.
fn node_info(node: &DevelopmentNode, (): ()) -> Result<NodeInfoReply, RpcError> {
    let TransactApi { reads, clock, .. } = &*node.transact;
    let (head, rules) = (reads.chain.head(), reads.chain.rules());
    let fees = node.transact.suggested()?;
    let time = rules.child_time(&head.header, clock.now_s());
    let terms = rules.next_terms(&head.header, time).map_err(refused)?;
    let by_arrival = node.chain.pool().config().by_arrival;
    let fork = node.chain.fork();
    let fork_config = fork.map(|fork| ForkConfig::of(fork, node.fork_source.as_ref()));
    Ok(NodeInfoReply {
        current_block_number: Uint64(head.header.number),
        current_block_timestamp: head.header.time,
        current_block_hash: Hash(head.hash),
        hard_fork: hard_fork(terms.execution.revision),
        transaction_order: if by_arrival { "fifo" } else { "fees" },
        environment: Environment {
            base_fee: Big(terms.base_fee),
            chain_id: reads.chain.chain_id().map_err(read_error)?,
            gas_limit: Uint64(terms.gas_limit),
            gas_price: Big(fees.gas_price()),
        },
        fork_config: fork_config.unwrap_or_default(),
    })
}

fn refused(error: impl std::fmt::Display) -> RpcError {
    RpcError::new(error.to_string())
}

/// Hardhat's form. Without a forked chain the member about it is missing.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HardhatMetadata {
    client_version: String,
    chain_id: u64,
    instance_id: Hash,
    latest_block_number: u64,
    latest_block_hash: Hash,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_network: Option<ForkedNetwork>,
}

fn hardhat_metadata(node: &DevelopmentNode, (): ()) -> Result<HardhatMetadata, RpcError> {
    let reads = &node.transact.reads;
    let head = reads.chain.head();
    Ok(HardhatMetadata {
        client_version: reads.config.client_version.clone(),
        chain_id: reads.chain.chain_id().map_err(read_error)?,
        instance_id: Hash(node.instance_id),
        latest_block_number: head.header.number,
        latest_block_hash: Hash(head.hash),
        forked_network: node.chain.fork().map(ForkedNetwork::of),
    })
}

/// Anvil's form.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AnvilMetadata {
    client_version: String,
    client_semver: &'static str,
    client_commit_sha: Option<()>,
    chain_id: u64,
    instance_id: Hash,
    latest_block_number: u64,
    latest_block_hash: Hash,
    forked_network: Option<ForkedNetwork>,
    /// By ID: height and hash of the last block.
    snapshots: BTreeMap<String, (u64, Hash)>,
}

fn anvil_metadata(node: &DevelopmentNode, (): ()) -> Result<AnvilMetadata, RpcError> {
    let HardhatMetadata {
        client_version,
        chain_id,
        instance_id,
        latest_block_number,
        latest_block_hash,
        forked_network,
    } = hardhat_metadata(node, ())?;
    Ok(AnvilMetadata {
        client_version,
        client_semver: node.version,
        client_commit_sha: None,
        chain_id,
        instance_id,
        latest_block_number,
        latest_block_hash,
        forked_network,
        snapshots: snapshots::list(node),
    })
}
