//! `getProof` and its window (docs/protocol/c-chain-rpc.md, "Proofs").

use alloy_primitives::{Address, B256, U256};
use alloy_trie::EMPTY_ROOT_HASH;
use esker_evm::view::ViewError;
use esker_evm_execution::rules::Dialect;
use esker_evm_state::state::StateView;
use esker_rpc::{CallContext, RpcError};
use thiserror::Error;

use super::storage::invalid_key;
use crate::config::ProofWindow;
use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::{
    Addr, Big, BlockNumberOrHash, BlockOrAbsent, BlockPlace, Hash, ProofReply, StorageKey,
    StorageProofReply, Uint64, proof_nodes,
};

/// The error of proofs of a state whose root is not that of the whole state.
const NO_PROOFS: &str = "no proofs: the source of the forked state gives none, so the state root is that of the changes alone";

/// Proves an account and some of its slots against the state root of a block.
pub(super) fn get_proof(
    reads: &ReadApi,
    (Addr(address), keys, at): (Addr, Vec<String>, BlockOrAbsent),
    call: &CallContext,
) -> Result<ProofReply, RpcError> {
    let at = reads.block_or_latest(at, 2)?;
    check_window(reads, at)
        .map_err(|why| RpcError::new(format!("historical proof query not allowed: {why}")))?;
    let parse = |key: &String| {
        StorageKey::parse(key).map_err(|error| match reads.dialect() {
            Dialect::Standard => invalid_key(error, key),
            Dialect::Reference => RpcError::new(error.to_string()),
        })
    };
    let keys = keys.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let (state, header) = reads.state(at)?;
    let view = state.view();
    if view.has_partial_roots() {
        return Err(RpcError::new(NO_PROOFS));
    }
    let account = view.account(&address).map_err(read_error)?;
    let storage_root = account.map_or(B256::ZERO, |account| account.storage_root);
    let mut storage_proof = Vec::with_capacity(keys.len());
    for key in keys {
        if call.is_cancelled() {
            return Err(RpcError::new("the client has gone"));
        }
        let slot = reads.chain.rules().storage_keys().slot(U256::from_be_bytes(key.key.0));
        storage_proof.push(prove_key(&view, &address, storage_root, key, slot)?);
    }
    let proof = view
        .trie_root(header.header.state_root)
        .and_then(|root| view.prove_account(root, &address))
        .map_err(read_error)?;
    Ok(ProofReply {
        address: Addr(address),
        account_proof: proof_nodes(proof.nodes),
        balance: Big(account.map(|account| account.balance).unwrap_or_default()),
        code_hash: Hash(account.map_or(B256::ZERO, |account| account.code_hash)),
        nonce: Uint64(account.map_or(0, |account| account.nonce)),
        storage_hash: Hash(storage_root),
        storage_proof,
    })
}

/// Proves the key as it was given; the value is what contract code reads there, which may lie elsewhere.
fn prove_key(
    view: &StateView<'_>,
    address: &Address,
    storage_root: B256,
    key: StorageKey,
    slot: U256,
) -> Result<StorageProofReply, RpcError> {
    if storage_root.is_zero() || storage_root == EMPTY_ROOT_HASH {
        return Ok(StorageProofReply { key, value: Big::default(), proof: Vec::new() });
    }
    let proof = view.prove_storage(storage_root, address, key.key).map_err(read_error)?;
    let value = view.storage(address, slot).map_err(read_error)?;
    Ok(StorageProofReply { key, value: Big(value), proof: proof_nodes(proof.nodes) })
}

/// The reason why no proof of a block is made. The texts are the reference's.
#[derive(Debug, Error)]
enum WindowError {
    #[error("failed to get block from hash: {0}")]
    Read(#[source] ViewError),
    #[error("block from hash {0:#x} doesn't exist")]
    NoBlock(B256),
    #[error("block number or hash not provided")]
    NotGiven,
    #[error(
        "block number {number} is before the oldest allowed block number {oldest} (window of {window} blocks)"
    )]
    TooOld { number: u64, oldest: u64, window: u64 },
}

/// Checks that a proof of this block is made.
fn check_window(reads: &ReadApi, at: BlockNumberOrHash) -> Result<(), WindowError> {
    let ProofWindow::Blocks(window) = reads.config.proof_window else { return Ok(()) };
    let number = match reads.block_id(at) {
        BlockNumberOrHash::Number(number) => match reads.place(number) {
            BlockPlace::Height(number) => number,
            BlockPlace::Head | BlockPlace::Pending => return Ok(()),
        },
        BlockNumberOrHash::Hash { hash, .. } => reads
            .chain
            .height_of(hash)
            .map_err(WindowError::Read)?
            .ok_or(WindowError::NoBlock(hash))?,
        BlockNumberOrHash::Neither | BlockNumberOrHash::Null => {
            return Err(WindowError::NotGiven);
        }
    };
    let oldest = reads.chain.head().header.number.saturating_sub(window);
    if number < oldest {
        return Err(WindowError::TooOld { number, oldest, window });
    }
    Ok(())
}
