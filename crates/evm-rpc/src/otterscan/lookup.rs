//! Facts about accounts: whether there is code, who sent a nonce, who created a contract.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use alloy_primitives::Address;
use alloy_trie::KECCAK_EMPTY;
use esker_evm::view::{AddressStart, CodeSince, NonceUse};
use esker_evm_execution::trace::{BufferOutput, Tracer};
use esker_evm_state::addresses::AddressQuery;
use esker_evm_state::types::SealedBlock;
use esker_rpc::{CallContext, RpcError};
use schemars::JsonSchema;
use serde::Serialize;

use super::creation_tracer::CreationTracer;
use crate::debug::{MAX_HELD, replay_accepted};
use crate::error::{PRUNED_HISTORY, read_error};
use crate::evm::{TransactApi, find_sent};
use crate::reads::ReadApi;
use crate::wire::{Addr, BlockNumber, Hash, HexOrDecimal, PlainBlockOrHash};

pub(super) fn has_code(
    transact: &TransactApi,
    (Addr(address), at): (Addr, Option<PlainBlockOrHash>),
) -> Result<bool, RpcError> {
    let at = at.map_or(BlockNumber::Latest.into(), |PlainBlockOrHash(at)| at);
    let (state, _) = transact.reads.state(at)?;
    let account = state.view().account(&address).map_err(read_error)?;
    Ok(account.is_some_and(|account| account.code_hash != KECCAK_EMPTY))
}

/// The hash of an accepted transaction.
pub(super) fn by_sender_and_nonce(
    transact: &TransactApi,
    (Addr(sender), HexOrDecimal(nonce)): (Addr, HexOrDecimal),
) -> Result<Option<Hash>, RpcError> {
    let reads = &*transact.reads;
    let height = match reads.chain.nonce_use(sender, nonce).map_err(read_error)? {
        NonceUse::Unused => return Ok(None),
        NonceUse::At(height) => height,
        NonceUse::Pruned { oldest } => {
            return Err(pruned(&format!("nonce {nonce} of {sender} was used"), oldest));
        }
    };
    let found = find_sent(reads, height, sender, nonce)?;
    let hash = |(block, index): (Arc<SealedBlock>, usize)| {
        block.block.transactions.get(index).map(|tx| Hash(*tx.tx_hash()))
    };
    Ok(found.and_then(hash))
}

/// The creation of a contract.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OtsContractCreator")]
pub(super) struct ContractCreator {
    /// Hash of the transaction.
    hash: Hash,
    /// The account that created it: the sender, or a contract.
    creator: Addr,
}

/// Who created a contract; `None`: it is none, or no transaction created it.
pub(super) fn contract_creator(
    transact: &TransactApi,
    (Addr(address),): (Addr,),
    context: &CallContext,
) -> Result<Option<ContractCreator>, RpcError> {
    let reads = &*transact.reads;
    let height = match reads.chain.code_since(address).map_err(read_error)? {
        CodeSince::NoCode | CodeSince::Genesis => return Ok(None),
        CodeSince::Block(height) => height,
        CodeSince::Pruned { oldest } => {
            return Err(pruned(&format!("{address} got its code"), oldest));
        }
    };
    let Some(block) = reads.chain.block_at(height).map_err(read_error)? else { return Ok(None) };
    let places = candidates(reads, address, &block)?;
    let Some(last) = places.last().copied() else { return Ok(None) };
    let found = Rc::new(RefCell::new(None));
    let mut tracer_of = |at: usize| {
        let tracer = || CreationTracer::new(address, at, Rc::clone(&found));
        places.binary_search(&at).is_ok().then(|| Box::new(tracer()) as Box<dyn Tracer>)
    };
    let mut out = BufferOutput::new(MAX_HELD);
    replay_accepted(transact, &block, last, context, &mut out, &mut tracer_of)?;
    let found = found.borrow_mut().take();
    Ok(found.and_then(|(index, creator)| {
        let tx = block.block.transactions.get(index)?;
        Some(ContractCreator { hash: Hash(*tx.tx_hash()), creator: Addr(creator) })
    }))
}

/// The transactions of a block that may have created a contract, ascending: those that the index has, or all.
fn candidates(
    reads: &ReadApi,
    address: Address,
    block: &SealedBlock,
) -> Result<Vec<usize>, RpcError> {
    let (height, count) = (block.block.header.number, block.block.transactions.len());
    let start = reads.chain.address_start().map_err(read_error)?;
    if !matches!(start, AddressStart::On { start, .. } if start <= height) {
        return Ok((0..count).collect());
    }
    let query = AddressQuery { address, from: height, to: height, is_backward: false, count };
    let page = reads.chain.address_page(&query).map_err(read_error)?;
    let places = page.blocks.into_iter().flat_map(|block| block.places);
    Ok(places.filter_map(|place| usize::try_from(place).ok()).collect())
}

/// The error of something that is older than the states that are kept.
fn pruned(what: &str, oldest: u64) -> RpcError {
    let text = format!(
        "{what} before the states that this node keeps, which begin with block {oldest}: an archive node knows more"
    );
    RpcError::with_code(PRUNED_HISTORY, text)
}
