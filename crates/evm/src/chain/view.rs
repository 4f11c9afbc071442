//! Reads blocks, receipts, transaction locations and state through one reader.

use alloy_primitives::B256;
use esker_evm_execution::executor::BlockHashes;
use esker_evm_execution::rules::{AncestorBlocks, Rules};
use esker_evm_state::addresses::tables::ADDRESS_START;
use esker_evm_state::addresses::{self, AddressPage, AddressQuery};
use esker_evm_state::blocks::tables::{BLOCKS, HEIGHTS, LOCATIONS, Location, RECEIPTS, TIP, Tip};
use esker_evm_state::state::{StateBase, StateError, StateVersion, StateView};
use esker_evm_state::types::{Block, Header, Receipt};
use esker_storage::{KvRead, Scope, StorageError};

use super::ChainReadError;

/// Most blocks that BLOCKHASH reaches back.
const MAX_LOOK_BACK: u64 = 256;

/// The chain in one reader: a snapshot, or overlays of undecided blocks over one.
#[derive(Clone, Copy)]
pub struct ChainView<'a> {
    reader: &'a dyn KvRead,
    scope: Scope,
    rules: &'a dyn Rules,
    base: Option<&'a dyn StateBase>,
    first: u64,
}

impl std::fmt::Debug for ChainView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChainView").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl<'a> ChainView<'a> {
    /// The chain of a scope.
    pub fn new(reader: &'a dyn KvRead, scope: Scope, rules: &'a dyn Rules) -> Self {
        Self { reader, scope, rules, base: None, first: 0 }
    }

    /// The chain over the state on which it began, if that is not its genesis.
    pub(super) fn with_base(self, base: Option<&'a dyn StateBase>) -> Self {
        Self { base, ..self }
    }

    /// The chain whose genesis block has this number. Below it there are no blocks but that of the machine.
    pub(super) fn with_first(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// The newest block.
    pub fn tip(&self) -> Result<Tip, ChainReadError> {
        TIP.get(self.reader, self.scope, &())?.ok_or(ChainReadError::NoTip)
    }

    /// A block by its height.
    pub fn block(&self, height: u64) -> Result<Option<Block>, ChainReadError> {
        let decode = |bytes: &[u8]| self.rules.decode_block(bytes);
        let found = BLOCKS.get_with(self.reader, self.scope, &height, decode)?;
        found.transpose().map_err(|cause| ChainReadError::Damaged { height, cause })
    }

    /// A block's bytes by its height.
    pub fn block_bytes(&self, height: u64) -> Result<Option<Vec<u8>>, ChainReadError> {
        Ok(BLOCKS.get(self.reader, self.scope, &height)?)
    }

    /// A block's header by its height; the rest of the block is not decoded.
    pub fn header(&self, height: u64) -> Result<Option<Header>, ChainReadError> {
        let decode = |bytes: &[u8]| self.rules.decode_header_of(bytes);
        let found = BLOCKS.get_with(self.reader, self.scope, &height, decode)?;
        found.transpose().map_err(|cause| ChainReadError::Damaged { height, cause })
    }

    /// The height of the block with this hash.
    pub fn height_of(&self, hash: &B256) -> Result<Option<u64>, ChainReadError> {
        Ok(HEIGHTS.get(self.reader, self.scope, &hash.0)?)
    }

    /// The hash of the block at a height.
    pub fn hash_of(&self, height: u64) -> Result<Option<B256>, ChainReadError> {
        Ok(self.header(height)?.map(|header| self.rules.block_hash(&header)))
    }

    /// Receipts of the block at a height; none for genesis.
    pub fn receipts(&self, height: u64) -> Result<Vec<Receipt>, ChainReadError> {
        let found = RECEIPTS.get(self.reader, self.scope, &height)?;
        Ok(found.map(|receipts| receipts.0).unwrap_or_default())
    }

    /// A page of the transactions that touched an account.
    pub fn address_page(&self, query: &AddressQuery) -> Result<AddressPage, ChainReadError> {
        Ok(addresses::find(self.reader, self.scope, query)?)
    }

    /// Height of the first block from which on the index of addresses has all blocks; `None`: it has none.
    pub fn address_start(&self) -> Result<Option<u64>, ChainReadError> {
        Ok(ADDRESS_START.get(self.reader, self.scope, &())?)
    }

    /// The location of a transaction.
    pub fn location(&self, hash: &B256) -> Result<Option<Location>, ChainReadError> {
        Ok(LOCATIONS.get(self.reader, self.scope, &hash.0)?)
    }

    /// The newest state.
    pub fn latest_state(&self) -> StateView<'a> {
        StateView::new(self.reader, self.scope, StateVersion::Latest).with_base(self.base)
    }

    /// The state after the block at a height, which must not be below [`Tip::oldest_state`].
    pub fn state_at(&self, height: u64) -> StateView<'a> {
        StateView::new(self.reader, self.scope, StateVersion::AtHeight(height)).with_base(self.base)
    }
}

/// The ancestors of the block after `parent`, and their hashes for BLOCKHASH.
#[derive(Clone, Copy, Debug)]
pub struct Ancestors<'a> {
    view: ChainView<'a>,
    parent_number: u64,
    parent_hash: B256,
}

impl<'a> Ancestors<'a> {
    /// Ancestors for a child of the newest block in `view`.
    pub fn for_child(view: ChainView<'a>, parent_number: u64, parent_hash: B256) -> Self {
        Self { view, parent_number, parent_hash }
    }
}

impl BlockHashes for Ancestors<'_> {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        if number == self.parent_number {
            return Ok(Some(self.parent_hash));
        }
        let is_ancestor = (self.view.first..=self.parent_number).contains(&number);
        if !is_ancestor || self.parent_number - number >= MAX_LOOK_BACK {
            return Ok(None);
        }
        // Below the base's block the store has only its own genesis block.
        if let Some(base) = self.view.base.filter(|base| number < base.height()) {
            return base.block_hash(number).map(Some);
        }
        let hash = self.view.hash_of(number).map_err(unreadable)?;
        // A snapshot has all blocks that code can reach.
        let missing = || StorageError::Corrupted(format!("block {number} is missing"));
        hash.map(Some).ok_or_else(|| missing().into())
    }
}

impl AncestorBlocks for Ancestors<'_> {
    fn ancestor(&self, number: u64) -> Result<Option<Block>, StateError> {
        if number > self.parent_number {
            return Ok(None);
        }
        self.view.block(number).map_err(unreadable)
    }
}

fn unreadable(error: ChainReadError) -> StateError {
    match error {
        ChainReadError::Storage(error) => StateError::Storage(error),
        // Reading the damaged block itself reports the error; here it has no hash.
        ChainReadError::NoTip | ChainReadError::Damaged { .. } => {
            StateError::MissingCode(B256::ZERO)
        }
    }
}
