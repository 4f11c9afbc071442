//! The ports through which services read the chain and the pool.
//!
//! The chain implements these ports. The returned values are immutable and shared, so an implementation may cache
//! them. Only accepted blocks are visible. State, receipts and locations of a block are available as soon as
//! [`ChainReader::head`] shows the block.

use std::fmt;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Log};
use esker_evm_execution::rules::Rules;
use esker_evm_state::addresses::{AddressPage, AddressQuery};
use esker_evm_state::logs::{LogCandidates, LogQuery};
use esker_evm_state::state::{StateBase, StateError, StateVersion, StateView};
use esker_evm_state::types::{Receipt, SealedBlock, SealedHeader};
use esker_storage::{KvRead, Scope, StorageError};
use thiserror::Error;
use tokio::sync::broadcast;

use crate::chain::AcceptedBlock;
use crate::pool::{AccountContent, Content, Dropped, DroppedTx, PooledTx, ReplacementPrice};
use crate::printed::PrintedCall;

/// The position of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainPosition {
    /// Height of the last accepted block.
    pub height: u64,
    /// The number of rewinds since the process started.
    pub rewinds: u64,
}

/// The event of an accepted block.
#[derive(Clone, Debug)]
pub struct BlockAccepted {
    /// The block.
    pub block: Arc<AcceptedBlock>,
    /// [`ChainPosition::rewinds`] when the block was accepted.
    pub rewinds: u64,
}

/// A log of an accepted block with its location.
#[derive(Clone, Debug)]
pub struct PlacedLog {
    /// The log.
    pub log: Log,
    /// Height of its block.
    pub block_number: u64,
    /// Hash of its block.
    pub block_hash: B256,
    /// Time of its block, Unix s.
    pub block_time: u64,
    /// Hash of its transaction.
    pub transaction_hash: B256,
    /// Index of the transaction in the block.
    pub transaction_index: usize,
    /// Index of the log among all logs of the block.
    pub log_index: usize,
}

impl PlacedLog {
    /// The logs of a block for which `is_wanted` is true, in their order.
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
            block_time: block.block.header.time,
            transaction_hash,
            transaction_index,
            log_index,
        })
    }
}

/// The event of a rewind, which removed accepted blocks.
#[derive(Clone, Debug)]
pub struct BlocksRemoved {
    /// [`ChainPosition::rewinds`] after the rewind.
    pub rewinds: u64,
    /// Height of the last accepted block after the rewind.
    pub height: u64,
    /// The logs of the removed blocks, oldest first; `None` if there were too many to keep.
    pub logs: Option<Vec<PlacedLog>>,
}

/// A change of the accepted blocks.
#[derive(Clone, Debug)]
pub enum ChainEvent {
    /// A block was accepted.
    Accepted(BlockAccepted),
    /// The last blocks were removed.
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

/// The location of an accepted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxLocation {
    /// Height of its block.
    pub height: u64,
    /// Index in the block, from 0.
    pub index: usize,
}

/// The block in which an account used a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceUse {
    /// No accepted block used it.
    Unused,
    /// The block at this height used it.
    At(u64),
    /// A block up to this height used it. The states that would show which one are no longer kept.
    Pruned {
        /// Height of the oldest state that is kept.
        oldest: u64,
    },
}

/// The block after which an account has code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeSince {
    /// It has no code now.
    NoCode,
    /// The account of genesis had it.
    Genesis,
    /// The block at this height gave it code.
    Block(u64),
    /// It already had code after the oldest state that is kept.
    Pruned {
        /// Height of the oldest state that is kept.
        oldest: u64,
    },
}

/// The blocks in the index of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressStart {
    /// The chain keeps no index.
    Off,
    /// The chain keeps one.
    On {
        /// Height of the first block from which on it has all blocks. Above the head it has none yet.
        start: u64,
        /// Whether earlier blocks may have transactions.
        has_older: bool,
    },
}

/// An accepted block that is not decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedBlock {
    /// Hash of the block.
    pub hash: B256,
    /// Hash of the block before it.
    pub parent_hash: B256,
    /// Time of the block, Unix s.
    pub time: u64,
    /// RLP of the block.
    pub bytes: Vec<u8>,
}

/// A block that was refused.
#[derive(Clone, Debug)]
pub struct BadBlock {
    /// The block.
    pub block: Arc<SealedBlock>,
    /// Why it was refused.
    pub reason: String,
}

/// The state after one block. It keeps a snapshot of the store, so hold it only briefly.
pub struct StateSnapshot {
    reader: Box<dyn KvRead>,
    scope: Scope,
    at: StateVersion,
    base: Option<Arc<dyn StateBase>>,
}

impl StateSnapshot {
    /// The state that `reader` shows at `at`, over the state on which the chain began, if any.
    pub fn new(
        reader: Box<dyn KvRead>,
        scope: Scope,
        at: StateVersion,
        base: Option<Arc<dyn StateBase>>,
    ) -> Self {
        Self { reader, scope, at, base }
    }

    /// A reader of the state.
    pub fn view(&self) -> StateView<'_> {
        StateView::new(&*self.reader, self.scope, self.at).with_base(self.base.as_deref())
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
    /// An accepted block was rewound during the request.
    #[error("{0} was taken back while the request was answered")]
    TakenBack(String),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// The content of the store is inconsistent.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

/// The accepted chain, read by services.
pub trait ChainReader: Send + Sync + fmt::Debug + 'static {
    /// The chain's rules.
    fn rules(&self) -> &dyn Rules;

    /// The chain's EIP-155 number in the newest state. Only clients of a development network change it.
    fn chain_id(&self) -> Result<u64, ViewError> {
        Ok(self.rules().chain_id())
    }

    /// The last accepted block. Cheap: nearly every call reads it.
    fn head(&self) -> Arc<SealedHeader>;

    /// The position of the chain: the height of [`Self::head`] and the number of rewinds.
    fn position(&self) -> ChainPosition;

    /// The lowest height of the rewinds between two positions; `None` without a rewind. The result may be too low.
    fn lowest_since(&self, before: &ChainPosition, now: &ChainPosition) -> Option<u64>;

    /// The blocks that the rewinds between two positions removed, oldest first; `None` if they are no longer kept.
    fn removed_since(
        &self,
        before: &ChainPosition,
        now: &ChainPosition,
    ) -> Option<Vec<Arc<BlocksRemoved>>>;

    /// Height of the first stored block after genesis, if the node joined from a snapshot; else 0. Reads of blocks
    /// between it and genesis by height fail with [`ViewError::BeforeHistory`].
    fn first_block(&self) -> u64 {
        0
    }

    /// Number of the genesis block; not 0 only on chains for development. There are no blocks below it.
    fn genesis_number(&self) -> u64 {
        0
    }

    /// Fails if a range of heights has a block before the stored history.
    fn ensure_in_history(&self, from: u64, to: u64) -> Result<(), ViewError> {
        let (height, first) = (from.max(1), self.first_block());
        match height < first && height <= to {
            true => Err(ViewError::BeforeHistory { height, first }),
            false => Ok(()),
        }
    }

    /// The header at a height; `None` above the head.
    fn header_at(&self, height: u64) -> Result<Option<Arc<SealedHeader>>, ViewError>;

    /// The hash of a block before the one of another node on which the chain began; `None` of all other blocks.
    fn hash_before_fork(&self, _height: u64) -> Result<Option<B256>, ViewError> {
        Ok(None)
    }

    /// The hash of the block at a height; `None` above the head. The hash of the last block before the history is
    /// also known.
    fn hash_at(&self, height: u64) -> Result<Option<B256>, ViewError> {
        if let Some(hash) = self.hash_before_fork(height)? {
            return Ok(Some(hash));
        }
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

    /// The bytes of the block at a height, for callers that read many blocks once; `None` above the head.
    fn encoded_block(&self, height: u64) -> Result<Option<EncodedBlock>, ViewError>;

    /// The receipts of the block at a height, one for each transaction; none above the head.
    fn receipts_at(&self, height: u64) -> Result<Arc<[Receipt]>, ViewError>;

    /// The receipts of an accepted block, or of [`Self::pending`], which the caller has read before.
    fn receipts_of(&self, height: u64, hash: B256) -> Result<Arc<[Receipt]>, ViewError>;

    /// The block that would be built now; `None` on a node without pending blocks. Its hash is not shown to clients.
    /// The cost is bounded by the gas of a block. [`Self::state_after`] and [`Self::receipts_of`] know the block for
    /// a short time.
    fn pending(&self) -> Result<Option<Arc<SealedBlock>>, ViewError>;

    /// Whether the node has pending blocks: true on a development node.
    fn has_pending(&self) -> bool;

    /// Blocks between two heights, both included and none above the head, that may hold matching logs. Of a long
    /// range only the first part is searched, so that the caller may stop in between.
    fn blocks_with_logs(
        &self,
        query: &LogQuery,
        from: u64,
        to: u64,
    ) -> Result<LogCandidates, ViewError>;

    /// The location of an accepted transaction; `None` if it is not indexed.
    fn location(&self, tx: B256) -> Result<Option<TxLocation>, ViewError>;

    /// A page of the transactions that touched an account, out of the index of addresses and of no block above the
    /// head. It knows nothing of blocks before [`Self::address_start`].
    fn address_page(&self, query: &AddressQuery) -> Result<AddressPage, ViewError>;

    /// The blocks in the index of addresses.
    fn address_start(&self) -> Result<AddressStart, ViewError>;

    /// The block that gave an account its code.
    fn code_since(&self, account: Address) -> Result<CodeSince, ViewError>;

    /// The accepted block in which an account's nonce exceeded `nonce`.
    fn nonce_use(&self, account: Address, nonce: u64) -> Result<NonceUse, ViewError>;

    /// The state after this accepted block, or after [`Self::pending`].
    fn state_after(&self, block: &SealedHeader) -> Result<StateSnapshot, ViewError>;

    /// Height of the oldest block whose state is kept. All later states are kept too.
    fn oldest_state(&self) -> Result<u64, ViewError>;

    /// The position after the end of a running rewind, which rewinds the store before the position.
    fn settled_position(&self) -> ChainPosition {
        self.position()
    }

    /// The error of something that is missing although it existed before: it was rewound, or the store is damaged.
    fn missing(&self, what: String) -> ViewError {
        match self.settled_position().rewinds {
            0 => ViewError::Damaged(format!("{what} is missing")),
            _ => ViewError::TakenBack(what),
        }
    }

    /// The last refused blocks, newest first.
    fn bad_blocks(&self) -> Vec<BadBlock>;
}

/// The pool, read by services.
pub trait PoolReader: Send + Sync + fmt::Debug + 'static {
    /// A waiting transaction, pending or queued.
    fn transaction(&self, hash: B256) -> Option<PooledTx>;

    /// The waiting transaction of an account with this nonce, pending or queued.
    fn transaction_of(&self, account: Address, nonce: u64) -> Option<PooledTx>;

    /// The price that a transaction must offer to replace the one of an account with this nonce; `None` if none
    /// waits.
    fn replacement_price(&self, account: Address, nonce: u64) -> Option<ReplacementPrice>;

    /// The nonce after an account's pending transactions; `None` if it has none, so that the nonce of the state
    /// applies.
    fn next_nonce(&self, account: Address) -> Option<u64>;

    /// The numbers of pending and of queued transactions.
    fn counts(&self) -> (usize, usize);

    /// Why a transaction left the pool without being mined; `None` if it waits, was mined, or is not remembered.
    fn dropped(&self, hash: B256) -> Result<Option<Dropped>, ViewError>;

    /// All transactions by account. The pool's limits bound the cost.
    fn content(&self) -> Content;

    /// The waiting transactions of one account.
    fn content_of(&self, account: Address) -> AccountContent;

    /// The pending transactions of some accounts, in the order of `accounts` and of nonces.
    fn pending_of(&self, accounts: &[Address]) -> Vec<PooledTx>;
}

/// Subscriptions to events of the chain and the pool.
///
/// A receiver that lags too far behind gets the number of events it missed
/// ([`broadcast::error::RecvError::Lagged`]); it never slows the chain down. The pool's event of a transaction comes
/// before that of its block.
pub trait ChainEvents: Send + Sync + fmt::Debug + 'static {
    /// Accepted blocks in order. Each block is sent when [`ChainReader`] already shows it. Rewinds are sent too;
    /// other blocks of the same heights may follow them.
    fn blocks(&self) -> broadcast::Receiver<ChainEvent>;

    /// Transactions that became executable in the pool: new ones, replacements, and promoted ones. Each is sent when
    /// [`PoolReader`] already shows it. Those of one account come in the order of nonces.
    fn pending_transactions(&self) -> broadcast::Receiver<PooledTx>;

    /// Transactions that left the pool without being mined, with the reason.
    fn dropped_transactions(&self) -> broadcast::Receiver<DroppedTx>;

    /// Calls whose code prints; `None` if the chain does not keep what is printed.
    fn printed_calls(&self) -> Option<broadcast::Receiver<PrintedCall>> {
        None
    }
}
