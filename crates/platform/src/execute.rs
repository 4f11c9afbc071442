//! Executes blocks: what their exports leave in shared memory, and what their imports take out of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use esker_chain::{BlockError, ChainContext, ExecutedBlock};
use esker_primitives::codec::Encode as _;
use esker_primitives::{BlockId, ChainId, Id};
use esker_shared_memory::{Element, Requests, SharedMemoryError, apply, get};
use esker_storage::{KvRead, KvWrite, PendingWrites, Scope};
use esker_utxo::{TransferableInput, Utxo};
use thiserror::Error;

use crate::state::tables::{BLOCKS, TIP, Tip};
use crate::txs::{Block, Exchange, Tx};

/// Parses a block and executes it on the state that `parent` shows.
pub(crate) fn execute(
    context: &ChainContext,
    parent: &dyn KvRead,
    block: &[u8],
) -> Result<ExecutedBlock, BlockError> {
    let block = Block::parse(block).map_err(invalid)?;
    let tip = Tip::read(parent, context.scope)?;
    check_position(&block, &tip).map_err(invalid)?;
    let requests = requests(context, parent, &block)?;
    let mut pending = PendingWrites::new(parent);
    write_block(&mut pending, context.scope, &block, tip);
    apply(&mut pending, &context.chain_id, &requests).map_err(|error| match error {
        SharedMemoryError::Storage(error) => error.into(),
        SharedMemoryError::NotFound
        | SharedMemoryError::DuplicatePut { .. }
        | SharedMemoryError::DuplicateRemove { .. }
        | SharedMemoryError::Length { .. } => invalid(error),
    })?;
    Ok(ExecutedBlock {
        id: block.id,
        parent_id: block.parent_id,
        height: block.height,
        timestamp_ms: block.time_s.unwrap_or(tip.time_s).saturating_mul(1000),
        bytes: block.bytes.clone(),
        writes: Arc::new(pending.into_writes()),
        payload: Arc::new(block),
    })
}

/// Checks that a block follows the last one. Of the first block the parent is P's genesis, which is not known.
pub(crate) fn check_position(block: &Block, tip: &Tip) -> Result<(), PositionError> {
    let (found, expected) = (block.height, tip.height.saturating_add(1));
    if found != expected {
        return Err(PositionError::Height { found, expected });
    }
    if tip.height > 0 && block.parent_id != tip.id {
        return Err(PositionError::Parent { found: block.parent_id, expected: tip.id });
    }
    Ok(())
}

/// The reason why a block does not follow the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum PositionError {
    #[error("block has height {found}, expected {expected}")]
    Height { found: u64, expected: u64 },
    #[error("parent block {found} is not {expected}")]
    Parent { found: BlockId, expected: BlockId },
}

/// The changes that a block makes in shared memory. Imported UTXOs must be there in `parent`.
fn requests(
    context: &ChainContext,
    parent: &dyn KvRead,
    block: &Block,
) -> Result<BTreeMap<ChainId, Requests>, BlockError> {
    let mut requests = BTreeMap::<ChainId, Requests>::new();
    let mut imported = BTreeSet::new();
    for tx in &block.txs {
        let Some(exchange) = &tx.exchange else { continue };
        let (peer, Requests { puts, removes }) = requests_of(exchange);
        if !context.peers.contains(&peer) {
            let text = format!("transaction {} exchanges with the unknown chain {peer}", tx.id);
            return Err(BlockError::Invalid(text));
        }
        for key in &removes {
            let there = get(parent, &context.chain_id, &peer, std::slice::from_ref(key));
            match there {
                Ok(_) if imported.insert((peer, key.clone())) => {}
                Err(SharedMemoryError::Storage(error)) => return Err(error.into()),
                Ok(_) | Err(_) => return Err(missing(tx, peer, key)),
            }
        }
        requests.entry(peer).or_default().merge(Requests { puts, removes });
    }
    Ok(requests)
}

fn missing(tx: &Tx, source: ChainId, key: &[u8]) -> BlockError {
    let key = Id::from_slice(key).unwrap_or_default();
    let id = tx.id;
    BlockError::Invalid(format!(
        "transaction {id} imports UTXO {key}, which {source} did not export"
    ))
}

/// The peer of an exchange, and what it changes in the memory shared with it.
pub(crate) fn requests_of(exchange: &Exchange) -> (ChainId, Requests) {
    match exchange {
        Exchange::Import { source, inputs } => {
            let key = |input: &TransferableInput| input.utxo_id.input_id().as_bytes().to_vec();
            let removes = inputs.iter().map(key).collect();
            (*source, Requests { puts: Vec::new(), removes })
        }
        Exchange::Export { destination, utxos } => {
            let puts = utxos.iter().map(element).collect();
            (*destination, Requests { puts, removes: Vec::new() })
        }
    }
}

fn element(utxo: &Utxo) -> Element {
    let owners = &utxo.output.owners().addresses;
    Element::for_owners(&utxo.utxo_id.input_id(), utxo.to_versioned_bytes(), owners)
}

/// The rows of a block, and the new tip.
pub(crate) fn write_block(out: &mut impl KvWrite, scope: Scope, block: &Block, before: Tip) {
    BLOCKS.put_bytes(out, scope, &block.height, &block.bytes);
    let time_s = block.time_s.unwrap_or(before.time_s);
    TIP.put(out, scope, &(), &Tip { id: block.id, height: block.height, time_s });
}

fn invalid(error: impl fmt::Display) -> BlockError {
    BlockError::Invalid(error.to_string())
}
