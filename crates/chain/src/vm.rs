//! The interface of a chain for the machine and the node.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use esker_primitives::BlockId;
use esker_storage::{KvRead, PendingWrites, WriteSet};
use tokio::time::Instant;

use crate::commitment::StateTable;
use crate::context::ChainContext;
use crate::error::{BlockError, ChainError};
use crate::figures::{ChainStats, PoolFigures};
use crate::report::BlockReport;
use crate::snapshot::ChainSnapshot;

/// A block with the changes that its acceptance makes.
#[derive(Clone)]
pub struct ExecutedBlock {
    /// Hash of the block.
    pub id: BlockId,
    /// Hash of the parent block.
    pub parent_id: BlockId,
    /// The number of blocks before this one: genesis has height 0.
    pub height: u64,
    /// The block's timestamp, Unix ms.
    pub timestamp_ms: u64,
    /// The encoded block, as sent and stored.
    pub bytes: Bytes,
    /// Changes of the chain's state, its indexes and shared memory.
    pub writes: Arc<WriteSet>,
    /// The parsed block, in the chain's type: no block is parsed twice.
    pub payload: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for ExecutedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutedBlock")
            .field("id", &self.id)
            .field("height", &self.height)
            .field("bytes", &self.bytes.len())
            .field("writes", &self.writes.len())
            .finish_non_exhaustive()
    }
}

/// The inputs of building or verifying a block, besides its parent's state.
#[derive(Clone, Debug, Default)]
pub struct BuildContext {
    /// The node's clock, Unix ms. It determines when to build and how long to wait, never validity.
    pub now_ms: u64,
    /// The chain's undecided ancestors of the block, newest first.
    pub ancestors: Vec<Arc<ExecutedBlock>>,
    /// Some bundle is undecided, an ancestor or another one: an input that is missing now may still appear.
    pub has_undecided: bool,
}

/// The result of [`ChainVm::build`].
#[derive(Debug)]
pub enum Built {
    /// A valid block on the given parent.
    Block(Box<ExecutedBlock>),
    /// The chain has no work. It notifies [`ChainContext::work`] when it has.
    Nothing,
    /// A block with the pending work is valid only from this Unix time in ms.
    Later(u64),
}

/// A rewind under construction: the final bundles that it removes, newest first, in one write.
pub struct Rewinding<'a> {
    /// The store before the rewind.
    pub before: &'a dyn KvRead,
    /// The store after the rewind: changed rows have their previous values. Rows written here join the rewind's
    /// write.
    pub after: PendingWrites<'a>,
    /// Acceptance time of the oldest rewound bundle, Unix ms.
    pub since_ms: u64,
}

impl fmt::Debug for Rewinding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rewinding").field("since_ms", &self.since_ms).finish_non_exhaustive()
    }
}

/// Updates a chain's memory after a rewind.
pub type AfterRewind<'a> = Box<dyn FnOnce() + 'a>;

/// Figures of an accepted block, for logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockFigures {
    /// The block's hash, as clients of the chain see it.
    pub hash: String,
    /// Whether the block has no transaction of any kind.
    pub is_empty: bool,
    /// Transactions in the block; those that move assets between chains are counted on the X-Chain only.
    pub txs: u64,
    /// Gas that its transactions used, if the chain has gas.
    pub gas: Option<u64>,
    /// Its base fee, wei a gas, if the chain has gas. A larger one is shown as the largest number.
    pub base_fee: Option<u64>,
}

/// The progress of [`ChainVm::backfill`] on an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backfill {
    /// Name of the index, for logs.
    pub index: &'static str,
    /// Indexed blocks.
    pub done: u64,
    /// Blocks to index.
    pub total: u64,
}

/// One chain. Several threads call its methods; only the machine calls those that build, verify and accept, one at a
/// time.
///
/// Validity depends only on a block's bytes and the state in `parent`: two nodes that see the same blocks agree
/// (docs/decisions.md, "Time in a block").
pub trait ChainVm: Send + Sync + fmt::Debug + 'static {
    /// The chain's context: its identity, stores and neighbours.
    fn context(&self) -> &ChainContext;

    /// A short name for logs and health checks: the chain's first alias.
    fn name(&self) -> String {
        self.context().primary_alias()
    }

    /// Writes the state of height 0 to a store without rows of this chain.
    fn genesis(&self, out: &mut WriteSet) -> Result<(), ChainError>;

    /// At start: checks that the stored state belongs to this genesis and agrees with its tip. Writes nothing.
    fn check(&self, reader: &dyn KvRead) -> Result<(), ChainError>;

    /// At start, after [`Self::check`]: fills an index that is behind the tip, one bounded step in a separate commit.
    /// `None`: all indexes are complete, and the chain can be read and extended. The caller has no open snapshot, and
    /// the chain opens none while it writes. After a failure, the next start continues.
    fn backfill(&self) -> Result<Option<Backfill>, ChainError> {
        Ok(None)
    }

    /// The tables whose rows a later block's validity depends on, and which the chain's blocks do not commit to. Their
    /// rows must follow from the blocks alone: no index, no time of acceptance. The list never changes for a running
    /// network (docs/protocol/bundles.md, "State commitment").
    fn state_tables(&self) -> Vec<StateTable>;

    /// Height and ID of the last block in `reader`.
    fn last_block(&self, reader: &dyn KvRead) -> Result<(u64, BlockId), ChainError>;

    /// Until when the next block waits for more transactions ([`BlockWaits::gathers_until`](crate::BlockWaits::gathers_until)); `None`: it does
    /// not.
    fn gathers_until(&self) -> Option<Instant> {
        None
    }

    /// Builds a block from pooled transactions on the state in `parent`.
    fn build(&self, parent: &dyn KvRead, at: &BuildContext) -> Result<Built, ChainError>;

    /// Does the part of [`Self::verify`] that needs no state, for a block that may be verified soon: parses it, checks
    /// signatures. Called on helper threads, for several blocks at once. The chain keeps a limited number of results;
    /// verdicts never depend on them.
    fn prepare(&self, _block: &Bytes) {}

    /// Fully verifies a block of any origin and executes it on the state in `parent`.
    fn verify(
        &self,
        parent: &dyn KvRead,
        block: &[u8],
        at: &BuildContext,
    ) -> Result<ExecutedBlock, BlockError>;

    /// Adds rows to the commit of blocks that their validity does not depend on: the acceptance time (Unix ms), and
    /// the transactions that the blocks invalidate. The blocks are consecutive. `commit` shows the accepted state
    /// before the first block, and all additions. The commit may still fail, so this call must not publish anything.
    fn extend_commit(
        &self,
        blocks: &[Arc<ExecutedBlock>],
        accepted_ms: u64,
        commit: &mut PendingWrites<'_>,
    );

    /// The block was executed and waits for a decision. Called once for each bundle with the block. One call of
    /// [`Self::on_accepted`] or [`Self::on_rejected`] follows for the same bundle.
    fn on_verified(&self, block: &Arc<ExecutedBlock>);

    /// A quorum voted for a bundle with the block. Called at most once for a bundle, after [`Self::on_verified`].
    fn on_notarized(&self, _block: &Arc<ExecutedBlock>) {}

    /// The block is durable: update caches, mempool and subscribers. `accepted_ms` is Unix ms. The store may already
    /// have later blocks of the same commit.
    fn on_accepted(&self, block: &Arc<ExecutedBlock>, accepted_ms: u64);

    /// A bundle with the block was abandoned. The block's transactions return to the mempool, unless another bundle
    /// with the block was accepted.
    fn on_rejected(&self, block: &Arc<ExecutedBlock>);

    /// Prepares a rewind, also of bundles without blocks of this chain. Corrects rows that depend on the chain's
    /// blocks but were written by other commits. Reads all that the update of memory needs: the write may still fail,
    /// so this call must not publish anything. The machine calls the returned closure after the write.
    /// [`esker_storage::Store::upkeep`] is locked from before this call until after the closure.
    ///
    /// Transactions of rewound blocks are lost. Pooled transactions are checked against the restored state.
    fn prepare_rewind<'a>(
        &'a self,
        rewind: &mut Rewinding<'_>,
    ) -> Result<AfterRewind<'a>, ChainError>;

    /// Bytes of the accepted block at a height.
    fn block_at(&self, reader: &dyn KvRead, height: u64) -> Result<Option<Bytes>, ChainError>;

    /// The chain's part of state snapshots; `None`: a node with the chain neither gives nor takes one.
    fn snapshot(&self) -> Option<&dyn ChainSnapshot> {
        None
    }

    /// The message of the health report.
    ///
    /// # Errors
    /// The chain is unhealthy.
    fn health(&self) -> Result<String, ChainError>;

    /// Figures of one of the chain's accepted blocks, for logs. The call is cheap.
    fn block_figures(&self, block: &ExecutedBlock) -> BlockFigures {
        BlockFigures { hash: block.id.to_string(), ..BlockFigures::default() }
    }

    /// The content of one of the chain's accepted blocks. The call is cheap.
    fn block_report(&self, block: &ExecutedBlock) -> BlockReport {
        BlockReport { hash: self.block_figures(block).hash, ..BlockReport::default() }
    }

    /// Figures for metrics. The call is cheap.
    fn stats(&self) -> ChainStats;

    /// The pooled transactions in the chain's own encoding, in an order in which [`Self::restore_txs`] can pool them
    /// again. Called after everything else has stopped; on a development node also for a snapshot.
    fn waiting_txs(&self) -> Vec<Bytes> {
        Vec::new()
    }

    /// Pools the transactions that [`Self::waiting_txs`] returned before the node stopped, and records why others
    /// became invalid. Returns the number of pooled ones. Called after [`Self::check`], before anything else runs; on a
    /// development node also after a rewind.
    fn restore_txs(&self, _txs: Vec<Bytes>) -> usize {
        0
    }

    /// Empties the pools: those of a snapshot follow. Transactions of undecided blocks may stay.
    fn drop_waiting_txs(&self) {}

    /// Figures of the pool for metrics. The call is cheap. The list of reasons is constant.
    fn pool_figures(&self) -> PoolFigures {
        PoolFigures::default()
    }

    /// Like [`Self::pool_figures`], for the pool of transactions that move assets between chains, and how many wait
    /// in it; `None`: the chain has no such pool.
    fn atomic_pool_figures(&self) -> Option<(u64, PoolFigures)> {
        None
    }
}
