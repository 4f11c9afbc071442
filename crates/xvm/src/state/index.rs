//! The address-transaction index: which transactions changed an address's holdings of an asset.
//!
//! While it is complete, a block's rows go into the same commit as the block. When it is switched on over
//! existing blocks, [`AddressIndex::step`] adds their rows in small commits of its own while the chain goes on. It also
//! adds those of blocks accepted meanwhile; the last step ends under the lock that extending a commit takes. So the
//! positions of an address always follow the order of acceptance.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;

use esker_chain::{ChainContext, ChainError, ExecutedBlock, Rewinding};
use esker_primitives::sync::Mutex;
use esker_primitives::{AssetId, ShortId, TxId};
use esker_storage::{KvRead, KvWrite, PendingWrites, Scope, StorageResult, WriteSet};
use esker_transactions::xvm::{Block, Tx};
use esker_utxo::Utxo;
use lru::LruCache;

use super::chain_state::ChainState;
use super::tables::{ADDRESS_TXS, INDEXED};
use crate::execute::{BlockPayload, add_holdings};

/// Rows of one step of the backfill: a few milliseconds of work.
const STEP_ROWS: usize = 512;
/// Transactions that a backfill keeps decoded, since neighbouring ones consume each other's outputs.
pub(crate) const TX_CACHE: NonZeroUsize = NonZeroUsize::new(256).expect("256 is not 0");

/// How far the index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexProgress {
    /// Switched off.
    Off,
    /// Complete up to the last accepted block.
    Complete,
    /// Being filled.
    Building {
        /// Height up to which it is complete.
        indexed: u64,
        /// Height of the last accepted block.
        height: u64,
    },
    /// Incomplete for good: the node joined from a snapshot, so it can't look up what older transactions produced.
    Unfillable {
        /// Height of the first stored block besides genesis.
        first_block: u64,
    },
}

/// The state of the index in memory; its rows are in [`ADDRESS_TXS`].
#[derive(Debug)]
pub(crate) struct AddressIndex {
    on: bool,
    live: Mutex<Live>,
    backfill: Mutex<LruCache<TxId, Tx>>,
}

#[derive(Debug)]
struct Live {
    /// Blocks add their own rows.
    complete: bool,
    /// Height of the last block whose commit has no rows.
    skipped: Option<u64>,
    /// For the report of progress.
    indexed: u64,
    /// Height of the first stored block besides genesis, if the node joined from a snapshot: blocks without rows stay so.
    first_block: u64,
}

impl AddressIndex {
    pub(crate) fn new(on: bool) -> Self {
        let live = Live { complete: false, skipped: None, indexed: 0, first_block: 0 };
        Self {
            on,
            live: Mutex::new_named("xvm.index", live),
            backfill: Mutex::new_named("xvm.index.backfill", LruCache::new(TX_CACHE)),
        }
    }

    /// The row of a chain that starts: the genesis block has no transactions to list.
    pub(crate) fn genesis(&self, out: &mut impl KvWrite, scope: Scope) {
        if self.on {
            INDEXED.put(out, scope, &(), &0);
        }
    }

    /// Whether it is switched on.
    pub(crate) const fn is_on(&self) -> bool {
        self.on
    }

    /// Reads how far the index is. `first_block`: the first stored block besides genesis, 0 with a whole history. After
    /// a join from a snapshot the list begins with the next block.
    pub(crate) fn open(&self, state: ChainState<'_>, first_block: u64) -> StorageResult<()> {
        let indexed = INDEXED.get(state.reader(), state.scope(), &())?.unwrap_or(first_block);
        let height = state.tip()?.height;
        let mut live = self.live.lock();
        live.complete = self.on && indexed >= height;
        live.indexed = indexed;
        live.first_block = first_block;
        if self.on && !live.complete {
            match first_block {
                0 => tracing::info!(indexed, height, "building the address transaction index"),
                _ => tracing::warn!(
                    indexed,
                    height,
                    first_block,
                    "the address transaction index is incomplete, and can't be filled on a node that joined from \
                     a snapshot"
                ),
            }
        }
        Ok(())
    }

    /// How far it is; `height` is that of the last accepted block.
    pub(crate) fn progress(&self, height: u64) -> IndexProgress {
        if !self.on {
            return IndexProgress::Off;
        }
        let live = self.live.lock();
        match *live {
            Live { complete: true, .. } => IndexProgress::Complete,
            Live { first_block: 0, indexed, .. } => IndexProgress::Building { indexed, height },
            Live { first_block, .. } => IndexProgress::Unfillable { first_block },
        }
    }

    /// Adds the rows of a block to its commit, which shows those of the blocks before it.
    pub(crate) fn extend_commit(
        &self,
        scope: Scope,
        block: &ExecutedBlock,
        commit: &mut PendingWrites<'_>,
    ) -> StorageResult<()> {
        if !self.on {
            return Ok(());
        }
        let mut live = self.live.lock();
        if !live.complete {
            live.skipped = Some(block.height);
            return Ok(());
        }
        match block_rows(&*commit, scope, block) {
            Ok(rows) => {
                commit.writes.merge(&rows);
                Ok(())
            }
            Err(error) => {
                // Left to the backfill, as if the index had just been switched on.
                live.complete = false;
                live.skipped = Some(block.height);
                live.indexed = block.height.saturating_sub(1);
                Err(error)
            }
        }
    }

    /// Indexes some blocks in a commit of its own. False when there is nothing left to do for now: the index is
    /// off or complete, or the next block is about to be committed. Blocks the calling thread.
    pub(crate) fn step(&self, context: &ChainContext) -> Result<bool, ChainError> {
        {
            let live = self.live.lock();
            if !self.on || live.complete || live.first_block > 0 {
                return Ok(false);
            }
        }
        // Excludes rewinds.
        let _upkeep = context.store.upkeep();
        // One at a time; the lock is never taken by the chain itself.
        let mut cache = self.backfill.lock();
        if self.copy_blocks(context, &mut cache)? {
            return Ok(true);
        }
        // At the tip: finish under the lock, so that no commit is extended meanwhile. Few blocks are left.
        let mut live = self.live.lock();
        while self.copy_some(context, &mut cache, &mut live)? {}
        // A commit without rows is under way: continue when it is done.
        if live.skipped.is_some_and(|skipped| skipped > live.indexed) {
            return Ok(false);
        }
        live.complete = true;
        tracing::info!(height = live.indexed, "the address transaction index is complete");
        Ok(false)
    }

    /// Prepares a rewind to a height. Rows of the blocks' own commits are restored already; this deletes the rows
    /// that [`Self::step`] wrote, newest first. Returns the height up to which the index is then complete.
    pub(crate) fn rewind(
        &self,
        scope: Scope,
        height: u64,
        rewind: &mut Rewinding<'_>,
    ) -> Result<u64, ChainError> {
        let indexed = INDEXED.get(&rewind.after, scope, &())?.unwrap_or(0);
        if indexed <= height {
            return Ok(indexed);
        }
        let mut cache = self.backfill.lock();
        let before = ChainState::new(rewind.before, scope);
        for gone in (height.saturating_add(1)..=indexed).rev() {
            for tx in read_block(before, gone)?.txs().iter().rev() {
                for (address, asset) in touched_by(before, &mut cache, tx)? {
                    let prefix = [address.as_bytes().as_slice(), asset.as_bytes()].concat();
                    let last = ADDRESS_TXS.last(&rewind.after, scope, &prefix)?;
                    if let Some((key, _)) = last.filter(|(_, tx_id)| *tx_id == tx.id()) {
                        ADDRESS_TXS.delete(&mut rewind.after, scope, &key);
                    }
                }
            }
        }
        INDEXED.put(&mut rewind.after, scope, &(), &height);
        Ok(height)
    }

    /// Updates memory after a rewind to a height.
    pub(crate) fn rewound(&self, indexed: u64, height: u64) {
        let mut live = self.live.lock();
        let complete = self.on && indexed >= height;
        *live = Live { complete, skipped: None, indexed, first_block: live.first_block };
    }

    fn copy_blocks(
        &self,
        context: &ChainContext,
        cache: &mut LruCache<TxId, Tx>,
    ) -> Result<bool, ChainError> {
        match copy_step(context, cache)? {
            Some(indexed) => {
                self.live.lock().indexed = indexed;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn copy_some(
        &self,
        context: &ChainContext,
        cache: &mut LruCache<TxId, Tx>,
        live: &mut Live,
    ) -> Result<bool, ChainError> {
        let indexed = copy_step(context, cache)?;
        live.indexed = indexed.unwrap_or(live.indexed);
        Ok(indexed.is_some())
    }
}

/// The rows of a block that follows those that are indexed.
fn block_rows(reader: &dyn KvRead, scope: Scope, block: &ExecutedBlock) -> StorageResult<WriteSet> {
    let touched = BlockPayload::from_executed(block).map_or(&[][..], |payload| &payload.touched);
    let mut out = WriteSet::new();
    let mut rows = Rows::new(reader, scope);
    for (address, asset, tx_id) in touched {
        rows.add(&mut out, *address, *asset, *tx_id)?;
    }
    INDEXED.put(&mut out, scope, &(), &block.height);
    Ok(out)
}

/// Indexes the next blocks in one commit. Gives the height up to which the index is complete then; `None` if it
/// was at the tip.
fn copy_step(
    context: &ChainContext,
    cache: &mut LruCache<TxId, Tx>,
) -> Result<Option<u64>, ChainError> {
    let reader = context.store.snapshot()?;
    let state = ChainState::new(reader.as_ref(), context.scope);
    let tip = state.tip()?.height;
    let mut indexed = INDEXED.get(reader.as_ref(), context.scope, &())?.unwrap_or(0);
    if indexed >= tip {
        return Ok(None);
    }
    let mut out = WriteSet::new();
    let mut rows = Rows::new(reader.as_ref(), context.scope);
    while indexed < tip && out.len() < STEP_ROWS {
        let height = indexed.saturating_add(1);
        let block = read_block(state, height)?;
        for tx in block.txs() {
            for (address, asset) in touched_by(state, cache, tx)? {
                rows.add(&mut out, address, asset, tx.id())?;
            }
            cache.put(tx.id(), tx.clone());
        }
        indexed = height;
    }
    INDEXED.put(&mut out, context.scope, &(), &indexed);
    drop(reader);
    context.store.writer.commit_blocking(out)?;
    tracing::debug!(indexed, tip, "address transaction index");
    Ok(Some(indexed))
}

pub(crate) fn read_block(state: ChainState<'_>, height: u64) -> Result<Block, ChainError> {
    let damaged = || ChainError::Corrupted(format!("block {height} is missing or damaged"));
    let bytes = state.block(height)?.ok_or_else(damaged)?;
    Block::parse(&bytes).map_err(|_| damaged())
}

/// Whose holdings of which asset an accepted transaction changed.
fn touched_by(
    state: ChainState<'_>,
    cache: &mut LruCache<TxId, Tx>,
    tx: &Tx,
) -> StorageResult<BTreeSet<(ShortId, AssetId)>> {
    let mut touched = BTreeSet::new();
    for utxo in tx.produced_utxos() {
        add_holdings(&mut touched, &utxo);
    }
    for utxo in spent_by(state, cache, tx)? {
        add_holdings(&mut touched, &utxo);
    }
    Ok(touched)
}

/// The outputs of this chain that an accepted transaction consumed, in the order of its inputs and operations. They are
/// gone from the set, and are read from the transactions that produced them. Those of transactions that this node does
/// not have are left out.
pub(crate) fn spent_by(
    state: ChainState<'_>,
    cache: &mut LruCache<TxId, Tx>,
    tx: &Tx,
) -> StorageResult<Vec<Utxo>> {
    let mut spent = Vec::new();
    for utxo_id in tx.unsigned().local_utxo_ids() {
        let producer = match cache.get(&utxo_id.tx_id) {
            Some(producer) => producer.clone(),
            // An input of the exempt transaction may not exist.
            None => match state.tx(&utxo_id.tx_id)? {
                Some(producer) => producer,
                None => continue,
            },
        };
        spent.extend(producer.produced_utxos().find(|utxo| utxo.utxo_id == utxo_id));
        cache.put(utxo_id.tx_id, producer);
    }
    Ok(spent)
}

/// Appends rows: the next position of each address and asset is read once.
pub(crate) struct Rows<'a> {
    reader: &'a dyn KvRead,
    scope: Scope,
    next: HashMap<(ShortId, AssetId), u64>,
}

impl<'a> Rows<'a> {
    /// Rows that follow those that `reader` shows.
    pub(crate) fn new(reader: &'a dyn KvRead, scope: Scope) -> Self {
        Self { reader, scope, next: HashMap::new() }
    }

    /// Adds a transaction that changed an address's holdings of an asset.
    pub(crate) fn add(
        &mut self,
        out: &mut WriteSet,
        address: ShortId,
        asset: AssetId,
        tx_id: TxId,
    ) -> StorageResult<()> {
        let position = match self.next.get(&(address, asset)) {
            Some(position) => *position,
            None => {
                let prefix = [address.as_bytes().as_slice(), asset.as_bytes()].concat();
                let last = ADDRESS_TXS.last(self.reader, self.scope, &prefix)?;
                last.map_or(0, |((_, _, position), _)| position.saturating_add(1))
            }
        };
        ADDRESS_TXS.put(out, self.scope, &(address, asset, position), &tx_id);
        self.next.insert((address, asset), position.saturating_add(1));
        Ok(())
    }
}
