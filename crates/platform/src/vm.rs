//! The P-Chain for the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use esker_chain::commitment::StateTable;
use esker_chain::snapshot::ChainSnapshot;
use esker_chain::tables::HistoryStart;
use esker_chain::{
    AfterRewind, BlockError, BlockFigures, BuildContext, Built, ChainContext, ChainError,
    ChainStats, ChainVm, ExecutedBlock, Rewinding,
};
use esker_primitives::codec::Encode as _;
use esker_primitives::{BlockId, ChainId, Id};
use esker_shared_memory::{ELEMENTS_TAG, Element, Requests, SharedMemoryError, apply, get};
use esker_storage::{KvRead, KvWrite, PendingWrites, Scope, WriteSet};
use esker_utxo::{TransferableInput, Utxo};

use crate::block::Block;
use crate::tables::{BLOCKS, TIP, Tip};
use crate::tx::{Exchange, Tx};

/// The P-Chain as an observed chain: executing a block writes what its exports leave in shared memory, and removes
/// what its imports take out of it.
#[derive(Debug)]
pub struct Platform {
    context: ChainContext,
    accepted_height: AtomicU64,
    /// Height of the first stored block, if the node joined from a snapshot.
    first_block: AtomicU64,
    accepted_txs: AtomicU64,
}

impl Platform {
    /// The chain with that context: the zero ID, and as peers the chains that exchange with P.
    pub fn new(context: ChainContext) -> Arc<Self> {
        let (accepted_height, accepted_txs) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { context, accepted_height, first_block: AtomicU64::new(0), accepted_txs })
    }

    pub(crate) fn scope(&self) -> Scope {
        self.context.scope
    }

    /// What a block changes in shared memory. Imported UTXOs must be there in `parent`.
    fn requests(
        &self,
        parent: &dyn KvRead,
        block: &Block,
    ) -> Result<BTreeMap<ChainId, Requests>, BlockError> {
        let mut requests = BTreeMap::<ChainId, Requests>::new();
        let mut imported = BTreeSet::new();
        for tx in &block.txs {
            let Some(exchange) = &tx.exchange else { continue };
            let (peer, Requests { puts, removes }) = requests_of(exchange);
            if !self.context.peers.contains(&peer) {
                let text = format!("transaction {} exchanges with the unknown chain {peer}", tx.id);
                return Err(BlockError::Invalid(text));
            }
            for key in &removes {
                let there = get(parent, &self.context.chain_id, &peer, std::slice::from_ref(key));
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

/// Checks that a block follows the last one. Of the first block the parent is P's genesis, which is not known.
pub(crate) fn check_position(block: &Block, tip: &Tip) -> Result<(), String> {
    let expected = tip.height.saturating_add(1);
    if block.height != expected {
        return Err(format!("block has height {}, expected {expected}", block.height));
    }
    if tip.height > 0 && block.parent_id != tip.id {
        return Err(format!("parent block {} is not {}", block.parent_id, tip.id));
    }
    Ok(())
}

impl ChainVm for Platform {
    fn context(&self) -> &ChainContext {
        &self.context
    }

    fn genesis(&self, out: &mut WriteSet) -> Result<(), ChainError> {
        TIP.put(out, self.scope(), &(), &Tip::default());
        Ok(())
    }

    fn check(&self, reader: &dyn KvRead) -> Result<(), ChainError> {
        let tip = Tip::read(reader, self.scope())?;
        let stored = BLOCKS.get(reader, self.scope(), &tip.height)?;
        if tip.height > 0 && stored.map(|bytes| Id::sha256(&bytes)) != Some(tip.id) {
            let (height, name) = (tip.height, self.name());
            return Err(ChainError::Corrupted(format!(
                "block {height} of chain {name} is missing or damaged"
            )));
        }
        self.accepted_height.store(tip.height, Ordering::Release);
        let first_block = HistoryStart::of(reader)?.first_block(&self.context.chain_id);
        self.first_block.store(first_block, Ordering::Relaxed);
        Ok(())
    }

    fn state_tables(&self) -> Vec<StateTable> {
        vec![StateTable::node_wide(ELEMENTS_TAG)]
    }

    fn last_block(&self, reader: &dyn KvRead) -> Result<(u64, BlockId), ChainError> {
        let tip = Tip::read(reader, self.scope())?;
        Ok((tip.height, tip.id))
    }

    fn build(&self, _: &dyn KvRead, _: &BuildContext) -> Result<Built, ChainError> {
        Ok(Built::Nothing)
    }

    fn verify(
        &self,
        parent: &dyn KvRead,
        block: &[u8],
        _: &BuildContext,
    ) -> Result<ExecutedBlock, BlockError> {
        let block = Block::parse(block).map_err(invalid)?;
        let tip = Tip::read(parent, self.scope())?;
        check_position(&block, &tip).map_err(invalid)?;
        let requests = self.requests(parent, &block)?;
        let mut pending = PendingWrites::new(parent);
        write_block(&mut pending, self.scope(), &block, tip);
        apply(&mut pending, &self.context.chain_id, &requests).map_err(|error| match error {
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

    fn extend_commit(&self, _: &[Arc<ExecutedBlock>], _: u64, _: &mut PendingWrites<'_>) {}

    fn on_verified(&self, _: &Arc<ExecutedBlock>) {}

    fn on_accepted(&self, block: &Arc<ExecutedBlock>, _: u64) {
        self.accepted_height.store(block.height, Ordering::Release);
        self.accepted_txs.fetch_add(txs_of(block), Ordering::Relaxed);
    }

    fn on_rejected(&self, _: &Arc<ExecutedBlock>) {}

    fn prepare_rewind<'a>(
        &'a self,
        rewind: &mut Rewinding<'_>,
    ) -> Result<AfterRewind<'a>, ChainError> {
        let height = Tip::read(&rewind.after, self.scope())?.height;
        Ok(Box::new(move || self.accepted_height.store(height, Ordering::Release)))
    }

    fn block_at(&self, reader: &dyn KvRead, height: u64) -> Result<Option<Bytes>, ChainError> {
        Ok(BLOCKS.get(reader, self.scope(), &height)?.map(Bytes::from))
    }

    fn snapshot(&self) -> Option<&dyn ChainSnapshot> {
        Some(self)
    }

    fn health(&self) -> Result<String, String> {
        let snapshot = self.context.store.snapshot();
        let tip = snapshot.and_then(|reader| Tip::read(reader.as_ref(), self.scope()));
        tip.map(|tip| format!("height {}", tip.height)).map_err(|error| error.to_string())
    }

    fn block_figures(&self, block: &ExecutedBlock) -> BlockFigures {
        let txs = txs_of(block);
        let hash = block.id.to_string();
        BlockFigures { hash, is_empty: txs == 0, txs, ..BlockFigures::default() }
    }

    fn stats(&self) -> ChainStats {
        ChainStats {
            height: self.accepted_height.load(Ordering::Acquire),
            first_block: self.first_block.load(Ordering::Relaxed),
            accepted_txs: self.accepted_txs.load(Ordering::Relaxed),
            ..ChainStats::default()
        }
    }
}

fn txs_of(block: &ExecutedBlock) -> u64 {
    block.payload.downcast_ref::<Block>().map_or(0, |block| block.txs.len() as u64)
}
