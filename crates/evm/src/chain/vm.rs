//! The chain as the machine drives it.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use alloy_consensus::Transaction as _;
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, U512};
use bytes::Bytes;
use esker_chain::{
    Backfill, BlockError, BuildContext, Built, ChainContext, ChainError, ChainStats, ChainVm,
    DropLog, ExecutedBlock, PoolFigures, Route,
};
use esker_evm_state::blocks::tables::DESTROYED;
use esker_evm_state::blocks::{History, write_block};
use esker_evm_state::logs::LogIndex;
use esker_evm_state::state::{AccountChange, ApplyOptions, StateError, StoredSlot};
use esker_evm_state::types::{Block, Header, Receipt, SealedBlock, SealedHeader, Transaction};
use esker_primitives::Id;
use esker_primitives::sync::{Mutex, RwLock};
use esker_storage::{Draft, KvRead, WriteSet};
use tokio::sync::broadcast;

use super::builder::{BuildOutcome, fill, state_failed};
use super::cache::BlockCache;
use super::config::{BuildMode, EvmConfig};
use super::genesis_source::GenesisSource;
use super::view::{Ancestors, ChainView};
use super::{ChainReadError, SubmitError};
use crate::accounts::SenderLocks;
use crate::executor::{ChainParams, SenderError, recover_sender, recover_signer};
use crate::extension::BlockExtension;
use crate::genesis::Genesis;
use crate::pool::{
    AccountRead, AccountState, NewHead, NextBlock, Pool, PoolError, PooledTx, before_recovery,
    refuse_value,
};
use crate::verify::{BlockSite, VerifyError, verify_block};
use crate::view::BadBlock;

/// Refused blocks that are remembered.
const MAX_REFUSED: usize = 10;

/// Accepted blocks that a slow subscriber may lag behind.
const EVENT_BACKLOG: usize = 256;

/// Accounts of the pool that are checked against the store at each block: all in turn, so that no defect lasts.
const CHECKED_PER_BLOCK: usize = 4;

/// A block that was executed, with what reading it again would cost.
#[derive(Clone, Debug)]
pub struct AcceptedBlock {
    /// The block.
    pub block: Block,
    /// Its hash.
    pub hash: B256,
    /// Its bytes.
    pub bytes: Bytes,
    /// One receipt for each transaction.
    pub receipts: Vec<Receipt>,
    /// Accounts that it changed, as they are after it.
    pub touched: Vec<(Address, AccountState)>,
}

/// An EVM chain.
#[derive(Debug)]
pub struct Evm {
    context: ChainContext,
    params: ChainParams,
    config: EvmConfig,
    genesis: GenesisSource,
    extension: Arc<dyn BlockExtension>,
    pool: Pool,
    head: RwLock<Arc<SealedHeader>>,
    senders: Arc<SenderLocks>,
    arrivals: AtomicU64,
    accepted_txs: AtomicU64,
    events: broadcast::Sender<Arc<AcceptedBlock>>,
    routes: OnceLock<Vec<Route>>,
    refused: Mutex<VecDeque<BadBlock>>,
    pub(super) blocks: BlockCache,
    pub(super) logs: LogIndex,
}

impl Evm {
    /// A chain over its context's store. Nothing is written before the machine opens it.
    ///
    /// # Errors
    /// The genesis can't be used, or the store can't be read.
    pub fn new(
        context: ChainContext,
        params: ChainParams,
        config: EvmConfig,
        genesis: impl Into<GenesisSource>,
        extension: Arc<dyn BlockExtension>,
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
        Ok(Arc::new(Self {
            pool: Pool::new(config.pool),
            head: RwLock::new_named("evm.head", head),
            senders: Arc::default(),
            arrivals: AtomicU64::new(0),
            accepted_txs: AtomicU64::new(0),
            events: broadcast::channel(EVENT_BACKLOG).0,
            routes: OnceLock::new(),
            refused: Mutex::new_named("evm.refused", VecDeque::new()),
            blocks: BlockCache::default(),
            logs: LogIndex::new(context.scope),
            context,
            params,
            config,
            genesis,
            extension,
        }))
    }

    /// Sets the chain's endpoints, which services over it make; the first call counts.
    pub fn set_routes(&self, routes: Vec<Route>) {
        // A second call is a defect of the wiring that changes nothing.
        let _already = self.routes.set(routes);
    }

    /// Rules and identity, for whoever runs code on this chain.
    pub fn params(&self) -> &ChainParams {
        &self.params
    }

    /// The chain's settings.
    pub fn config(&self) -> &EvmConfig {
        &self.config
    }

    /// What its blocks carry beside EVM transactions.
    pub fn extension(&self) -> &dyn BlockExtension {
        self.extension.as_ref()
    }

    /// The genesis that the chain started from.
    ///
    /// # Errors
    /// The JSON is no genesis.
    pub fn genesis_definition(&self) -> Result<Arc<Genesis>, ChainError> {
        self.genesis.definition()
    }

    /// The pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Held while a transaction gets the next nonce of its sender, until a pool has it.
    pub fn senders(&self) -> &Arc<SenderLocks> {
        &self.senders
    }

    /// The last accepted block.
    pub fn head(&self) -> Arc<SealedHeader> {
        Arc::clone(&self.head.read())
    }

    /// Accepted blocks, from now on, after their commit.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<AcceptedBlock>> {
        self.events.subscribe()
    }

    /// The chain through a reader of the store.
    pub fn view<'a>(&'a self, reader: &'a dyn KvRead) -> ChainView<'a> {
        ChainView::new(reader, self.context.scope, self.params.rules.as_ref())
    }

    /// What the next block brings, as of the clock.
    ///
    /// # Errors
    /// The head is of the history before Apricot 5.
    pub fn next_block(&self) -> Result<NextBlock, crate::rules::FeeRuleError> {
        let head = self.head();
        let time = self.context.clock.now_s().max(head.header.time);
        let terms = self.params.rules.child_terms(&head.header, time)?;
        Ok(NextBlock {
            phase: terms.phase,
            gas_limit: terms.gas_limit,
            base_fee: terms.base_fee.saturating_to(),
        })
    }

    /// Takes a transaction into the pool. Recovers its signature, so call it off the async threads.
    pub fn submit(&self, tx: Transaction) -> Result<B256, SubmitError> {
        let submitted = self.submit_quietly(tx);
        if let Err(SubmitError::Pool(error)) = &submitted {
            self.pool.count_refused(error);
        }
        submitted
    }

    /// As [`Self::submit`], without a trace in the figures where the transaction is refused.
    pub(super) fn submit_quietly(&self, tx: Transaction) -> Result<B256, SubmitError> {
        let hash = *tx.tx_hash();
        if self.pool.contains(&hash) {
            return Err(PoolError::AlreadyKnown.into());
        }
        self.context.store.ensure_writable()?;
        let next = self.next_block()?;
        before_recovery(&tx, tx.encode_2718_len(), &next)?;
        let sender =
            recover_sender(&tx, self.params.rules.chain_id()).map_err(|error| match error {
                SenderError::Type => PoolError::TypeNotSupported,
                SenderError::Signature | SenderError::ChainId { .. } => PoolError::InvalidSender,
            })?;
        let now_ms = self.context.clock.now_ms();
        let arrival = self.arrivals.fetch_add(1, Ordering::Relaxed);
        let admission = self.pool.admit(PooledTx::new(tx, sender, arrival, now_ms));
        // Not before: the pool follows the account from here on.
        admission.decide(self.read_account(&sender)?, &next, now_ms)?;
        self.context.work.notify_one();
        Ok(hash)
    }

    /// Why a transaction is refused whose value, beyond 256 bits, `tx` has no room for. The checks are those of
    /// [`Self::submit`]; `signed_hash` is what the sender signed.
    pub fn refuse_value(&self, tx: Transaction, value: U512, signed_hash: B256) -> SubmitError {
        let refuse = || {
            let next = self.next_block()?;
            before_recovery(&tx, tx.encode_2718_len(), &next)?;
            let is_here = tx.chain_id().is_none_or(|id| id == self.params.rules.chain_id());
            let sender = recover_signer(tx.signature(), &signed_hash).filter(|_| is_here);
            let sender = sender.ok_or(PoolError::InvalidSender)?;
            let state = self.read_account(&sender)?.state;
            let tx = PooledTx::new(tx.clone(), sender, 0, self.context.clock.now_ms());
            Ok(refuse_value(&tx, value, &state, &self.config.pool, &next))
        };
        refuse().map_or_else(|error: SubmitError| error, Into::into)
    }

    /// The block to build on: this chain's newest undecided one, or the tip of the store.
    fn parent(
        &self,
        reader: &dyn KvRead,
        at: &BuildContext,
    ) -> Result<SealedHeader, ChainReadError> {
        if let Some(parent) = at.ancestors.first().and_then(|block| sealed(block)) {
            return Ok(SealedHeader { header: parent.block.header.clone(), hash: parent.hash });
        }
        let view = self.view(reader);
        let tip = view.tip()?;
        let header = view.header(tip.height)?.ok_or(ChainReadError::NoTip)?;
        Ok(SealedHeader { header, hash: tip.hash })
    }

    fn with_site<R>(
        &self,
        reader: &dyn KvRead,
        parent: &SealedHeader,
        at: &BuildContext,
        work: impl FnOnce(&BlockSite<'_>) -> R,
    ) -> R {
        let undecided: Vec<_> = at
            .ancestors
            .iter()
            .filter_map(|block| sealed(block))
            .map(|sealed| sealed.block.ext_data.clone())
            .collect();
        let hashes = Ancestors::of_child(self.view(reader), parent.header.number, parent.hash);
        work(&BlockSite {
            chain: &self.params,
            reader,
            scope: self.context.scope,
            options: ApplyOptions { preimages: self.config.preimages },
            parent: &parent.header,
            parent_hash: parent.hash,
            hashes: &hashes,
            extension: self.extension.as_ref(),
            undecided: &undecided,
            has_undecided: at.has_undecided,
        })
    }

    /// Gives an executed block its last rows.
    fn seal_block(
        &self,
        reader: &dyn KvRead,
        block: Block,
        bytes: Bytes,
        processed: crate::executor::Processed,
        mut writes: WriteSet,
    ) -> Result<ExecutedBlock, ChainError> {
        let hash = self.params.rules.block_hash(&block.header);
        let receipts = processed.receipts;
        let rows = (hash, bytes.as_ref());
        let (scope, history) = (self.context.scope, self.config.history);
        write_block(reader, scope, history, &block, rows, receipts.clone(), &mut writes)?;
        let Header { parent_hash, number, time, .. } = block.header;
        if !processed.destroyed.is_zero() {
            DESTROYED.put(&mut writes, scope, &number, &StoredSlot(processed.destroyed));
        }
        let state_of = |change: &AccountChange| {
            let account = change.account.as_ref();
            account.map(|parts| AccountState { nonce: parts.nonce, balance: parts.balance })
        };
        let touched = processed.changes.iter();
        let touched = touched
            .map(|(address, change)| (*address, state_of(change).unwrap_or_default()))
            .collect();
        let sealed = AcceptedBlock { block, hash, bytes: bytes.clone(), receipts, touched };
        Ok(ExecutedBlock {
            id: Id::new(hash.0),
            parent_id: Id::new(parent_hash.0),
            height: number,
            timestamp_ms: time.saturating_mul(1000),
            bytes,
            writes: Arc::new(writes),
            payload: Arc::new(sealed),
        })
    }

    fn remember_refused(&self, block: Block, size: usize, reason: String) {
        let hash = self.params.rules.block_hash(&block.header);
        let block = Arc::new(SealedBlock { block, hash, size });
        let mut refused = self.refused.lock();
        refused.truncate(MAX_REFUSED - 1);
        refused.push_front(BadBlock { block, reason });
    }

    /// The blocks refused last, the newest first.
    pub(super) fn refused(&self) -> Vec<BadBlock> {
        self.refused.lock().iter().cloned().collect()
    }

    /// Why transactions of either kind were dropped.
    pub(super) fn drop_logs(&self) -> impl Iterator<Item = &DropLog> {
        std::iter::once(self.pool.drop_log()).chain(self.extension.drop_log())
    }

    /// Lets the pool follow a block that was accepted.
    fn settle_pool(&self, block: &AcceptedBlock) {
        let mined: HashSet<&B256> =
            block.block.transactions.iter().map(|tx| tx.tx_hash()).collect();
        // The head is that block, whose terms are known since it was verified.
        let gas_limit = self.next_block().map_or(u64::MAX, |next| next.gas_limit);
        let head = NewHead {
            height: block.block.header.number,
            accounts: &block.touched,
            is_mined: &|hash| mined.contains(hash),
            gas_limit,
            now_ms: self.context.clock.now_ms(),
        };
        self.pool.settle(&head);
        if let Err(error) = self.check_pooled_accounts(&head) {
            tracing::error!(chain = self.name(), %error, "the pool's accounts were not checked");
        }
    }

    /// Reads some of the pool's accounts anew, all in turn from block to block.
    fn check_pooled_accounts(&self, head: &NewHead<'_>) -> Result<(), SubmitError> {
        let due = self.pool.next_to_check(CHECKED_PER_BLOCK);
        if due.is_empty() {
            return Ok(());
        }
        let reader = self.context.store.snapshot()?;
        let view = self.view(reader.as_ref());
        let read = due.iter().map(|address| Ok((*address, newest(&view, address)?)));
        let accounts: Vec<_> = read.collect::<Result<_, StateError>>()?;
        let (height, is_mined) = (view.tip()?.height, |hash: &B256| {
            view.location(hash).is_ok_and(|place| place.is_some())
        });
        self.pool.settle(&NewHead { height, accounts: &accounts, is_mined: &is_mined, ..*head });
        Ok(())
    }

    /// An account in the newest state of the store.
    pub(super) fn read_account(&self, address: &Address) -> Result<AccountRead, SubmitError> {
        let reader = self.context.store.snapshot()?;
        let view = self.view(reader.as_ref());
        Ok(AccountRead { state: newest(&view, address)?, height: view.tip()?.height })
    }
}

fn newest(view: &ChainView<'_>, address: &Address) -> Result<AccountState, StateError> {
    let account = view.latest_state().account(address)?.unwrap_or_default();
    Ok(AccountState { nonce: account.nonce, balance: account.balance })
}

fn sealed(block: &ExecutedBlock) -> Option<&AcceptedBlock> {
    block.payload.downcast_ref()
}

impl From<ChainReadError> for ChainError {
    fn from(error: ChainReadError) -> Self {
        match error {
            ChainReadError::Storage(error) => error.into(),
            other => Self::Corrupted(other.to_string()),
        }
    }
}

impl ChainVm for Evm {
    fn context(&self) -> &ChainContext {
        &self.context
    }

    fn genesis(&self, out: &mut WriteSet) -> Result<(), ChainError> {
        let rules = self.params.rules.as_ref();
        let options = ApplyOptions { preimages: self.config.preimages };
        let block = self
            .genesis
            .definition()?
            .build(rules, self.context.scope, options, out)
            .map_err(|error| ChainError::Genesis(error.to_string()))?;
        let bytes = rules.encode_block(&block);
        let rows = (rules.block_hash(&block.header), bytes.as_slice());
        let empty = esker_storage::Store::memory()?;
        let below = empty.snapshot()?;
        let (scope, history) = (self.context.scope, self.config.history);
        write_block(below.as_ref(), scope, history, &block, rows, Vec::new(), out)?;
        Ok(())
    }

    fn check(&self, reader: &dyn KvRead) -> Result<(), ChainError> {
        self.genesis.forget();
        let view = self.view(reader);
        let (stored, own) = (view.hash_of(0)?, self.head.read().hash);
        let is_own = self.head.read().header.number > 0 || stored == Some(own);
        if !is_own {
            return Err(ChainError::Mismatch(format!(
                "database contains incompatible genesis (have {:x}, new {own:x}): start with the genesis \
                 and the fee settings that the folder was made with, or with another folder",
                stored.unwrap_or_default()
            )));
        }
        let tip = view.tip()?;
        if self.config.history == History::Archive && tip.oldest_state > 0 {
            return Err(ChainError::Mismatch(format!(
                "the folder was made by a pruning node and holds no state before block {}: set \
                 pruning-enabled = true, or start an archive in another folder",
                tip.oldest_state
            )));
        }
        let header = view.header(tip.height)?.ok_or(ChainReadError::NoTip)?;
        let root = view.latest_state().root().map_err(|e| ChainError::Corrupted(e.to_string()))?;
        if root != header.state_root {
            return Err(ChainError::Corrupted(format!(
                "the state of the C-Chain has root {root}, block {} says {}",
                tip.height, header.state_root
            )));
        }
        for log in self.drop_logs() {
            log.open(reader, self.context.scope)?;
        }
        *self.head.write() = Arc::new(SealedHeader { header, hash: tip.hash });
        Ok(())
    }

    fn backfill(&self) -> Result<Option<Backfill>, ChainError> {
        self.backfill_logs()
    }

    fn build(&self, parent: &dyn KvRead, at: &BuildContext) -> Result<Built, ChainError> {
        if self.pool.counts().0 == 0 && !self.extension.has_work() {
            return Ok(Built::Nothing);
        }
        let head = self.parent(parent, at)?;
        if let BuildMode::Interval(ms) = self.config.mode {
            let next_ms = head.header.time.saturating_mul(1000).saturating_add(ms);
            if at.now_ms < next_ms {
                return Ok(Built::Later(next_ms));
            }
        }
        let time = (at.now_ms / 1000).max(head.header.time);
        let filled = self.with_site(parent, &head, at, |site| fill(site, &self.pool, time));
        match filled? {
            BuildOutcome::Block(filled) => {
                let (block, processed, writes) = *filled;
                let bytes = Bytes::from(self.params.rules.encode_block(&block));
                let sealed = self.seal_block(parent, block, bytes, processed, writes)?;
                Ok(Built::Block(Box::new(sealed)))
            }
            BuildOutcome::Nothing => Ok(Built::Nothing),
            BuildOutcome::NotBefore(seconds) => Ok(Built::Later(seconds.saturating_mul(1000))),
        }
    }

    fn verify(
        &self,
        parent: &dyn KvRead,
        block: &[u8],
        at: &BuildContext,
    ) -> Result<ExecutedBlock, BlockError> {
        let bytes = Bytes::copy_from_slice(block);
        let invalid = |error: &dyn std::fmt::Display| BlockError::Invalid(error.to_string());
        let block = self.params.rules.decode_block(&bytes).map_err(|error| invalid(&error))?;
        let latest = at.now_ms / 1000 + crate::verify::MAX_FUTURE_S;
        if block.header.time > latest {
            let until_ms = (block.header.time - crate::verify::MAX_FUTURE_S).saturating_mul(1000);
            let reason = format!(
                "block timestamp is too far in the future: {} > allowed {latest}",
                block.header.time
            );
            return Err(BlockError::NotYet { until_ms, reason });
        }
        let head = self.parent(parent, at).map_err(ChainError::from)?;
        let known = |hash: &B256| self.pool.get(hash).map(|(tx, _)| tx.sender());
        let mut writes = WriteSet::default();
        let verified = self.with_site(parent, &head, at, |site| {
            verify_block(site, &block, None, &known, &mut writes)
        });
        let processed = match verified.map_err(VerifyError::internal) {
            Ok(processed) => processed,
            Err(Ok(error)) => return Err(state_failed(error).into()),
            Err(Err(error)) => {
                let refused = invalid(&error);
                self.remember_refused(block, bytes.len(), error.to_string());
                return Err(refused);
            }
        };
        Ok(self.seal_block(parent, block, bytes, processed, writes)?)
    }

    fn extend_commit(
        &self,
        blocks: &[Arc<ExecutedBlock>],
        accepted_ms: u64,
        commit: &mut Draft<'_>,
    ) {
        let blooms = blocks.iter().filter_map(|block| sealed(block));
        let blooms = blooms.map(|sealed| (sealed.block.header.number, sealed.block.header.bloom));
        self.logs.extend_commit(&blooms.collect::<Vec<_>>(), commit);
        for AcceptedBlock { block, touched, .. } in blocks.iter().filter_map(|block| sealed(block))
        {
            self.extension.before_commit(&block.ext_data, touched, accepted_ms);
        }
        // What is missing here is no part of validity; the store itself will tell of its failure.
        if let Err(error) = self.save_drops_with(accepted_ms, commit) {
            let height = blocks.last().map(|block| block.height);
            tracing::error!(%error, height, "blocks are committed without reasons of drops");
        }
    }

    fn on_accepted(&self, block: &Arc<ExecutedBlock>, _: u64) {
        let Ok(sealed) = Arc::clone(&block.payload).downcast::<AcceptedBlock>() else { return };
        self.logs.accepted(block.height, &sealed.block.header.bloom);
        let head = SealedHeader { header: sealed.block.header.clone(), hash: sealed.hash };
        *self.head.write() = Arc::new(head);
        self.extension.accepted(block.height, &sealed.block.ext_data, &sealed.touched);
        self.drop_logs().for_each(DropLog::on_committed);
        self.accepted_txs.fetch_add(sealed.receipts.len() as u64, Ordering::Relaxed);
        self.settle_pool(&sealed);
        // Nobody listening is no error.
        let _listeners = self.events.send(sealed);
        if self.pool.counts().0 > 0 || self.extension.has_work() {
            self.context.work.notify_one();
        }
    }

    fn on_rejected(&self, block: &Arc<ExecutedBlock>) {
        let Some(sealed) = sealed(block) else { return };
        for tx in &sealed.block.transactions {
            // Those made here never left the pool; of the others, those that are still valid join it.
            let _refused = self.submit_quietly(tx.clone());
        }
        self.extension.abandoned(&sealed.block.ext_data);
        self.context.work.notify_one();
    }

    fn on_verified(&self, block: &Arc<ExecutedBlock>) {
        if let Some(sealed) = sealed(block) {
            self.extension.undecided(&sealed.block.ext_data);
        }
    }

    fn block_at(&self, reader: &dyn KvRead, height: u64) -> Result<Option<Bytes>, ChainError> {
        Ok(self.view(reader).block_bytes(height)?.map(Bytes::from))
    }

    fn routes(&self) -> Vec<Route> {
        self.routes.get().cloned().unwrap_or_default()
    }

    fn health(&self) -> Result<String, String> {
        let head = self.head();
        Ok(format!("block {} {}", head.header.number, head.hash))
    }

    fn stats(&self) -> ChainStats {
        let (pending, queued) = self.pool.counts();
        ChainStats {
            height: self.head().header.number,
            mempool_txs: (pending + queued) as u64,
            mempool_bytes: self.pool.bytes() as u64,
            accepted_txs: self.accepted_txs.load(Ordering::Relaxed),
        }
    }

    fn waiting_txs(&self) -> Vec<Bytes> {
        self.journal()
    }

    fn restore_txs(&self, txs: Vec<Bytes>) -> usize {
        txs.iter().filter(|entry| self.restore(entry)).count()
    }

    fn pool_figures(&self) -> PoolFigures {
        self.pool.figures()
    }
}
