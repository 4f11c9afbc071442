//! `executionWitness`: what a block needs of the state before it.

use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm_execution::witness::{Witness, WitnessEnv, WitnessError, block_witness};
use esker_evm_state::types::{SealedBlock, SealedHeader};
use esker_rpc::handler::restartable;
use esker_rpc::{CallContext, MethodTable, RpcError, Service, cost};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::read_error;
use crate::evm::TransactApi;
use crate::evm::replayed::{block_of, parent_of, state_error};
use crate::evm::running::Hashes;
use crate::wire::{BlockNumberOrHash, Data, Hash};

/// Most headers of a reply: the hashes that code can read.
const MAX_HEADERS: u64 = 256;

/// The methods, of the service `debug-tracer`, since each runs a block.
pub fn witness_methods(transact: &Arc<TransactApi>) -> Service {
    MethodTable::new("debug")
        .on_list("executionWitness", restartable(execution_witness))
        .params(&["block"])
        .cost(cost::HEAVY)
        .on_list("executionWitnessByBlockHash", restartable(execution_witness_by_hash))
        .params(&["hash"])
        .cost(cost::HEAVY)
        .bind(Arc::clone(transact))
}

/// What a block needs of the state before it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WitnessReply {
    /// RLP of the nodes of all tries.
    state: Vec<Data>,
    /// The codes.
    codes: Vec<Data>,
    /// The addresses, and after each its slots.
    keys: Vec<Data>,
    /// RLP of the headers before the block, from the oldest one whose hash was read, the parent's last.
    headers: Vec<Data>,
}

fn execution_witness(
    transact: &TransactApi,
    (at,): (BlockNumberOrHash,),
    context: &CallContext,
) -> Result<WitnessReply, RpcError> {
    let reads = &transact.reads;
    if reads.is_pending(at) {
        return Err(RpcError::new("a pending block has no witness: ask for it once it is there"));
    }
    let block = block_of(reads, at)?;
    witness_of(transact, &block, context)
}

fn execution_witness_by_hash(
    transact: &TransactApi,
    (Hash(hash),): (Hash,),
    context: &CallContext,
) -> Result<WitnessReply, RpcError> {
    let block = transact.reads.block_by_hash(hash)?;
    let block = block.ok_or_else(|| RpcError::new(format!("block {hash:#x} not found")))?;
    if block.block.header.number == transact.reads.chain.genesis_number() {
        return Err(RpcError::new("genesis has no state before it"));
    }
    witness_of(transact, &block, context)
}

fn witness_of(
    transact: &TransactApi,
    block: &SealedBlock,
    context: &CallContext,
) -> Result<WitnessReply, RpcError> {
    let reads = &transact.reads;
    let parent = parent_of(reads, block)?;
    let state = reads.chain.state_after(&parent).map_err(state_error)?;
    let view = state.view();
    let root = parent.header.state_root;
    if view.trie_root(root).map_err(read_error)? != root {
        let reason = "no witness: the state after the forked block is not that of its header, since accounts for development were \
             added, or the source gives no proofs";
        return Err(RpcError::new(reason));
    }
    let hashes = Hashes { transact, newest: parent.header.number };
    let is_stopped = || context.is_cancelled();
    let env = WitnessEnv { chain: &transact.chain, view, hashes: &hashes, is_stopped: &is_stopped };
    let receipts = reads.chain.receipts_of(block.block.header.number, block.hash);
    let receipts = receipts.map_err(read_error)?;
    let sender = |index: usize| receipts.get(index).map(|receipt| receipt.from);
    let witness = block_witness(&env, &parent.header, &block.block, sender).map_err(refusal)?;
    let headers = headers(transact, &parent, witness.oldest_hash)?;
    let list = |list: Vec<_>| list.into_iter().map(Data).collect();
    let Witness { nodes, codes, keys, .. } = witness;
    Ok(WitnessReply { state: list(nodes), codes: list(codes), keys: list(keys), headers })
}

/// The parent's header, and those before it whose hashes were read.
fn headers(
    transact: &TransactApi,
    parent: &Arc<SealedHeader>,
    oldest: Option<u64>,
) -> Result<Vec<Data>, RpcError> {
    let rules = transact.reads.chain.rules();
    let genesis = transact.reads.chain.genesis_number();
    let mut headers = Vec::new();
    let mut next = Arc::clone(parent);
    for _ in 0..MAX_HEADERS {
        headers.push(Data(rules.encode_header(&next.header).into()));
        let number = next.header.number;
        if number == genesis || oldest.is_none_or(|oldest| oldest >= number) {
            break;
        }
        let hash: B256 = next.header.parent_hash;
        let before = transact.reads.header_by_hash(hash)?;
        next = before.ok_or_else(|| RpcError::new(format!("header {hash:#x} not found")))?;
    }
    headers.reverse();
    Ok(headers)
}

fn refusal(error: WitnessError) -> RpcError {
    match error {
        WitnessError::State(error) => read_error(error),
        error => RpcError::new(error.to_string()),
    }
}
