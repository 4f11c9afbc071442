//! Executes transactions and blocks.
//!
//! A [`BlockExecution`] applies transactions one after the other to pending writes over the parent's state; each is
//! checked against what those before it left. Shared memory is read as the parent left it and written once, at
//! the end, for the whole block.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use esker_chain::{BuildContext, ChainContext, ChainError, ExecutedBlock};
use esker_primitives::codec::{Encode, VERSION_LEN};
use esker_primitives::{AssetId, ChainId, Id, ShortId, TxId};
use esker_shared_memory::{Element, Requests, SharedMemoryError};
use esker_storage::{KvRead, KvWrite, PendingWrites, Scope, StorageError, StorageResult};
use esker_transactions::xvm::{Block, CreateAssetTx, Tx, UnsignedTx};
use esker_utxo::Utxo;

use crate::state::tables::{
    ADDRESS_UTXOS, ASSETS, AssetRecord, BLOCK_HEIGHTS, BLOCKS, TIP, TXS, Tip, TxRecord, UTXOS,
    utxo_key,
};
use crate::state::{ChainState, index_row};
use crate::verify::VerifyError;
use crate::verify::semantic::{
    AssetCache, CheckError, Consumed, FxBits, Semantic, VerifyContext, fx_bit,
};
use crate::verify::syntactic::Params;

/// Bytes of a block before its first transaction.
const BLOCK_HEAD_LEN: usize = 90;

/// The data of a block that the chain needs besides its bytes; the payload of its [`ExecutedBlock`].
#[derive(Debug)]
pub struct BlockPayload {
    /// The transactions, in order.
    pub txs: Vec<Tx>,
    /// UTXO IDs that they consume, here and in shared memory, each with its consumer.
    pub consumed: Vec<(Id, TxId)>,
    /// UTXO IDs that they consume in shared memory.
    pub imported: HashSet<Id>,
    /// For the address-transaction index, in order: whose holdings of which asset the transaction of that ID
    /// changed.
    pub touched: Vec<(ShortId, AssetId, TxId)>,
    /// The outputs of this chain that each transaction consumes, in the order of its inputs and operations.
    pub spent: Vec<Vec<Utxo>>,
}

impl BlockPayload {
    /// The payload of a block that this chain executed.
    pub fn from_executed(block: &ExecutedBlock) -> Option<&Self> {
        block.payload.downcast_ref()
    }
}

/// The chain's rules and parameters, for execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) context: &'a ChainContext,
    pub(crate) params: &'a Params,
    pub(crate) genesis_assets: &'a FxBits,
    /// The transactions of another network's chain whose outputs this chain has from its beginning on.
    pub(crate) foreign_txs: &'a HashSet<TxId>,
}

impl<'a> Rules<'a> {
    pub(crate) fn verify_context(&self) -> VerifyContext<'a> {
        VerifyContext {
            chain_id: &self.context.chain_id,
            peers: &self.context.peers,
            fx_count: self.params.fx_count,
            foreign_txs: self.foreign_txs,
            allows_impersonation: self.context.allows_impersonation(),
        }
    }
}

/// The reason why a transaction cannot be added to a block.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error(transparent)]
    Rule(#[from] VerifyError),
    /// Two transactions of the block import the same UTXO.
    #[error("block contains conflicting transactions")]
    ImportedTwice,
    /// An undecided ancestor imports the same UTXO.
    #[error("block contains a transaction that conflicts with a transaction in a parent block")]
    ImportedByAncestor,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<CheckError> for ApplyError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Rule(error) => Self::Rule(error),
            CheckError::Storage(error) => Self::Storage(error),
        }
    }
}

/// A block under construction or verification.
pub(crate) struct BlockExecution<'a> {
    rules: Rules<'a>,
    pending: PendingWrites<'a>,
    parent: Tip,
    time_s: u64,
    ancestors: &'a BuildContext,
    assets: AssetCache<'a>,
    shared: BTreeMap<ChainId, Requests>,
    payload: BlockPayload,
}

impl<'a> BlockExecution<'a> {
    /// An empty block at `time_s` on the state that `below` shows, whose last block is `parent`.
    pub(crate) fn new(
        rules: Rules<'a>,
        below: &'a dyn KvRead,
        parent: Tip,
        time_s: u64,
        ancestors: &'a BuildContext,
    ) -> Self {
        Self {
            rules,
            pending: PendingWrites::new(below),
            parent,
            time_s,
            ancestors,
            assets: AssetCache::new(rules.genesis_assets),
            shared: BTreeMap::new(),
            payload: BlockPayload {
                txs: Vec::new(),
                consumed: Vec::new(),
                imported: HashSet::new(),
                touched: Vec::new(),
                spent: Vec::new(),
            },
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.payload.txs.is_empty()
    }

    /// Checks a transaction, which has passed the syntactic rules, against the state after those before it, and
    /// executes it. After an error the block is as it was.
    pub(crate) fn apply(&mut self, tx: &Tx) -> Result<(), ApplyError> {
        let scope = self.rules.context.scope;
        let checked = Semantic {
            context: self.rules.verify_context(),
            state: ChainState::new(&self.pending, scope),
            now_s: self.time_s,
            assets: &mut self.assets,
        }
        .check(tx);
        let consumed = match checked {
            Ok(consumed) => consumed,
            Err(CheckError::Rule(VerifyError::NotFound)) if self.imported_by_ancestor(tx) => {
                return Err(ApplyError::ImportedByAncestor);
            }
            Err(error) => return Err(error.into()),
        };
        if consumed.imported.iter().any(|id| self.payload.imported.contains(id)) {
            return Err(ApplyError::ImportedTwice);
        }
        // The block's own transactions are written at its end, so the check above has not seen them.
        if consumed.is_empty() && self.payload.txs.iter().any(|before| before.id() == tx.id()) {
            return Err(VerifyError::AcceptedBefore.into());
        }
        self.execute(tx, consumed);
        Ok(())
    }

    /// Whether what a transaction imports is missing because an undecided ancestor imports it.
    fn imported_by_ancestor(&self, tx: &Tx) -> bool {
        let mut payloads =
            self.ancestors.ancestors.iter().filter_map(|block| BlockPayload::from_executed(block));
        payloads.any(|payload| {
            let inputs = tx.unsigned().imported_inputs();
            inputs.iter().any(|input| payload.imported.contains(&input.utxo_id.input_id()))
        })
    }

    fn execute(&mut self, tx: &Tx, consumed: Consumed) {
        let scope = self.rules.context.scope;
        let mut touched = BTreeSet::new();
        for (id, utxo) in &consumed.local {
            add_holdings(&mut touched, utxo);
            remove_utxo(&mut self.pending, scope, id, utxo);
        }
        for utxo in tx.produced_utxos() {
            add_holdings(&mut touched, &utxo);
            add_utxo(&mut self.pending, scope, &self.rules.params.fee_asset_id, &utxo);
        }
        match tx.unsigned() {
            UnsignedTx::CreateAsset(asset) => {
                ASSETS.put(&mut self.pending, scope, &tx.id(), &asset_record(asset));
            }
            UnsignedTx::Import(import) => {
                let removes = consumed.imported.iter().map(|id| id.as_bytes().to_vec());
                self.shared.entry(import.source_chain).or_default().removes.extend(removes);
            }
            UnsignedTx::Export(export) => {
                let puts = tx.exported_utxos().map(|utxo| exported_element(&utxo));
                self.shared.entry(export.destination_chain).or_default().puts.extend(puts);
            }
            UnsignedTx::Base(_) | UnsignedTx::Operation(_) => {}
        }
        let tx_id = tx.id();
        let touched = touched.into_iter().map(|(address, asset)| (address, asset, tx_id));
        self.payload.touched.extend(touched);
        let local = consumed.local.iter().map(|(id, _)| id);
        self.payload.consumed.extend(local.chain(&consumed.imported).map(|id| (*id, tx_id)));
        self.payload.imported.extend(consumed.imported);
        self.payload.spent.push(consumed.local.into_iter().map(|(_, utxo)| utxo).collect());
        self.payload.txs.push(tx.clone());
    }

    /// Completes a block of the transactions applied so far.
    pub(crate) fn build(self) -> Result<ExecutedBlock, ChainError> {
        let height = self.parent.height.saturating_add(1);
        let block = Block::new(self.parent.id, height, self.time_s, self.payload.txs.clone());
        self.finish(&block)
    }

    /// Completes the execution of `block`, whose transactions have been applied.
    pub(crate) fn finish(mut self, block: &Block) -> Result<ExecutedBlock, ChainError> {
        let scope = self.rules.context.scope;
        write_block(&mut self.pending, scope, block)?;
        esker_shared_memory::apply(&mut self.pending, &self.rules.context.chain_id, &self.shared)
            .map_err(|error| match error {
            SharedMemoryError::Storage(error) => error.into(),
            SharedMemoryError::NotFound
            | SharedMemoryError::DuplicatePut { .. }
            | SharedMemoryError::DuplicateRemove { .. }
            | SharedMemoryError::Length { .. } => ChainError::Corrupted(error.to_string()),
        })?;
        Ok(ExecutedBlock {
            id: block.id(),
            parent_id: block.parent_id(),
            height: block.height(),
            timestamp_ms: block.time_s().saturating_mul(1000),
            bytes: block.bytes().clone(),
            writes: Arc::new(self.pending.into_writes()),
            payload: Arc::new(self.payload),
        })
    }
}

/// The rows of a block and of its transactions, and the new tip.
pub(crate) fn write_block(
    out: &mut impl KvWrite,
    scope: Scope,
    block: &Block,
) -> StorageResult<()> {
    let (id, height) = (block.id(), block.height());
    BLOCKS.put_bytes(out, scope, &height, block.bytes());
    BLOCK_HEIGHTS.put(out, scope, &id, &height);
    TIP.put(out, scope, &(), &Tip { id, height, time_s: block.time_s() });
    let too_long = |_| StorageError::Corrupted("a block of more than 4 GiB".into());
    let mut at = BLOCK_HEAD_LEN;
    for tx in block.txs() {
        // Within a block transactions have no version prefix.
        let len = tx.bytes().len().saturating_sub(VERSION_LEN);
        let record = TxRecord::InBlock {
            height,
            offset: u32::try_from(at).map_err(too_long)?,
            len: u32::try_from(len).map_err(too_long)?,
        };
        TXS.put(out, scope, &tx.id(), &record);
        at = at.saturating_add(len);
    }
    Ok(())
}

/// Adds an output to the set and to its owners' lists.
pub(crate) fn add_utxo(out: &mut impl KvWrite, scope: Scope, fee_asset_id: &AssetId, utxo: &Utxo) {
    let bytes = utxo.to_versioned_bytes();
    UTXOS.put_bytes(out, scope, &utxo_key(&utxo.utxo_id), &bytes);
    list_utxo(out, scope, fee_asset_id, utxo, &bytes);
}

/// Adds an output, with its bytes, to its owners' lists.
pub(crate) fn list_utxo(
    out: &mut impl KvWrite,
    scope: Scope,
    fee_asset_id: &AssetId,
    utxo: &Utxo,
    bytes: &[u8],
) {
    let addresses = &utxo.output.owners().addresses;
    if addresses.is_empty() {
        return;
    }
    let id = utxo.utxo_id.input_id();
    let row = index_row::encode(utxo, bytes, fee_asset_id);
    for address in addresses {
        ADDRESS_UTXOS.put_bytes(out, scope, &(*address, id), &row);
    }
}

/// Removes an output from the set and from its owners' lists.
pub(crate) fn remove_utxo(out: &mut impl KvWrite, scope: Scope, id: &Id, utxo: &Utxo) {
    UTXOS.delete(out, scope, &utxo_key(&utxo.utxo_id));
    for address in &utxo.output.owners().addresses {
        ADDRESS_UTXOS.delete(out, scope, &(*address, *id));
    }
}

/// The row of an asset.
pub(crate) fn asset_record(asset: &CreateAssetTx) -> AssetRecord {
    AssetRecord {
        denomination: asset.denomination,
        fx_bits: asset.states.iter().fold(0, |bits, state| bits | fx_bit(state.fx_index)),
        name: String::from_utf8_lossy(&asset.name).into_owned(),
        symbol: String::from_utf8_lossy(&asset.symbol).into_owned(),
    }
}

/// An exported UTXO as shared memory keeps it: for each of its owners to find.
pub fn exported_element(utxo: &Utxo) -> Element {
    let id = utxo.utxo_id.input_id();
    Element::for_owners(&id, utxo.to_versioned_bytes(), &utxo.output.owners().addresses)
}

/// Adds the holdings (owner and asset) that a UTXO belongs to.
pub(crate) fn add_holdings(touched: &mut BTreeSet<(ShortId, AssetId)>, utxo: &Utxo) {
    let owners = utxo.output.owners();
    touched.extend(owners.addresses.iter().map(|address| (*address, utxo.asset_id)));
}
