//! What services read of the chain and of the pool, and nothing more.
//!
//! The chain fills these ports. What they hand out is immutable and shared, so an implementation may keep
//! what was read last; only accepted blocks are seen through them, and all that they return of a block (state,
//! receipts, places) is there as soon as [`ChainReader::head`] shows it.

use std::fmt;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Log};
use esker_evm_execution::rules::Rules;
use esker_evm_state::logs::{LogCandidates, LogQuery};
use esker_evm_state::state::{At, StateError, StateView};
use esker_evm_state::types::{Receipt, SealedBlock, SealedHeader};
use esker_storage::{KvRead, Scope, StorageError};
use thiserror::Error;
use tokio::sync::broadcast;

use crate::chain::AcceptedBlock;
use crate::pool::{AccountContent, Content, Dropped, DroppedTx, PooledTx, ReplacementPrice};

/// How far the chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainPosition {
    /// Height of the last accepted block.
    pub height: u64,
    /// The number of rewinds since the process started.
    pub rewinds: u64,
}

/// A block that was accepted.
#[derive(Clone, Debug)]
pub struct BlockAccepted {
    /// The block.
    pub block: Arc<AcceptedBlock>,
    /// As [`ChainPosition::rewinds`], when it was accepted.
    pub rewinds: u64,
}

/// A log of an accepted block, with its place.
#[derive(Clone, Debug)]
pub struct PlacedLog {
    /// The log.
    pub log: Log,
    /// Height of its block.
    pub block_number: u64,
    /// Hash of its block.
    pub block_hash: B256,
    /// Its transaction.
    pub transaction_hash: B256,
    /// The transaction's place in the block.
    pub transaction_index: usize,
    /// Its place among all logs of the block.
    pub log_index: usize,
}

impl PlacedLog {
    /// The logs of a block that are wanted, in their order.
    pub fn in_block<'a>(
        block: &'a SealedBlock,
        receipts: &'a [Receipt],
        is_wanted: impl Fn(&Log) -> bool + 'a,
    ) -> impl Iterator<Item = Self> + 'a {
        let of_tx = block.block.transactions.iter().zip(receipts).enumerate();
        let logs = of_tx.flat_map(|(index, (tx, receipt))| {
            receipt.logs.iter().map(move |log| (index, *tx.tx_hash(), log))
        });
        let wanted = logs.enumerate().filter(move |(_, (_, _, log))| is_wanted(log));
        wanted.map(|(log_index, (transaction_index, transaction_hash, log))| Self {
            log: log.clone(),
            block_number: block.block.header.number,
            block_hash: block.hash,
            transaction_hash,
            transaction_index,
            log_index,
        })
    }
}

/// A rewind removed accepted blocks.
#[derive(Clone, Debug)]
pub struct BlocksRemoved {
    /// As [`ChainPosition::rewinds`], after it.
    pub rewinds: u64,
    /// Height of the last accepted block after it.
    pub height: u64,
    /// The logs of the removed blocks, oldest first; `None`: they were too many to be kept.
    pub logs: Option<Vec<PlacedLog>>,
}

/// What happens to the accepted blocks.
#[derive(Clone, Debug)]
pub enum ChainEvent {
    /// One more.
    Accepted(BlockAccepted),
    /// The last ones are gone.
    Removed(Arc<BlocksRemoved>),
}

impl ChainEvent {
    /// The new block, if there is one.
    pub fn accepted(self) -> Option<BlockAccepted> {
        match self {
            Self::Accepted(block) => Some(block),
            Self::Removed(_) => None,
        }
    }
}

/// Where an accepted transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxLocation {
    /// Height of its block.
    pub height: u64,
    /// Its place in the block, from 0.
    pub index: usize,
}

/// What is known of the block in which an account used a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceUse {
    /// No accepted block used it.
    Unused,
    /// The block of this height did.
    At(u64),
    /// A block up to this height did; the states that would show which one are no longer kept.
    Pruned {
        /// Height of the oldest state that is kept.
        oldest: u64,
    },
}

/// An accepted block that is not decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedBlock {
    /// Hash of the block.
    pub hash: B256,
    /// Hash of the block before it.
    pub parent_hash: B256,
    /// Its own time, Unix s.
    pub time: u64,
    /// Its RLP.
    pub bytes: Vec<u8>,
}

/// A block that was refused.
#[derive(Clone, Debug)]
pub struct BadBlock {
    /// The block.
    pub block: Arc<SealedBlock>,
    /// Why.
    pub reason: String,
}

/// The state after one block, for as long as this is held. It keeps a snapshot of the store, so hold it
/// shortly.
pub struct StateSnapshot {
    reader: Box<dyn KvRead>,
    scope: Scope,
    at: At,
}

impl StateSnapshot {
    /// The state that `reader` shows at `at`.
    pub fn new(reader: Box<dyn KvRead>, scope: Scope, at: At) -> Self {
        Self { reader, scope, at }
    }

    /// The state, to be read.
    pub fn view(&self) -> StateView<'_> {
        StateView::new(&*self.reader, self.scope, self.at)
    }
}

impl fmt::Debug for StateSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateSnapshot").field("at", &self.at).finish_non_exhaustive()
    }
}

/// Why something can't be read. Texts reach clients.
#[derive(Debug, Error)]
pub enum ViewError {
    /// The state after this block is no longer kept. The text is the reference's.
    #[error("missing trie node {0:x} (path ) state {0:#x} is not available, not found")]
    StateGone(B256),
    /// The node joined from a snapshot and never had this block (docs/decisions.md, "Blocks below the history").
    #[error(
        "pruned history unavailable: block {height} is not available: this node's history begins at block {first} \
         (it joined from a snapshot)"
    )]
    BeforeHistory {
        /// Height of the block.
        height: u64,
        /// Height of the first stored block besides genesis.
        first: u64,
    },
    /// An accepted block was rewound since.
    #[error("{0} was taken back while the request was answered")]
    TakenBack(String),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// What the store holds contradicts itself.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

/// The accepted chain, read by services.
pub trait ChainReader: Send + Sync + fmt::Debug + 'static {
    /// The chain's rules.
    fn rules(&self) -> &dyn Rules;

    /// The last accepted block. Cheap: nearly every call reads it.
    fn head(&self) -> Arc<SealedHeader>;

    /// How far the chain is: the height of [`Self::head`].
    fn position(&self) -> ChainPosition;

    /// The lowest height of the rewinds between two positions; `None` without a rewind. The result may be too low.
    fn lowest_since(&self, before: &ChainPosition, now: &ChainPosition) -> Option<u64>;

    /// What the rewinds between two positions removed, oldest first; `None` if it is not kept.
    fn removed_since(
        &self,
        before: &ChainPosition,
        now: &ChainPosition,
    ) -> Option<Vec<Arc<BlocksRemoved>>>;

    /// Height of the first stored block besides genesis, if the node joined from a snapshot; else 0. Reads of blocks
    /// between it and genesis by height fail with [`ViewError::BeforeHistory`].
    fn first_block(&self) -> u64 {
        0
    }

    /// Fails if a range of heights has a block before the history.
    fn ensure_in_history(&self, from: u64, to: u64) -> Result<(), ViewError> {
        let (height, first) = (from.max(1), self.first_block());
        match height < first && height <= to {
            true => Err(ViewError::BeforeHistory { height, first }),
            false => Ok(()),
        }
    }

    /// The header at a height; `None` above the head.
    fn header_at(&self, height: u64) -> Result<Option<Arc<SealedHeader>>, ViewError>;

    /// The hash of the block at a height; `None` above the head. Also known of the block before the history.
    fn hash_at(&self, height: u64) -> Result<Option<B256>, ViewError> {
        match self.header_at(height) {
            Err(ViewError::BeforeHistory { first, .. }) if height + 1 == first => {
                Ok(self.header_at(first)?.map(|header| header.header.parent_hash))
            }
            found => Ok(found?.map(|header| header.hash)),
        }
    }

    /// The height of an accepted block; `None` also of one before the history.
    fn height_of(&self, hash: B256) -> Result<Option<u64>, ViewError>;

    /// The block at a height; `None` above the head.
    fn block_at(&self, height: u64) -> Result<Option<Arc<SealedBlock>>, ViewError>;

    /// The block at a height as its bytes, for callers that read many of them once; `None` above the head.
    fn encoded_block(&self, height: u64) -> Result<Option<EncodedBlock>, ViewError>;

    /// The receipts of the block at a height, one for each transaction; none above the head.
    fn receipts_at(&self, height: u64) -> Result<Arc<[Receipt]>, ViewError>;

    /// The receipts of an accepted block, or of [`Self::pending`], which the caller has read before.
    fn receipts_of(&self, height: u64, hash: B256) -> Result<Arc<[Receipt]>, ViewError>;

    /// The block that would be built now, whose hash is not shown to clients; `None` on a node that has none. What it
    /// costs is bounded by the gas of a block. [`Self::state_after`] and [`Self::receipts_of`] know it for a moment.
    fn pending(&self) -> Result<Option<Arc<SealedBlock>>, ViewError>;

    /// Whether there is a pending block: on a development node.
    fn has_pending(&self) -> bool;

    /// Blocks between two heights, both included and none above the head, that may hold the logs that are looked for.
    /// Of a long range only the first part is looked through: quick, so that the caller may stop in between.
    fn blocks_with_logs(
        &self,
        query: &LogQuery,
        from: u64,
        to: u64,
    ) -> Result<LogCandidates, ViewError>;

    /// Where an accepted transaction is. One that is not indexed is not known.
    fn location(&self, tx: B256) -> Result<Option<TxLocation>, ViewError>;

    /// In which accepted block an account's nonce went past `nonce`.
    fn nonce_use(&self, account: Address, nonce: u64) -> Result<NonceUse, ViewError>;

    /// The state after this accepted block, or after [`Self::pending`].
    fn state_after(&self, block: &SealedHeader) -> Result<StateSnapshot, ViewError>;

    /// Height of the oldest block whose state is kept; all from there up to the head are.
    fn oldest_state(&self) -> Result<u64, ViewError>;

    /// The position after a rewind that is under way: its store is rewound before its position is.
    fn settled_position(&self) -> ChainPosition {
        self.position()
    }

    /// Why something that existed a moment ago is missing: it was rewound, or the store is damaged.
    fn missing(&self, what: String) -> ViewError {
        match self.settled_position().rewinds {
            0 => ViewError::Damaged(format!("{what} is missing")),
            _ => ViewError::TakenBack(what),
        }
    }

    /// The blocks refused last, the newest first.
    fn bad_blocks(&self) -> Vec<BadBlock>;
}

/// The pool, read by services.
pub trait PoolReader: Send + Sync + fmt::Debug + 'static {
    /// A transaction that waits, pending or queued.
    fn transaction(&self, hash: B256) -> Option<PooledTx>;

    /// The transaction of an account that waits with this nonce, pending or queued.
    fn transaction_of(&self, account: Address, nonce: u64) -> Option<PooledTx>;

    /// What a transaction must offer to replace the one of an account with this nonce; `None`: none waits.
    fn replacement_price(&self, account: Address, nonce: u64) -> Option<ReplacementPrice>;

    /// The nonce after an account's pending transactions; `None`: it has none, so the state has the nonce.
    fn next_nonce(&self, account: Address) -> Option<u64>;

    /// How many are pending, and how many queued.
    fn counts(&self) -> (usize, usize);

    /// Why a transaction left the pool without being mined; `None` of one that waits, was mined, or is not
    /// remembered.
    fn dropped(&self, hash: B256) -> Result<Option<Dropped>, ViewError>;

    /// Everything, by account. What it costs follows from the pool's limits.
    fn content(&self) -> Content;

    /// What waits of one account.
    fn content_of(&self, account: Address) -> AccountContent;

    /// The pending ones of some accounts, by account in the order given and by nonce.
    fn pending_of(&self, accounts: &[Address]) -> Vec<PooledTx>;
}

/// What happens on the chain and in the pool, from the moment of asking on.
///
/// A receiver that lags too far behind gets the number of events it missed
/// ([`broadcast::error::RecvError::Lagged`]); it never slows the chain down. The pool's event of a transaction comes
/// before that of its block.
pub trait ChainEvents: Send + Sync + fmt::Debug + 'static {
    /// Accepted blocks, in order, each once [`ChainReader`] shows it. After a rewind, which is reported too, other
    /// blocks of the same heights follow.
    fn blocks(&self) -> broadcast::Receiver<ChainEvent>;

    /// Transactions that became executable in the pool, each when [`PoolReader`] shows it: those that came so,
    /// replacements, and queued ones whose turn it is. Of one account in the order of nonces.
    fn pending_transactions(&self) -> broadcast::Receiver<PooledTx>;

    /// Transactions that left the pool without being mined, with the reason.
    fn dropped_transactions(&self) -> broadcast::Receiver<DroppedTx>;
}
