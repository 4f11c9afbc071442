//! The state of reading methods, and the resolution of block parameters.

use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm::extension::ExtDataView;
use esker_evm::oracle::next_base_fee;
use esker_evm::pool::PooledTx;
use esker_evm::view::{ChainReader, PoolReader, StateSnapshot, ViewError};
use esker_evm_execution::rules::Dialect;
use esker_evm_state::types::{Receipt, SealedBlock, SealedHeader};
use esker_rpc::{ParamsError, RpcError};
use serde_json::value::RawValue;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::config::ReadConfig;
use crate::error::read_error;
use crate::loaded_blocks::LoadedBlocks;
use crate::wire::{
    BlockNumber, BlockNumberOrHash, BlockOrAbsent, BlockPlace, ReceiptParts, TransactionForm,
    TransactionReply,
};

/// The chain and the pool, as reading methods see them.
#[derive(Debug)]
pub struct ReadApi {
    /// The accepted chain.
    pub chain: Arc<dyn ChainReader>,
    /// The pool.
    pub pool: Arc<dyn PoolReader>,
    /// Shows what blocks carry in their ext data as `atomicTransactions`, if that is wanted.
    pub ext_data: Option<Arc<dyn ExtDataView>>,
    /// Blocks that the chain does not have, on a development node.
    pub loaded: LoadedBlocks,
    /// Settings.
    pub config: ReadConfig,
}

impl ReadApi {
    /// The forms and texts that clients of the chain expect.
    pub fn dialect(&self) -> Dialect {
        self.chain.rules().dialect()
    }

    /// The block of a number or name. `safe` and `finalized` may be behind the last block.
    pub fn place(&self, number: BlockNumber) -> BlockPlace {
        let epochs = match number {
            BlockNumber::Safe => 1,
            BlockNumber::Finalized => 2,
            BlockNumber::Latest | BlockNumber::Accepted => 0,
            BlockNumber::Pending => return BlockPlace::Pending,
            BlockNumber::Earliest => return BlockPlace::Height(self.chain.genesis_number()),
            BlockNumber::Number(height) => return BlockPlace::Height(height),
        };
        match self.config.slots_in_an_epoch.saturating_mul(epochs) {
            0 => BlockPlace::Head,
            behind => {
                let height = self.chain.head().header.number.saturating_sub(behind);
                BlockPlace::Height(height.max(self.chain.genesis_number()))
            }
        }
    }

    /// The header of a number or name; `None` above the last accepted block
    /// (docs/decisions.md, "Blocks above the tip").
    pub fn header_by_number(
        &self,
        number: BlockNumber,
    ) -> Result<Option<Arc<SealedHeader>>, RpcError> {
        match self.place(number) {
            BlockPlace::Height(height) => self.chain.header_at(height).map_err(read_error),
            BlockPlace::Pending if self.chain.has_pending() => {
                let header = |block: Arc<SealedBlock>| SealedHeader {
                    header: block.block.header.clone(),
                    hash: block.hash,
                };
                Ok(self.pending()?.map(|block| Arc::new(header(block))))
            }
            BlockPlace::Head | BlockPlace::Pending => Ok(Some(self.chain.head())),
        }
    }

    /// This height, or that of the first block that is here if it is above.
    pub fn first_own_block(&self, height: u64) -> u64 {
        match self.chain.header_at(height) {
            Err(ViewError::BeforeHistory { first, .. }) => first,
            Ok(_) | Err(_) => height,
        }
    }

    /// Whether the chain is a fork, with blocks of its source before its own ones.
    pub fn is_development_fork(&self) -> bool {
        let genesis = self.chain.genesis_number();
        self.config.is_development && self.first_own_block(genesis) != genesis
    }

    /// The header of a hash; `None` for one that is not part of the accepted chain.
    pub fn header_by_hash(&self, hash: B256) -> Result<Option<Arc<SealedHeader>>, RpcError> {
        match self.chain.height_of(hash).map_err(read_error)? {
            Some(height) => {
                let header = self.chain.header_at(height).map_err(read_error)?;
                // Another block may have replaced it.
                Ok(header.filter(|header| header.hash == hash))
            }
            None => Ok(None),
        }
    }

    /// The block of a number or name; `None` above the last accepted block.
    pub fn block_by_number(
        &self,
        number: BlockNumber,
    ) -> Result<Option<Arc<SealedBlock>>, RpcError> {
        match self.place(number) {
            BlockPlace::Height(height) => {
                match self.loaded.by_number(self.chain.as_ref(), height) {
                    Some(loaded) => Ok(Some(loaded.block)),
                    None => self.chain.block_at(height).map_err(read_error),
                }
            }
            BlockPlace::Pending if self.chain.has_pending() => self.pending(),
            BlockPlace::Head | BlockPlace::Pending => self.latest_block(),
        }
    }

    /// Whether the block of a parameter is not accepted yet; its hash is not shown then.
    pub fn is_pending(&self, at: impl Into<BlockNumberOrHash>) -> bool {
        at.into() == BlockNumberOrHash::Number(BlockNumber::Pending) && self.chain.has_pending()
    }

    /// The block that would be built now.
    fn pending(&self) -> Result<Option<Arc<SealedBlock>>, RpcError> {
        let make = || self.chain.pending().map_err(read_error);
        let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
        match flavor {
            // Building takes as long as a block's gas: other connections go on meanwhile.
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(make),
            Ok(_) | Err(_) => make(),
        }
    }

    fn latest_block(&self) -> Result<Option<Arc<SealedBlock>>, RpcError> {
        loop {
            let height = self.chain.head().header.number;
            let block = self.chain.block_at(height).map_err(read_error)?;
            // A rewind may have removed it meanwhile.
            if block.is_some() || self.chain.head().header.number >= height {
                return Ok(block);
            }
        }
    }

    /// The block of a hash; `None` for one that is not part of the accepted chain.
    pub fn block_by_hash(&self, hash: B256) -> Result<Option<Arc<SealedBlock>>, RpcError> {
        match self.chain.height_of(hash).map_err(read_error)? {
            Some(height) => {
                let block = self.chain.block_at(height).map_err(read_error)?;
                Ok(block.filter(|block| block.hash == hash))
            }
            None => {
                let loaded = self.loaded.by_hash(self.chain.as_ref(), hash);
                Ok(loaded.map(|loaded| loaded.block))
            }
        }
    }

    /// The receipts of a block that was read before.
    pub fn receipts_of(&self, block: &SealedBlock) -> Result<Arc<[Receipt]>, RpcError> {
        match self.loaded.by_hash(self.chain.as_ref(), block.hash) {
            Some(loaded) => Ok(loaded.receipts),
            None => {
                let height = block.block.header.number;
                self.chain.receipts_of(height, block.hash).map_err(read_error)
            }
        }
    }

    /// Which members receipts have.
    pub fn receipt_parts(&self) -> ReceiptParts {
        match self.config.anvil_answers {
            true => ReceiptParts::Anvil,
            false => ReceiptParts::Standard,
        }
    }

    /// Which members transactions have, and in which order.
    pub fn transaction_form(&self) -> TransactionForm {
        match self.config.anvil_answers {
            true => TransactionForm::Anvil { next_base_fee: None },
            false => TransactionForm::Standard,
        }
    }

    /// A transaction that waits.
    pub fn waiting(&self, tx: PooledTx) -> TransactionReply {
        let form = match self.transaction_form() {
            TransactionForm::Anvil { .. } => {
                let head = self.chain.head();
                let rules = self.chain.rules();
                let time = rules.child_time(&head.header, head.header.time);
                TransactionForm::Anvil { next_base_fee: next_base_fee(rules, &head.header, time) }
            }
            form @ TransactionForm::Standard => form,
        };
        TransactionReply::pooled(self.dialect(), tx).in_form(form)
    }

    /// A block parameter as this network reads it: null is the last block on a development network, and in the standard.
    pub fn block_id(&self, at: BlockNumberOrHash) -> BlockNumberOrHash {
        match at {
            BlockNumberOrHash::Null
                if self.config.is_development || self.dialect().is_standard() =>
            {
                BlockNumber::Latest.into()
            }
            at => at,
        }
    }

    /// A last parameter that is a block. If it is not given, it is the last block in the standard.
    ///
    /// # Errors
    /// The parameter is required. `index` is its place, from 0.
    pub fn block_or_latest(
        &self,
        BlockOrAbsent(at): BlockOrAbsent,
        index: usize,
    ) -> Result<BlockNumberOrHash, RpcError> {
        match at {
            Some(at) => Ok(at),
            None if self.dialect().is_standard() => Ok(BlockNumber::Latest.into()),
            None => Err(missing(index)),
        }
    }

    /// The block of a parameter; `None` if there is no such block, or the parameter names none.
    pub fn block(&self, at: BlockNumberOrHash) -> Result<Option<Arc<SealedBlock>>, RpcError> {
        match self.block_id(at) {
            BlockNumberOrHash::Number(number) => self.block_by_number(number),
            BlockNumberOrHash::Hash { hash, .. } => self.block_by_hash(hash),
            BlockNumberOrHash::Neither | BlockNumberOrHash::Null => Ok(None),
        }
    }

    /// Whether answers are those of anvil or of Hardhat's node: both differ from geth's alike in some.
    pub(crate) fn stands_for_tool(&self) -> bool {
        self.config.anvil_answers || self.config.hardhat_answers
    }

    /// The header of the block whose state is to be read, or the error text.
    pub fn header_of_state(&self, at: BlockNumberOrHash) -> Result<Arc<SealedHeader>, RpcError> {
        let (found, missing) = match self.block_id(at) {
            BlockNumberOrHash::Number(number) => {
                let missing = if self.config.allow_unfinalized_queries {
                    "header not found"
                } else {
                    "cannot query unfinalized data"
                };
                (self.header_by_number(number)?, missing)
            }
            // All blocks with a known hash are accepted, and so canonical.
            BlockNumberOrHash::Hash { hash, .. } => {
                (self.header_by_hash(hash)?, "header for hash not found")
            }
            BlockNumberOrHash::Neither | BlockNumberOrHash::Null => {
                (None, "invalid arguments; neither block nor hash specified")
            }
        };
        found.ok_or_else(|| match at {
            BlockNumberOrHash::Neither if self.stands_for_tool() => {
                RpcError::with_code(RpcError::INVALID_PARAMS, missing)
            }
            at => self.out_of_range(at).unwrap_or_else(|| RpcError::new(missing)),
        })
    }

    /// Anvil's error of a number above the last block; `None`: the error is geth's.
    fn out_of_range(&self, at: BlockNumberOrHash) -> Option<RpcError> {
        if !self.config.anvil_answers {
            return None;
        }
        let BlockNumberOrHash::Number(BlockNumber::Number(asked)) = at else { return None };
        let head = self.chain.head().header.number;
        let text =
            format!("BlockOutOfRangeError: block height is {head} but requested was {asked}");
        Some(RpcError::with_code(RpcError::INVALID_PARAMS, text))
    }

    /// The shown part of a block's ext data, if any.
    pub fn atomic_transactions(&self, block: &SealedBlock) -> Option<Box<RawValue>> {
        self.ext_data.as_ref()?.transactions(&block.block.ext_data)
    }

    /// The state after a parameter's block, and the block's header. Retries if the block is rewound meanwhile.
    pub fn state(
        &self,
        at: BlockNumberOrHash,
    ) -> Result<(StateSnapshot, Arc<SealedHeader>), RpcError> {
        loop {
            let header = self.header_of_state(at)?;
            match self.chain.state_after(&header) {
                Ok(state) => return Ok((state, header)),
                // The last block has changed meanwhile.
                Err(ViewError::TakenBack(_)) => {}
                Err(error) => return Err(read_error(error)),
            }
        }
    }
}

/// The error of a parameter that is required and not there. `index` is its place, from 0.
pub(crate) fn missing(index: usize) -> RpcError {
    RpcError::with_code(RpcError::INVALID_PARAMS, ParamsError::Missing(index).to_string())
}
