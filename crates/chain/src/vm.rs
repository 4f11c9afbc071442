//! One chain, as the machine and the node see it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use esker_primitives::BlockId;
use esker_rpc::Service;
use esker_rpc::positional::Server;
use esker_rpc::socket::SocketDialect;
use esker_storage::{KvRead, PendingWrites, WriteSet};

use crate::{BlockError, ChainContext, ChainError};

/// A block with everything that accepting it changes.
#[derive(Clone)]
pub struct ExecutedBlock {
    /// Hash of the block.
    pub id: BlockId,
    /// Hash of the block before it.
    pub parent_id: BlockId,
    /// Blocks since genesis, which has height 0.
    pub height: u64,
    /// The block's own time, Unix ms.
    pub timestamp_ms: u64,
    /// The block's bytes, as they travel and as they are stored.
    pub bytes: Bytes,
    /// What the block changes in the chain's state, its indexes and shared memory.
    pub writes: Arc<WriteSet>,
    /// The chain's own form of the block, so that nothing is parsed twice.
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

/// What a block is built on or verified against, beside its parent's state.
#[derive(Clone, Debug, Default)]
pub struct BuildContext {
    /// The node's clock, Unix ms. It decides when to build and how long to wait, never what is valid.
    pub now_ms: u64,
    /// This chain's blocks between the final state and the block in question, newest first.
    pub ancestors: Vec<Arc<ExecutedBlock>>,
    /// Something is undecided, here or beside: what is missing in the accepted state may yet come.
    pub has_undecided: bool,
}

/// What [`ChainVm::build`] came to.
#[derive(Debug)]
pub enum Built {
    /// A valid block on the given parent.
    Block(Box<ExecutedBlock>),
    /// There is no work; the chain calls [`ChainContext::work`] when there is.
    Nothing,
    /// There is work that no block may hold before this Unix time in ms.
    Later(u64),
}

/// Bundles that are about to be taken back, newest first, in one write.
pub struct Rewinding<'a> {
    /// The store as it is.
    pub before: &'a dyn KvRead,
    /// The store as it will be: the rows that the bundles changed are as they were before. What is written here is part
    /// of the write.
    pub after: PendingWrites<'a>,
    /// When the oldest of the bundles was accepted, Unix ms.
    pub since_ms: u64,
}

impl fmt::Debug for Rewinding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rewinding").field("since_ms", &self.since_ms).finish_non_exhaustive()
    }
}

/// Lets a chain's memory follow once its bundles are taken back.
pub type AfterRewind<'a> = Box<dyn FnOnce() + 'a>;

/// One HTTP endpoint of a chain, below `/ext/bc/<alias or ID>`.
#[derive(Clone, Debug)]
pub struct Route {
    /// What follows the chain's name: empty, or a path such as `/wallet`.
    pub suffix: &'static str,
    /// What answers there.
    pub dialect: Dialect,
    /// Its websockets, with what follows the chain's name there.
    pub socket: Option<(&'static str, Arc<dyn SocketDialect>)>,
}

/// What answers at a [`Route`]: methods, in one of the two dialects.
#[derive(Clone, Debug)]
pub enum Dialect {
    /// `service.method` with an object of named arguments.
    Object(Service),
    /// `namespace_method` with a list of arguments.
    Positional(Server),
}

impl Route {
    /// An endpoint of the object dialect.
    #[must_use]
    pub fn object(suffix: &'static str, service: Service) -> Self {
        Self { suffix, dialect: Dialect::Object(service), socket: None }
    }

    /// An endpoint of the positional dialect.
    #[must_use]
    pub fn positional(suffix: &'static str, server: Server) -> Self {
        Self { suffix, dialect: Dialect::Positional(server), socket: None }
    }

    /// The same with websockets at another suffix, in the same dialect or another one.
    #[must_use]
    pub fn with_socket(self, suffix: &'static str, socket: Arc<dyn SocketDialect>) -> Self {
        Self { socket: Some((suffix, socket)), ..self }
    }
}

/// Figures of a running chain, for metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChainStats {
    /// Height of the last accepted block.
    pub height: u64,
    /// Transactions waiting for a block.
    pub mempool_txs: u64,
    /// Bytes of the transactions waiting for a block.
    pub mempool_bytes: u64,
    /// Transactions accepted since the start of the process.
    pub accepted_txs: u64,
}

/// Counts of a chain's pool since the start of the process, by reason, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolFigures {
    /// Transactions that had been taken in, and left without being accepted.
    pub dropped: Vec<(&'static str, u64)>,
    /// Transactions that were not taken in.
    pub refused: Vec<(&'static str, u64)>,
}

/// How far [`ChainVm::backfill`] is with an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backfill {
    /// What is filled, for logs.
    pub index: &'static str,
    /// Blocks that it covers.
    pub done: u64,
    /// Blocks that it will cover.
    pub total: u64,
}

/// One chain. Its methods are called from several threads; only the machine calls those that build,
/// verify and accept, one at a time.
///
/// Everything that is valid or not is decided from a block's bytes and the state that `parent` shows:
/// two nodes that see the same blocks agree (docs/decisions.md, "Time in a block").
pub trait ChainVm: Send + Sync + fmt::Debug + 'static {
    /// The chain's context: its identity, stores and neighbours.
    fn context(&self) -> &ChainContext;

    /// A short name for logs and health checks: the chain's first alias.
    fn name(&self) -> String {
        self.context().primary_alias()
    }

    /// Writes the whole state of height 0, for a store that holds nothing of this chain.
    fn genesis(&self, out: &mut WriteSet) -> Result<(), ChainError>;

    /// At start: the stored state belongs to this genesis and is consistent with its tip. Writes nothing.
    fn check(&self, reader: &dyn KvRead) -> Result<(), ChainError>;

    /// At start, after [`Self::check`]: one bounded step of filling an index that is behind the tip, in a commit of its
    /// own. `None`: nothing is missing, and the chain can be read and extended. No snapshot is open when it is called, and
    /// it holds none while it writes. After a failure the next start goes on where this one ended.
    fn backfill(&self) -> Result<Option<Backfill>, ChainError> {
        Ok(None)
    }

    /// Builds a block from waiting transactions on the state that `parent` shows.
    fn build(&self, parent: &dyn KvRead, at: &BuildContext) -> Result<Built, ChainError>;

    /// Verifies a block made by anyone, fully, and executes it on the state that `parent` shows.
    fn verify(
        &self,
        parent: &dyn KvRead,
        block: &[u8],
        at: &BuildContext,
    ) -> Result<ExecutedBlock, BlockError>;

    /// Adds to the commit of blocks what is no part of their validity: the time of acceptance (Unix ms), the fate of
    /// transactions that they make impossible. The blocks follow each other; `commit` shows the accepted state before
    /// the first of them, and what was added. The commit may still fail: nobody is to learn of it here.
    fn extend_commit(
        &self,
        blocks: &[Arc<ExecutedBlock>],
        accepted_ms: u64,
        commit: &mut PendingWrites<'_>,
    );

    /// The block was executed and is being decided on. Called once for each bundle that holds it; for the same
    /// bundle one call of [`Self::on_accepted`] or [`Self::on_rejected`] follows.
    fn on_verified(&self, block: &Arc<ExecutedBlock>);

    /// A quorum voted for a bundle that holds the block. Called once a bundle, if at all, after
    /// [`Self::on_verified`].
    fn on_notarized(&self, _block: &Arc<ExecutedBlock>) {}

    /// The block is durable: caches, mempool and subscribers follow. `accepted_ms` is Unix ms. The store may show
    /// later blocks of the same commit.
    fn on_accepted(&self, block: &Arc<ExecutedBlock>, accepted_ms: u64);

    /// A bundle that holds the block will never be final: its transactions return to the mempool, unless the
    /// block was accepted with another bundle.
    fn on_rejected(&self, block: &Arc<ExecutedBlock>);

    /// Bundles are about to be taken back, whether or not they hold blocks of this chain. Rows of the chain that their
    /// commits did not write, and that follow from their blocks, are amended here. Everything that memory needs is read
    /// here: the write may still fail, and nobody is to learn of it before. What is returned is called when it has not.
    /// [`esker_storage::Store::upkeep`] is held from before this call until after that one.
    ///
    /// Transactions of the blocks that are taken back are gone. Those that wait are checked against the older state.
    fn prepare_rewind<'a>(
        &'a self,
        rewind: &mut Rewinding<'_>,
    ) -> Result<AfterRewind<'a>, ChainError>;

    /// Bytes of the accepted block at a height.
    fn block_at(&self, reader: &dyn KvRead, height: u64) -> Result<Option<Bytes>, ChainError>;

    /// The chain's endpoints.
    fn routes(&self) -> Vec<Route>;

    /// A message for the health report, or what is wrong.
    fn health(&self) -> Result<String, String>;

    /// Figures for metrics; cheap.
    fn stats(&self) -> ChainStats;

    /// The transactions that wait for a block, in a form of the chain's own, so that [`Self::restore_txs`] can take
    /// them in again in this order. Called when nothing else runs any more.
    fn waiting_txs(&self) -> Vec<Bytes> {
        Vec::new()
    }

    /// Takes in what [`Self::waiting_txs`] gave before the node stopped, and keeps the reasons why others are not
    /// valid any more. Gives how many wait again. Called after [`Self::check`], before anything else runs.
    fn restore_txs(&self, _txs: Vec<Bytes>) -> usize {
        0
    }

    /// Figures of the pool for metrics; cheap. A reason is always listed, or never.
    fn pool_figures(&self) -> PoolFigures {
        PoolFigures::default()
    }
}
