//! A chain of the asset VM: identity, what it holds in memory, and its side of the machine's contract.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use esker_chain::commitment::StateTable;
use esker_chain::snapshot::ChainSnapshot;
use esker_chain::tables::HistoryStart;
use esker_chain::{
    AfterRewind, BlockError, BlockFigures, BlockReport, BuildContext, Built, ChainContext,
    ChainError, ChainStats, ChainVm, DropLog, ExecutedBlock, PoolFigures, Rewinding, TxReport,
    Wakeup,
};
use esker_keystore::{Keystore, UserQueues};
use esker_primitives::{BlockId, Id, TxId};
use esker_storage::{KvRead, PendingWrites, Scope, StorageError, StorageResult, WriteSet};
use esker_transactions::xvm::{Block, Tx};
use esker_utxo::{FxKind, Utxo};

use crate::assets::GenesisAssets;
use crate::events::{BlockEvent, EventHub};
use crate::execute::{BlockPayload, Rules, add_utxo, asset_record, write_block};
use crate::figures::{PoolCounters, RejectKind};
use crate::genesis::{Genesis, GenesisError};
use crate::index::{AddressIndex, IndexProgress};
use crate::mempool::{Mempool, MempoolLimits, Pooled};
use crate::state::tables::{
    ACCEPTED_AT, ASSETS, GENESIS, GenesisRecord, REJECTED, TIP, TXS, TxRecord,
};
use crate::state::{ChainState, View, tables};
use crate::status::Undecided;
use crate::verify::syntactic::Params;
use crate::wallet::WalletQueue;
use crate::{builder, log, rewind};

/// Settings of one chain.
#[derive(Clone, Debug)]
pub struct XvmConfig {
    /// Fee of every transaction but those that create assets, in the fee asset's smallest unit.
    pub tx_fee: u64,
    /// Fee of creating an asset.
    pub create_asset_tx_fee: u64,
    /// Whether transactions are listed by address (`index-transactions`;
    /// docs/decisions.md, "Transactions by address").
    pub index_transactions: bool,
    /// Limits of the pool.
    pub mempool: MempoolLimits,
    /// Users whose keys the methods that sign use; without it they know no user.
    pub keystore: Arc<Keystore>,
}

impl Default for XvmConfig {
    /// The fees of the reference's local network; the index is on.
    fn default() -> Self {
        Self {
            tx_fee: 1_000_000,
            create_asset_tx_fee: 1_000_000,
            index_transactions: true,
            mempool: MempoolLimits::default(),
            keystore: Keystore::disabled(),
        }
    }
}

/// One chain of the asset VM. Any number of them may run over one store.
#[derive(Debug)]
pub struct Xvm {
    context: ChainContext,
    params: Params,
    genesis: Genesis,
    genesis_txs: Vec<Tx>,
    genesis_block: Block,
    assets: GenesisAssets,
    accepted_height: AtomicU64,
    /// Height of the first stored block besides genesis, if the node joined from a snapshot.
    first_block: AtomicU64,
    /// Time of the last accepted block, Unix s.
    accepted_time: AtomicU64,
    accepted_txs: AtomicU64,
    pub(crate) mempool: Mempool,
    pub(crate) counters: PoolCounters,
    pub(crate) undecided: Undecided,
    pub(crate) rejections: DropLog,
    pub(crate) wallet: WalletQueue,
    /// One call of a user at a time builds a transaction.
    pub(crate) user_queues: UserQueues,
    pub(crate) keystore: Arc<Keystore>,
    pub(crate) index: AddressIndex,
    pub(crate) events: Arc<EventHub>,
    pub(crate) maintenance: Arc<Wakeup>,
}

impl Xvm {
    /// The chain of that genesis and first block. It becomes usable when the machine has opened it
    /// ([`ChainVm::genesis`], [`ChainVm::check`]).
    ///
    /// # Errors
    /// The genesis has no asset to pay fees in.
    pub fn new(
        context: ChainContext,
        config: XvmConfig,
        genesis: Genesis,
        genesis_block: Block,
    ) -> Result<Arc<Self>, GenesisError> {
        let genesis_txs: Vec<Tx> = genesis.assets.iter().map(|asset| asset.to_tx()).collect();
        let fee_asset_id = genesis_txs.first().map(Tx::id).ok_or(GenesisError::NoAssets)?;
        let assets = GenesisAssets::new(
            &genesis,
            &genesis_txs,
            &context.native_aliases,
            context.native_asset_id,
        );
        let params = Params {
            network_id: context.network_id,
            chain_id: context.chain_id,
            fee_asset_id,
            tx_fee: config.tx_fee,
            create_asset_tx_fee: config.create_asset_tx_fee,
            fx_count: u32::try_from(FxKind::ALL.len()).unwrap_or(u32::MAX),
        };
        let vm = Arc::new(Self {
            context,
            params,
            genesis,
            genesis_txs,
            genesis_block,
            assets,
            accepted_height: AtomicU64::new(0),
            first_block: AtomicU64::new(0),
            accepted_time: AtomicU64::new(0),
            accepted_txs: AtomicU64::new(0),
            mempool: Mempool::new(config.mempool),
            counters: PoolCounters::new(),
            undecided: Undecided::new(),
            rejections: DropLog::new(&REJECTED, "xvm.rejections"),
            wallet: WalletQueue::new(),
            user_queues: UserQueues::default(),
            keystore: config.keystore,
            index: AddressIndex::new(config.index_transactions),
            events: EventHub::new(),
            maintenance: Arc::default(),
        });
        vm.register_pool();
        Ok(vm)
    }

    /// The chain's context.
    pub fn context(&self) -> &ChainContext {
        &self.context
    }

    /// Identity, fees and extensions of the chain.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Names of assets.
    pub fn assets(&self) -> &GenesisAssets {
        &self.assets
    }

    /// One snapshot to read from.
    pub fn view(&self) -> StorageResult<View<'_>> {
        Ok(View::new(self, self.context.store.snapshot()?))
    }

    /// Open subscriptions of websockets by kind, for metrics. The list of kinds is constant.
    pub fn subscription_counts(&self) -> Vec<(&'static str, u64)> {
        self.events.slots().counts()
    }

    /// How far the address-transaction index is.
    pub fn index_progress(&self) -> IndexProgress {
        self.index.progress(self.accepted_height())
    }

    /// Height of the last accepted block.
    pub fn accepted_height(&self) -> u64 {
        self.accepted_height.load(Ordering::Acquire)
    }

    /// Height of the first stored block besides genesis, if the node joined from a snapshot; else 0.
    pub fn first_block(&self) -> u64 {
        self.first_block.load(Ordering::Relaxed)
    }

    /// Sets the height of the last accepted block, and its time (Unix s).
    pub(crate) fn set_accepted(&self, height: u64, time_s: u64) {
        self.accepted_height.store(height, Ordering::Release);
        self.accepted_time.store(time_s, Ordering::Relaxed);
    }

    pub(crate) fn scope(&self) -> Scope {
        self.context.scope
    }

    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules {
            context: &self.context,
            params: &self.params,
            genesis_assets: self.assets.fx_bits(),
        }
    }

    /// The transactions that create the assets of the genesis.
    pub(crate) fn genesis_txs(&self) -> &[Tx] {
        &self.genesis_txs
    }

    /// The outputs of the genesis.
    pub(crate) fn genesis_utxos(&self) -> impl Iterator<Item = Utxo> {
        self.genesis_txs.iter().flat_map(Tx::produced_utxos)
    }

    /// Whether a transaction waits for a block or for a decision.
    pub(crate) fn is_processing(&self, id: &TxId) -> bool {
        self.mempool.contains(id) || self.undecided.has_tx(id) || self.wallet.contains(id)
    }

    /// A transaction can't be accepted any more.
    pub(crate) fn reject(&self, id: TxId, kind: RejectKind, reason: String) {
        self.counters.count_rejected(kind);
        self.rejections.add(id, reason, self.context.clock.now_ms());
    }

    fn genesis_record(&self) -> GenesisRecord {
        GenesisRecord {
            block_id: self.genesis_block.id(),
            digest: Id::sha256(&self.genesis.to_bytes()),
        }
    }

    /// Waiting transactions that a block makes impossible, with the reason.
    fn conflicting_txs(&self, payload: &BlockPayload) -> Vec<(TxId, String)> {
        let conflicts = self.mempool.conflicts(&payload.consumed);
        let reason = |winner| format!("conflicts with accepted transaction {winner}");
        let lost = |(loser, winner)| self.with_descendants(loser, reason(winner));
        conflicts.into_iter().flat_map(lost).collect()
    }

    /// Whether a transaction of an abandoned block may still be accepted. One that can't is rejected.
    fn is_possible(&self, tx: &Tx) -> StorageResult<bool> {
        let id = tx.id();
        let reader = self.context.store.snapshot()?;
        if ChainState::new(reader.as_ref(), self.scope()).has_tx(&id)? {
            return Ok(false);
        }
        let now_s = self.context.clock.now_s();
        let pooled = Pooled::new(tx.clone(), true);
        let Some(reason) = self.refusal_in_pool(&pooled, reader.as_ref(), now_s)? else {
            return Ok(true);
        };
        // Rejected already, for the transaction that was accepted in its place.
        if self.rejections.get(reader.as_ref(), self.scope(), &id)?.is_some() {
            return Ok(false);
        }
        if self.undecided.may_provide_inputs(tx) {
            return Ok(true);
        }
        self.reject(id, RejectKind::Invalid, reason);
        Ok(false)
    }

    fn add_index_rows(
        &self,
        blocks: &[Arc<ExecutedBlock>],
        accepted_ms: u64,
        commit: &mut PendingWrites<'_>,
    ) -> StorageResult<()> {
        for block in blocks {
            self.index.extend_commit(self.scope(), block, commit)?;
            for (id, reason) in BlockPayload::of(block).iter().flat_map(|p| self.conflicting_txs(p))
            {
                // Unseen until the commit is done: the pool still has the transaction.
                self.rejections.add(id, reason, accepted_ms);
            }
        }
        self.rejections.extend_commit(self.scope(), accepted_ms, commit)
    }
}

impl ChainVm for Xvm {
    fn context(&self) -> &ChainContext {
        &self.context
    }

    fn genesis(&self, out: &mut WriteSet) -> Result<(), ChainError> {
        let scope = self.scope();
        for (asset, tx) in self.genesis.assets.iter().zip(&self.genesis_txs) {
            TXS.put(out, scope, &tx.id(), &TxRecord::Inline(tx.bytes().to_vec()));
            ASSETS.put(out, scope, &tx.id(), &asset_record(&asset.tx));
            for utxo in tx.produced_utxos() {
                add_utxo(out, scope, &self.params.fee_asset_id, &utxo);
            }
        }
        write_block(out, scope, &self.genesis_block)?;
        self.index.genesis(out, scope);
        GENESIS.put(out, scope, &(), &self.genesis_record());
        Ok(())
    }

    fn check(&self, reader: &dyn KvRead) -> Result<(), ChainError> {
        let scope = self.scope();
        let name = self.name();
        match GENESIS.get(reader, scope, &())? {
            Some(record) if record == self.genesis_record() => {}
            Some(_) => {
                return Err(ChainError::Mismatch(format!(
                    "the data of chain {name} belongs to another genesis"
                )));
            }
            None => {
                return Err(ChainError::Corrupted(format!("chain {name} has no genesis record")));
            }
        }
        let state = ChainState::new(reader, scope);
        let tip = state.tip()?;
        let stored = state.block(tip.height)?.map(|bytes| Id::sha256(&bytes));
        if stored != Some(tip.id) {
            return Err(ChainError::Corrupted(format!(
                "block {} of chain {name} is missing or damaged",
                tip.height
            )));
        }
        self.set_accepted(tip.height, tip.time_s);
        self.events.open(tip.height);
        self.rejections.open(reader, scope)?;
        let first_block = HistoryStart::of(reader)?.first_block(&self.context.chain_id);
        self.first_block.store(first_block, Ordering::Relaxed);
        self.index.open(state, first_block)?;
        Ok(())
    }

    fn state_tables(&self) -> Vec<StateTable> {
        tables::STATE.to_vec()
    }

    fn last_block(&self, reader: &dyn KvRead) -> Result<(u64, BlockId), ChainError> {
        let tip = ChainState::new(reader, self.scope()).tip()?;
        Ok((tip.height, tip.id))
    }

    fn build(&self, parent: &dyn KvRead, at: &BuildContext) -> Result<Built, ChainError> {
        let waits = self.context.block_waits.as_ref();
        let waits = waits.map(|waits| (waits, waits.build_begins()));
        let built = builder::build(self, parent, at);
        if let (Some((waits, build)), Ok(Built::Nothing | Built::Later(_)) | Err(_)) =
            (waits, &built)
        {
            waits.nothing_built(build);
        }
        built
    }

    fn verify(
        &self,
        parent: &dyn KvRead,
        block: &[u8],
        at: &BuildContext,
    ) -> Result<ExecutedBlock, BlockError> {
        builder::verify(self, parent, block, at)
    }

    fn extend_commit(
        &self,
        blocks: &[Arc<ExecutedBlock>],
        accepted_ms: u64,
        commit: &mut PendingWrites<'_>,
    ) {
        for block in blocks {
            ACCEPTED_AT.put(commit, self.scope(), &block.height, &accepted_ms);
        }
        // A missing row does not affect validity. If the store fails, its own errors report that.
        if let Err(error) = self.add_index_rows(blocks, accepted_ms, commit) {
            let height = blocks.last().map(|block| block.height);
            tracing::error!(%error, height, "blocks are committed without their index rows");
        }
    }

    fn on_accepted(&self, block: &Arc<ExecutedBlock>, accepted_ms: u64) {
        self.set_accepted(block.height, block.timestamp_ms / 1000);
        let Some(payload) = BlockPayload::of(block) else { return };
        for tx in &payload.txs {
            log::accepted(tx, block.height, &self.context);
        }
        let ids: Vec<TxId> = payload.txs.iter().map(Tx::id).collect();
        let count = ids.len() as u64;
        self.accepted_txs.fetch_add(count, Ordering::Relaxed);
        self.mempool.accepted(block.height, &ids, &payload.consumed);
        let impossible = self.conflicting_txs(payload);
        for (id, reason) in impossible {
            // Those that came after the commit was extended are new here, and saved with the next commit.
            self.counters.count_rejected(RejectKind::Conflict);
            self.rejections.add_once(id, reason, accepted_ms);
            self.mempool.remove([&id]);
            self.wallet_decided(&id);
        }
        self.rejections.on_committed();
        self.undecided.remove(block);
        for id in &ids {
            self.wallet_decided(id);
        }
        if let Some(waits) = &self.context.block_waits {
            waits.settle(ids.len(), self.mempool.size().0 > 0, |tx| {
                self.mempool.contains(tx) || self.wallet.contains(tx)
            });
        }
        self.events.accepted(block.height, || Some(BlockEvent::executed(block, payload)));
        self.maintenance.wake();
    }

    fn on_rejected(&self, block: &Arc<ExecutedBlock>) {
        self.undecided.remove(block);
        for tx in BlockPayload::of(block).into_iter().flat_map(|payload| &payload.txs) {
            // Most never left the pool; those of other nodes' blocks are new to it. Where the store fails, the builder
            // finds out.
            if self.mempool.contains(&tx.id()) || !self.is_possible(tx).unwrap_or(true) {
                continue;
            }
            if let Err(error) = self.pool(Pooled::new(tx.clone(), true))
                && !self.undecided.has_tx(&tx.id())
            {
                let reason = format!("its block was abandoned: {error}");
                self.reject(tx.id(), RejectKind::of_return(&error), reason);
            }
        }
        self.context.work.notify_one();
    }

    fn on_verified(&self, block: &Arc<ExecutedBlock>) {
        self.undecided.add(block);
    }

    fn prepare_rewind<'a>(
        &'a self,
        rewind: &mut Rewinding<'_>,
    ) -> Result<AfterRewind<'a>, ChainError> {
        rewind::prepare(self, rewind)
    }

    fn block_at(&self, reader: &dyn KvRead, height: u64) -> Result<Option<Bytes>, ChainError> {
        Ok(ChainState::new(reader, self.scope()).block(height)?)
    }

    fn snapshot(&self) -> Option<&dyn ChainSnapshot> {
        Some(self)
    }

    fn health(&self) -> Result<String, String> {
        self.context
            .store
            .snapshot()
            .and_then(|reader| TIP.get(reader.as_ref(), self.scope(), &()))
            .and_then(|tip| tip.ok_or_else(|| StorageError::Corrupted("no last block".into())))
            .map(|tip| match self.index.progress(tip.height) {
                IndexProgress::Building { indexed, height } => {
                    format!("height {height}, address transactions indexed up to {indexed}")
                }
                IndexProgress::Off | IndexProgress::Complete | IndexProgress::Unfillable { .. } => {
                    format!("height {}", tip.height)
                }
            })
            .map(|height| match self.first_block() {
                0 => height,
                first => format!("{height}, history from block {first}"),
            })
            .map_err(|error| error.to_string())
    }

    fn waiting_txs(&self) -> Vec<Bytes> {
        self.journal()
    }

    fn drop_waiting_txs(&self) {
        self.empty_pools();
    }

    fn restore_txs(&self, txs: Vec<Bytes>) -> usize {
        txs.iter().filter(|entry| self.restore(entry)).count()
    }

    fn block_figures(&self, block: &ExecutedBlock) -> BlockFigures {
        let txs = BlockPayload::of(block).map_or(0, |payload| payload.txs.len() as u64);
        BlockFigures {
            hash: block.id.to_string(),
            is_empty: txs == 0,
            txs,
            ..BlockFigures::default()
        }
    }

    fn block_report(&self, block: &ExecutedBlock) -> BlockReport {
        let txs = BlockPayload::of(block).map_or(&[][..], |payload| &payload.txs);
        let txs = txs.iter().map(|tx| TxReport {
            id: tx.id().to_string(),
            kind: Some(tx.unsigned().kind()),
            ..TxReport::default()
        });
        BlockReport { hash: block.id.to_string(), txs: txs.collect() }
    }

    fn stats(&self) -> ChainStats {
        let (txs, bytes) = self.mempool.size();
        ChainStats {
            height: self.accepted_height(),
            first_block: self.first_block(),
            last_block_s: self.accepted_time.load(Ordering::Relaxed),
            mempool_txs: txs as u64,
            mempool_bytes: bytes as u64,
            accepted_txs: self.accepted_txs.load(Ordering::Relaxed),
            gas: None,
        }
    }

    fn pool_figures(&self) -> PoolFigures {
        self.counters.figures()
    }
}
