//! The EVM chain as a [`ChainVm`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use alloy_primitives::{Address, B256};
use bytes::Bytes;
use esker_chain::commitment::StateTable;
use esker_chain::snapshot::ChainSnapshot;
use esker_chain::tables::HistoryStart;
use esker_chain::{
    AfterRewind, Backfill, BlockError, BlockFigures, BlockReport, BuildContext, Built,
    ChainContext, ChainError, ChainStats, ChainVm, DropLog, ExecutedBlock, GasFigures, PoolFigures,
    Rewinding,
};
use esker_evm_execution::executor::ChainParams;
use esker_evm_execution::genesis::Genesis;
use esker_evm_state::blocks::History;
use esker_evm_state::logs::LogIndex;
use esker_evm_state::state::tables::STATE_START;
use esker_evm_state::state::{ApplyOptions, StateBase};
use esker_evm_state::types::{Block, SealedBlock, SealedHeader};
use esker_primitives::BlockId;
use esker_primitives::sync::{Mutex, RwLock};
use esker_storage::{KvRead, PendingWrites, WriteSet};
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::build_failures::BuildFailures;
use super::builder::{BuildError, BuildOutcome, MIN_TX_GAS, Selection, fill};
use super::cache::BlockCache;
use super::config::EvmConfig;
use super::error::state_failed;
use super::genesis_source::GenesisSource;
use super::pending::PendingBlocks;
use super::prepared::{PreparedBlocks, PreparedSlot};
use super::removed::RemovedBlocks;
use super::rewinds::Rewinds;
use super::view::ChainView;
use super::{AcceptedBlock, ChainReadError};
use crate::accounts::SenderLocks;
use crate::control::{Controls, Plan};
use crate::extension::BlockExtension;
use crate::fork_point::ForkPoint;
use crate::pool::{Pool, RefusedTxs};
use crate::verify::{PreparedBlock, VerifyError, verify_block};
use crate::view::{BadBlock, BlockAccepted, ChainEvent, ChainPosition};

/// Most bad blocks that are kept.
const MAX_BAD_BLOCKS: usize = 10;

/// Events that a slow subscriber may lag behind.
const EVENT_BACKLOG: usize = 256;

/// An EVM chain.
#[derive(Debug)]
pub struct Evm {
    pub(super) context: ChainContext,
    pub(super) params: ChainParams,
    pub(super) config: EvmConfig,
    pub(super) genesis: GenesisSource,
    pub(super) extension: Arc<dyn BlockExtension>,
    pub(super) pool: Pool,
    head: RwLock<Head>,
    /// Height of the first stored block after genesis, if the node joined from a snapshot.
    first_block: AtomicU64,
    pub(super) rewinds: Rewinds,
    pub(super) removed: RemovedBlocks,
    senders: Arc<SenderLocks>,
    pub(super) arrivals: AtomicU64,
    accepted_txs: AtomicU64,
    accepted_gas: AtomicU64,
    events: broadcast::Sender<ChainEvent>,
    bad_blocks: Mutex<VecDeque<BadBlock>>,
    pub(super) blocks: BlockCache,
    prepared: PreparedBlocks,
    pub(super) pending: PendingBlocks,
    pub(super) build_failures: BuildFailures,
    /// The last build lacked state of the fork, which is fetched for the next one.
    pub(super) has_lacked_state: AtomicBool,
    pub(super) logs: LogIndex,
    /// The controls of a development node.
    pub(super) controls: Option<Arc<Controls>>,
}

/// The last accepted block, and the number of rewinds before it was set.
#[derive(Debug)]
struct Head {
    header: Arc<SealedHeader>,
    rewinds: u64,
}

impl Evm {
    /// A chain over its context's store. Nothing is written before the machine opens it. On a development node blocks
    /// are built under `controls`, which the extension has as well ([`crate::control::ControlExtension`]).
    ///
    /// # Errors
    /// The genesis is unusable, or the store can't be read.
    pub fn new(
        context: ChainContext,
        params: ChainParams,
        config: EvmConfig,
        genesis: impl Into<GenesisSource>,
        extension: Arc<dyn BlockExtension>,
        controls: Option<Arc<Controls>>,
    ) -> Result<Arc<Self>, ChainError> {
        let genesis = genesis.into();
        let rules = params.rules.as_ref();
        let head = Arc::new(match genesis.stored_header(&context, rules)? {
            Some(header) => header,
            None => {
                let mut scratch = WriteSet::default();
                let options = ApplyOptions::default();
                let built =
                    genesis.definition()?.build(rules, context.scope, options, &mut scratch);
                let block = built.map_err(|error| ChainError::Genesis(error.to_string()))?;
                SealedHeader { hash: rules.block_hash(&block.header), header: block.header }
            }
        });
        let evm = Arc::new(Self {
            pool: Pool::new(config.pool).log_as(context.primary_alias()),
            head: RwLock::new_named("evm.head", Head { header: head, rewinds: 0 }),
            first_block: AtomicU64::new(0),
            rewinds: Rewinds::new(),
            removed: RemovedBlocks::new(),
            senders: Arc::default(),
            arrivals: AtomicU64::new(0),
            accepted_txs: AtomicU64::new(0),
            accepted_gas: AtomicU64::new(0),
            events: broadcast::channel(EVENT_BACKLOG).0,
            bad_blocks: Mutex::new_named("evm.refused", VecDeque::new()),
            blocks: BlockCache::default(),
            prepared: PreparedBlocks::default(),
            pending: PendingBlocks::default(),
            build_failures: BuildFailures::default(),
            has_lacked_state: AtomicBool::new(false),
            logs: LogIndex::new(context.scope),
            controls,
            context,
            params,
            config,
            genesis,
            extension,
        });
        evm.register_pool();
        Ok(evm)
    }

    /// Rules and chain ID, for executing code on this chain.
    pub fn params(&self) -> &ChainParams {
        &self.params
    }

    /// The chain's settings.
    pub fn config(&self) -> &EvmConfig {
        &self.config
    }

    /// The extension, which defines the ext data of blocks.
    pub fn extension(&self) -> &dyn BlockExtension {
        self.extension.as_ref()
    }

    /// The genesis that the chain started from.
    ///
    /// # Errors
    /// The JSON is not a genesis.
    pub fn genesis_definition(&self) -> Result<Arc<Genesis>, ChainError> {
        self.genesis.definition()
    }

    /// The pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The locks of senders. A lock is held from reading the next nonce of a sender until a pool has the transaction.
    pub fn senders(&self) -> &Arc<SenderLocks> {
        &self.senders
    }

    /// The last accepted block.
    pub fn head(&self) -> Arc<SealedHeader> {
        Arc::clone(&self.head.read().header)
    }

    /// Height of the first stored block besides genesis, if the node joined from a snapshot; else 0.
    pub fn first_block(&self) -> u64 {
        self.first_block.load(Ordering::Relaxed)
    }

    /// The height of the last accepted block, and the number of rewinds so far.
    pub fn position(&self) -> ChainPosition {
        let head = self.head.read();
        ChainPosition { height: head.header.header.number, rewinds: head.rewinds }
    }

    /// Sets the last accepted block. Returns the number of rewinds so far.
    pub(super) fn set_head(&self, header: Arc<SealedHeader>, rewinds: Option<u64>) -> u64 {
        let mut head = self.head.write();
        let rewinds = rewinds.unwrap_or(head.rewinds);
        *head = Head { header, rewinds };
        rewinds
    }

    /// Subscribes to accepted and removed blocks, sent after their commit.
    pub fn subscribe(&self) -> broadcast::Receiver<ChainEvent> {
        self.events.subscribe()
    }

    pub(super) fn send(&self, event: ChainEvent) {
        // It is not an error if there are no subscribers.
        let _listeners = self.events.send(event);
    }

    /// The chain in a reader of the store.
    pub fn view<'a>(&'a self, reader: &'a dyn KvRead) -> ChainView<'a> {
        ChainView::new(reader, self.context.scope, self.params.rules.as_ref())
            .with_base(self.state_base())
            .with_first(self.genesis.number())
    }

    /// The block of another node on which the chain began.
    pub fn fork(&self) -> Option<&ForkPoint> {
        self.genesis.fork()
    }

    /// The number of the genesis block. Below it there are no blocks. It is 0 for a chain that began on a block of another node.
    pub(crate) const fn genesis_number(&self) -> u64 {
        self.genesis.number()
    }

    /// The state on which the chain began, if that is not its genesis.
    pub(super) fn state_base(&self) -> Option<&dyn StateBase> {
        self.fork().map(|fork| fork.state.as_ref())
    }

    pub(super) fn shared_base(&self) -> Option<Arc<dyn StateBase>> {
        self.fork().map(|fork| Arc::clone(&fork.state))
    }

    /// Parses a block unless another thread has parsed it. Does not recover the senders.
    fn parse_into(
        &self,
        slot: &PreparedSlot,
        bytes: &Bytes,
    ) -> Result<Arc<PreparedBlock>, alloy_rlp::Error> {
        let rules = &self.params.rules;
        let parse = || {
            let block = rules.decode_block(bytes)?;
            Ok(Arc::new(PreparedBlock::new(block, Arc::clone(rules))))
        };
        slot.get_or_init(parse).clone()
    }

    fn pooled_sender(&self, hash: &B256) -> Option<Address> {
        self.pool.get(hash).map(|(tx, _)| tx.sender())
    }

    fn record_bad_block(&self, block: Block, size: usize, reason: String) {
        let hash = self.params.rules.block_hash(&block.header);
        let block = Arc::new(SealedBlock { block, hash, size });
        let mut refused = self.bad_blocks.lock();
        refused.truncate(MAX_BAD_BLOCKS - 1);
        refused.push_front(BadBlock { block, reason });
    }

    /// Builds the planned block.
    fn build_as(
        &self,
        plan: Plan,
        parent: &dyn KvRead,
        at: &BuildContext,
    ) -> Result<Built, ChainError> {
        let is_idle = self.pool.counts().0 == 0 && !self.extension.has_work();
        if plan == Plan::Nothing || plan == Plan::Pool && is_idle {
            return Ok(Built::Nothing);
        }
        let head = self.parent(parent, at)?;
        let now_ms = self.build_time_ms(at);
        if let Some(next_ms) = self.next_due_ms(plan, &head.header).filter(|ms| now_ms < *ms) {
            return Ok(Built::Later(next_ms));
        }
        let wanted = self.planned_time_s().unwrap_or(now_ms / 1000);
        let time = self.params.rules.child_time(&head.header, wanted);
        // On a development network quick blocks have times ahead of the clock; other nodes would refuse such blocks.
        if self.controls.is_none() && time > wanted.max(head.header.time) {
            return Ok(Built::Later(time.saturating_mul(1000)));
        }
        let only = self.only();
        let (mut left_out, mut refused) = (None, Vec::new());
        let selection = Selection { only: only.as_deref(), most: self.config.max_pool_txs };
        let filled = self.with_parent_context(parent, &head, at, |ctx| {
            fill(ctx, &self.pool, time, (plan, selection), (&mut left_out, &mut refused))
        });
        for (hash, reason) in refused {
            self.pool.withdraw(&hash, reason, now_ms);
        }
        if !matches!(filled, Ok(BuildOutcome::Block(_))) {
            self.extension.not_built();
        }
        if let Some(lacking) = filled.as_ref().err().and_then(BuildError::not_fetched) {
            self.fetch_for_build(plan, lacking);
            return Ok(Built::Nothing);
        }
        if let Some(lacking) = left_out {
            self.fetch_for_build(plan, &lacking);
        }
        let filled = self.without_refused(plan, head.header.number, filled)?;
        let Some(filled) = filled else { return Ok(Built::Nothing) };
        match filled {
            BuildOutcome::Block(filled) => {
                let (block, processed, writes) = *filled;
                let bytes = Bytes::from(self.params.rules.encode_block(&block));
                let sealed = self.seal_block(parent, block, bytes, processed, writes)?;
                self.note_built(plan, &sealed);
                Ok(Built::Block(Box::new(sealed)))
            }
            BuildOutcome::Nothing => Ok(Built::Nothing),
            BuildOutcome::NotBefore(seconds) => Ok(Built::Later(seconds.saturating_mul(1000))),
        }
    }

    /// The last bad blocks, newest first.
    pub(super) fn recent_bad_blocks(&self) -> Vec<BadBlock> {
        self.bad_blocks.lock().iter().cloned().collect()
    }

    /// The logs of dropped transactions of both kinds.
    pub(super) fn drop_logs(&self) -> impl Iterator<Item = &DropLog> {
        std::iter::once(self.pool.drop_log()).chain(self.extension.drop_log())
    }
}

impl ChainVm for Evm {
    fn context(&self) -> &ChainContext {
        &self.context
    }

    fn genesis(&self, out: &mut WriteSet) -> Result<(), ChainError> {
        match self.fork() {
            Some(fork) => self.begin_on(fork, out),
            None => self.begin(out),
        }
    }

    fn check(&self, reader: &dyn KvRead) -> Result<(), ChainError> {
        self.genesis.forget();
        let view = self.view(reader);
        let head = self.head();
        let first = self.genesis.number();
        let (stored, own) = (view.hash_of(first)?, head.hash);
        let is_own = match self.fork() {
            Some(fork) => view.hash_of(fork.header.header.number)? == Some(fork.header.hash),
            None => head.header.number > first || stored == Some(own),
        };
        if !is_own {
            return Err(ChainError::Mismatch(format!(
                "database contains incompatible genesis (have {:x}, new {own:x}): start with the genesis \
                 and the fee settings that the folder was made with, or with another folder",
                stored.unwrap_or_default()
            )));
        }
        let tip = view.tip()?;
        // A node that joined from a snapshot keeps only the states after it.
        let begun = STATE_START.get(reader, self.context.scope, &())?.unwrap_or(0);
        if self.config.history == History::Archive && tip.oldest_state > begun {
            return Err(ChainError::Mismatch(format!(
                "the folder was made by a pruning node and holds no state before block {}: set \
                 pruning-enabled = true, or start an archive in another folder",
                tip.oldest_state
            )));
        }
        let header = view.header(tip.height)?.ok_or(ChainReadError::NoTip)?;
        let is_own_root = self.fork().is_none_or(|fork| fork.header.hash != tip.hash);
        let root = view.latest_state().root().map_err(|e| ChainError::Corrupted(e.to_string()))?;
        if is_own_root && root != header.state_root {
            return Err(ChainError::Corrupted(format!(
                "the state of chain {} has root {root}, block {} says {}",
                self.name(),
                tip.height,
                header.state_root
            )));
        }
        for log in self.drop_logs() {
            log.open(reader, self.context.scope)?;
        }
        let first_block = HistoryStart::read(reader)?.first_block(&self.context.chain_id);
        self.first_block.store(first_block, Ordering::Relaxed);
        self.set_head(Arc::new(SealedHeader { header, hash: tip.hash }), None);
        Ok(())
    }

    fn backfill(&self) -> Result<Option<Backfill>, ChainError> {
        self.backfill_logs()
    }

    fn state_tables(&self) -> Vec<StateTable> {
        // The state root of each block commits to the chain's own state.
        self.extension.state_tables()
    }

    fn last_block(&self, reader: &dyn KvRead) -> Result<(u64, BlockId), ChainError> {
        let tip = self.view(reader).tip()?;
        Ok((tip.height, BlockId::new(tip.hash.0)))
    }

    fn gathers_until(&self) -> Option<Instant> {
        let waits = self.context.block_waits.as_ref()?;
        let is_asked_for = self.controls().is_some_and(|controls| !controls.mines_at_once());
        let (pending, _) = self.pool.counts();
        // A full block can take no more transactions.
        let is_full = pending as u64 >= self.head().header.gas_limit / MIN_TX_GAS;
        waits.gathers_until().filter(|_| !is_asked_for && !is_full)
    }

    fn build(&self, parent: &dyn KvRead, at: &BuildContext) -> Result<Built, ChainError> {
        let plan = self.plan();
        let waits = self.context.block_waits.as_ref();
        let waits = waits.filter(|_| !matches!(plan, Plan::Change | Plan::Only));
        let waits = waits.map(|waits| (waits, waits.build_begins()));
        let built = self.build_as(plan, parent, at);
        // Builds run one after the other. The next one comes with the state that this one lacked.
        let comes_again = self.has_lacked_state.swap(false, Ordering::Relaxed);
        if let (Some((waits, build)), Ok(Built::Nothing | Built::Later(_)) | Err(_)) =
            (waits, &built)
            && !comes_again
        {
            waits.nothing_built(build);
        }
        built
    }

    fn prepare(&self, block: &Bytes) {
        let Some(slot) = self.prepared.add(block) else { return };
        // The verdict reports the error.
        if let Ok(prepared) = self.parse_into(&slot, block) {
            drop(slot);
            prepared.compute_all(&|hash| self.pooled_sender(hash));
        }
    }

    fn verify(
        &self,
        parent: &dyn KvRead,
        block: &[u8],
        at: &BuildContext,
    ) -> Result<ExecutedBlock, BlockError> {
        let invalid = |error: &dyn std::fmt::Display| BlockError::Invalid(error.to_string());
        let (bytes, slot) = match self.prepared.take(block) {
            Some(found) => found,
            None => (Bytes::copy_from_slice(block), PreparedSlot::default()),
        };
        let prepared = self.parse_into(&slot, &bytes).map_err(|error| invalid(&error))?;
        drop(slot);
        let block = prepared.block();
        let max_future_s = self.params.rules.max_future_s();
        let latest = (at.now_ms / 1000).saturating_add(max_future_s);
        if block.header.time > latest {
            let until_ms = (block.header.time - max_future_s).saturating_mul(1000);
            let reason = format!(
                "block timestamp is too far in the future: {} > allowed {latest}",
                block.header.time
            );
            return Err(BlockError::NotYet { until_ms, reason });
        }
        let head = self.parent(parent, at).map_err(ChainError::from)?;
        let known = |hash: &B256| self.pooled_sender(hash);
        let mut writes = WriteSet::default();
        let verified = self.with_parent_context(parent, &head, at, |ctx| {
            verify_block(ctx, &prepared, None, &known, &mut writes)
        });
        // A helper thread may still hold the block.
        let block = match Arc::try_unwrap(prepared) {
            Ok(prepared) => prepared.into_block(),
            Err(prepared) => prepared.block().clone(),
        };
        let processed = match verified.map_err(VerifyError::internal) {
            Ok(processed) => processed,
            Err(Ok(error)) => return Err(state_failed(error).into()),
            Err(Err(error)) => {
                let refused = invalid(&error);
                self.record_bad_block(block, bytes.len(), error.to_string());
                return Err(refused);
            }
        };
        Ok(self.seal_block(parent, block, bytes, processed, writes)?)
    }

    fn extend_commit(
        &self,
        blocks: &[Arc<ExecutedBlock>],
        accepted_ms: u64,
        commit: &mut PendingWrites<'_>,
    ) {
        let blooms = blocks.iter().filter_map(|block| AcceptedBlock::from_executed(block));
        let blooms = blooms.map(|sealed| (sealed.block.header.number, sealed.block.header.bloom));
        self.logs.extend_commit(&blooms.collect::<Vec<_>>(), commit);
        for AcceptedBlock { block, touched, .. } in
            blocks.iter().filter_map(|block| AcceptedBlock::from_executed(block))
        {
            self.extension.before_commit(&block.ext_data, touched, accepted_ms);
        }
        // Validity does not depend on these rows. If the store fails, the commit returns its error.
        if let Err(error) = self.save_drops_with(accepted_ms, commit) {
            let height = blocks.last().map(|block| block.height);
            tracing::error!(%error, height, "blocks are committed without the reasons of dropped transactions");
        }
    }

    fn on_accepted(&self, block: &Arc<ExecutedBlock>, _: u64) {
        let Ok(sealed) = Arc::clone(&block.payload).downcast::<AcceptedBlock>() else { return };
        self.logs.accepted(block.height, &sealed.block.header.bloom);
        if let Some(controls) = self.controls() {
            controls.header_used(sealed.hash);
        }
        let head = SealedHeader { header: sealed.block.header.clone(), hash: sealed.hash };
        let rewinds = self.set_head(Arc::new(head), None);
        self.extension.accepted(block.height, &sealed.block.ext_data, &sealed.touched);
        self.drop_logs().for_each(DropLog::on_committed);
        self.accepted_txs.fetch_add(sealed.receipts.len() as u64, Ordering::Relaxed);
        self.accepted_gas.fetch_add(sealed.block.header.gas_used, Ordering::Relaxed);
        self.settle_pool(&sealed);
        if let Some(waits) = &self.context.block_waits {
            let has_more = self.pool.counts().0 > 0;
            waits.settle(sealed.receipts.len(), has_more, |tx| {
                self.pool.contains(&B256::new(*tx.as_bytes())) || self.extension.holds(tx)
            });
        }
        self.prepared.drop_through(block.height);
        let header = (sealed.hash, sealed.block.header.time);
        self.send(ChainEvent::Accepted(BlockAccepted { block: sealed, rewinds }));
        if let Some(controls) = self.controls() {
            controls.accepted(header.0, header.1);
        }
        if self.pool.counts().0 > 0 || self.extension.has_work() {
            self.context.work.notify_one();
        }
    }

    fn on_rejected(&self, block: &Arc<ExecutedBlock>) {
        let Some(sealed) = AcceptedBlock::from_executed(block) else { return };
        for tx in &sealed.block.transactions {
            // Own transactions never left the pool; valid ones of other nodes join it.
            let _refused = self.submit_uncounted(tx.clone(), RefusedTxs::None);
        }
        self.extension.abandoned(&sealed.block.ext_data);
        self.context.work.notify_one();
    }

    fn on_verified(&self, block: &Arc<ExecutedBlock>) {
        if let Some(sealed) = AcceptedBlock::from_executed(block) {
            self.extension.undecided(&sealed.block.ext_data);
        }
    }

    fn prepare_rewind<'a>(
        &'a self,
        rewind: &mut Rewinding<'_>,
    ) -> Result<AfterRewind<'a>, ChainError> {
        self.prepare(rewind)
    }

    fn block_at(&self, reader: &dyn KvRead, height: u64) -> Result<Option<Bytes>, ChainError> {
        Ok(self.view(reader).block_bytes(height)?.map(Bytes::from))
    }

    fn snapshot(&self) -> Option<&dyn ChainSnapshot> {
        // Of the state of a fork only what was read is here. A chain restored from a snapshot has its genesis at 0.
        (self.fork().is_none() && self.genesis_number() == 0).then_some(self)
    }

    fn health(&self) -> Result<String, ChainError> {
        let head = self.head();
        let block = format!("block {} {}", head.header.number, head.hash);
        Ok(match self.first_block() {
            0 => block,
            first => format!("{block}, history from block {first}"),
        })
    }

    fn block_figures(&self, block: &ExecutedBlock) -> BlockFigures {
        let Some(AcceptedBlock { block, hash, receipts, .. }) = AcceptedBlock::from_executed(block)
        else {
            return BlockFigures::default();
        };
        BlockFigures {
            hash: hash.to_string(),
            is_empty: receipts.is_empty() && block.ext_data.is_empty(),
            txs: receipts.len() as u64,
            gas: Some(block.header.gas_used),
            base_fee: block.header.base_fee.map(|fee| fee.saturating_to()),
        }
    }

    fn block_report(&self, block: &ExecutedBlock) -> BlockReport {
        AcceptedBlock::from_executed(block)
            .map_or_else(BlockReport::default, |block| self.report(block))
    }

    fn stats(&self) -> ChainStats {
        let (pending, queued) = self.pool.counts();
        let head = self.head();
        ChainStats {
            height: head.header.number,
            first_block: self.first_block(),
            last_block_s: head.header.time,
            mempool_txs: (pending + queued) as u64,
            mempool_bytes: self.pool.bytes() as u64,
            accepted_txs: self.accepted_txs.load(Ordering::Relaxed),
            gas: Some(GasFigures {
                used: self.accepted_gas.load(Ordering::Relaxed),
                last_used: head.header.gas_used,
                last_limit: head.header.gas_limit,
                base_fee: head.header.base_fee.map(|fee| fee.saturating_to()),
            }),
        }
    }

    fn waiting_txs(&self) -> Vec<Bytes> {
        self.journal()
    }

    fn restore_txs(&self, txs: Vec<Bytes>) -> usize {
        txs.iter().filter(|entry| self.restore(entry)).count()
    }

    fn drop_waiting_txs(&self) {
        self.drop_all_transactions();
        self.extension.drop_waiting_txs();
    }

    fn pool_figures(&self) -> PoolFigures {
        self.pool.figures()
    }

    fn atomic_pool_figures(&self) -> Option<(u64, PoolFigures)> {
        self.extension.pool_figures()
    }
}
