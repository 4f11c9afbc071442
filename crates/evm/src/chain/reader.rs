//! The chain's implementation of the reader port of services.

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use esker_chain::ChainVm;
use esker_evm_execution::rules::Rules;
use esker_evm_state::addresses::{AddressPage, AddressQuery};
use esker_evm_state::logs::{LogCandidates, LogQuery};
use esker_evm_state::state::StateVersion;
use esker_evm_state::types::{Receipt, SealedBlock, SealedHeader};
use esker_primitives::Id;
use tokio::sync::broadcast;

use super::vm::Evm;
use super::{ChainReadError, ChainView};
use crate::pool::{AccountContent, Content, Dropped, DroppedTx, PooledTx, ReplacementPrice};
use crate::printed::PrintedCall;
use crate::view::{
    AddressStart, BadBlock, BlocksRemoved, ChainEvent, ChainEvents, ChainPosition, ChainReader,
    CodeSince, EncodedBlock, NonceUse, PoolReader, StateSnapshot, TxLocation, ViewError,
};

impl From<ChainReadError> for ViewError {
    fn from(error: ChainReadError) -> Self {
        match error {
            ChainReadError::Storage(error) => Self::Storage(error),
            ChainReadError::NoTip | ChainReadError::Damaged { .. } => {
                Self::Damaged(error.to_string())
            }
        }
    }
}

impl Evm {
    /// Reads from a snapshot.
    fn read<R>(
        &self,
        read: impl FnOnce(ChainView<'_>) -> Result<R, ChainReadError>,
    ) -> Result<R, ViewError> {
        let reader = self.context().store.snapshot()?;
        Ok(read(self.view(reader.as_ref()))?)
    }

    /// Whether a stored block is visible to clients. A commit is in the store shortly before the head is updated. If
    /// its block were visible before that, a client could see the block and still read the previous state as the
    /// latest.
    fn is_shown(&self, height: u64) -> bool {
        (self.genesis_number()..=Self::head(self).header.number).contains(&height)
    }
}

impl ChainReader for Evm {
    fn rules(&self) -> &dyn Rules {
        self.params().rules.as_ref()
    }

    fn chain_id(&self) -> Result<u64, ViewError> {
        Ok(Self::chain_id(self)?)
    }

    fn head(&self) -> Arc<SealedHeader> {
        Self::head(self)
    }

    fn position(&self) -> ChainPosition {
        Self::position(self)
    }

    fn settled_position(&self) -> ChainPosition {
        self.rewinds.wait();
        Self::position(self)
    }

    fn lowest_since(&self, before: &ChainPosition, now: &ChainPosition) -> Option<u64> {
        self.rewinds.lowest(before.rewinds, now.rewinds)
    }

    fn removed_since(
        &self,
        before: &ChainPosition,
        now: &ChainPosition,
    ) -> Option<Vec<Arc<BlocksRemoved>>> {
        self.removed.since(before.rewinds, now.rewinds)
    }

    fn first_block(&self) -> u64 {
        // Of the block on which a forked chain begins only the header is stored.
        Self::first_block(self) + u64::from(self.fork().is_some())
    }

    fn ensure_in_history(&self, from: u64, to: u64) -> Result<(), ViewError> {
        let first = ChainReader::first_block(self);
        // The genesis block of a chain that began elsewhere is not the one of that chain.
        let after_genesis = self.genesis_number().saturating_add(1);
        let height = if self.fork().is_some() { from } else { from.max(after_genesis) };
        match height < first && height <= to {
            true => Err(ViewError::BeforeHistory { height, first }),
            false => Ok(()),
        }
    }

    fn genesis_number(&self) -> u64 {
        Self::genesis_number(self)
    }

    fn header_at(&self, height: u64) -> Result<Option<Arc<SealedHeader>>, ViewError> {
        if height < self.genesis_number() {
            return Ok(None);
        }
        let head = Self::head(self);
        if height >= head.header.number {
            return Ok((height == head.header.number).then_some(head));
        }
        if self.state_base().is_none_or(|base| height != base.height()) {
            self.ensure_in_history(height, height)?;
        }
        let header = self.read(|view| view.header(height))?;
        if header.is_none() {
            self.rewinds.wait();
        }
        Ok(header.map(|header| {
            let hash = self.params().rules.block_hash(&header);
            Arc::new(SealedHeader { header, hash })
        }))
    }

    fn hash_before_fork(&self, height: u64) -> Result<Option<B256>, ViewError> {
        match self.state_base().filter(|base| height < base.height()) {
            Some(base) => Ok(base.block_hash(height).map(Some)?),
            None => Ok(None),
        }
    }

    fn height_of(&self, hash: B256) -> Result<Option<u64>, ViewError> {
        let height = self.read(|view| view.height_of(&hash))?;
        Ok(height.filter(|height| self.is_shown(*height)))
    }

    fn block_at(&self, height: u64) -> Result<Option<Arc<SealedBlock>>, ViewError> {
        if !self.is_shown(height) {
            return Ok(None);
        }
        self.ensure_in_history(height, height)?;
        let epoch = match self.blocks.block(height) {
            Ok(block) => return Ok(Some(block)),
            Err(epoch) => epoch,
        };
        let Some(bytes) = self.read(|view| view.block_bytes(height))? else {
            self.rewinds.wait();
            return Ok(None);
        };
        let rules = &self.params().rules;
        let damaged = |cause| ViewError::from(ChainReadError::Damaged { height, cause });
        let block = rules.decode_block(&bytes).map_err(damaged)?;
        let hash = rules.block_hash(&block.header);
        let block = Arc::new(SealedBlock { block, hash, size: bytes.len() });
        self.blocks.insert_block(height, &block, epoch);
        Ok(Some(block))
    }

    fn encoded_block(&self, height: u64) -> Result<Option<EncodedBlock>, ViewError> {
        if !self.is_shown(height) {
            return Ok(None);
        }
        self.ensure_in_history(height, height)?;
        let found = self.read(|view| Ok((view.header(height)?, view.block_bytes(height)?)))?;
        let (Some(header), Some(bytes)) = found else {
            self.rewinds.wait();
            return Ok(None);
        };
        let hash = self.params().rules.block_hash(&header);
        let (parent_hash, time) = (header.parent_hash, header.time);
        Ok(Some(EncodedBlock { hash, parent_hash, time, bytes }))
    }

    fn receipts_at(&self, height: u64) -> Result<Arc<[Receipt]>, ViewError> {
        self.ensure_in_history(height, height)?;
        let epoch = match self.blocks.receipts(height) {
            Ok(receipts) => return Ok(receipts),
            Err(epoch) => epoch,
        };
        let receipts = self.read(|view| view.receipts(height))?.into();
        self.blocks.insert_receipts(height, &receipts, epoch);
        Ok(receipts)
    }

    fn receipts_of(&self, height: u64, hash: B256) -> Result<Arc<[Receipt]>, ViewError> {
        // Only a development node has a pending block.
        let pending = self.has_pending().then(|| self.pending.find(&hash)).flatten();
        if let Some(pending) = pending {
            return Ok(Arc::clone(&pending.receipts));
        }
        let receipts = self.receipts_at(height)?;
        // The receipts may belong to another block, if this one was rewound since it was read.
        let is_there = self.position().rewinds == 0
            || self.header_at(height)?.is_some_and(|header| header.hash == hash);
        match is_there {
            true => Ok(receipts),
            false => Err(ViewError::TakenBack(format!("block {hash:x}"))),
        }
    }

    fn pending(&self) -> Result<Option<Arc<SealedBlock>>, ViewError> {
        Ok(self.pending_block()?.map(|pending| Arc::clone(&pending.block)))
    }

    fn has_pending(&self) -> bool {
        self.controls().is_some()
    }

    fn blocks_with_logs(
        &self,
        query: &LogQuery,
        from: u64,
        to: u64,
    ) -> Result<LogCandidates, ViewError> {
        self.ensure_in_history(from, to)?;
        Ok(self.logs.find(&self.context().store, query, from, to)?)
    }

    fn location(&self, tx: B256) -> Result<Option<TxLocation>, ViewError> {
        let found = self.read(|view| view.location(&tx))?;
        found
            .filter(|at| self.is_shown(at.height))
            .map(|at| {
                let index = usize::try_from(at.index)
                    .map_err(|_| ViewError::Damaged(format!("place of transaction {tx}")))?;
                Ok(TxLocation { height: at.height, index })
            })
            .transpose()
    }

    fn address_page(&self, query: &AddressQuery) -> Result<AddressPage, ViewError> {
        let to = query.to.min(Self::head(self).header.number);
        self.read(|view| view.address_page(&AddressQuery { to, ..*query }))
    }

    fn address_start(&self) -> Result<AddressStart, ViewError> {
        if !self.params().keeps_touched {
            return Ok(AddressStart::Off);
        }
        let next = Self::head(self).header.number.saturating_add(1);
        let start = self.read(|view| view.address_start())?.unwrap_or(next);
        // The block of genesis has no transactions.
        let has_older = start > self.genesis_number().saturating_add(1) || self.fork().is_some();
        Ok(AddressStart::On { start, has_older })
    }

    fn code_since(&self, account: Address) -> Result<CodeSince, ViewError> {
        let reader = self.context().store.snapshot()?;
        let found = self.view(reader.as_ref()).code_since(&account)?;
        Ok(match found {
            CodeSince::Block(height) if !self.is_shown(height) => CodeSince::NoCode,
            found => found,
        })
    }

    fn nonce_use(&self, account: Address, nonce: u64) -> Result<NonceUse, ViewError> {
        let reader = self.context().store.snapshot()?;
        let found = self.view(reader.as_ref()).nonce_use(&account, nonce)?;
        Ok(match found {
            NonceUse::At(height) if !self.is_shown(height) => NonceUse::Unused,
            found => found,
        })
    }

    fn state_after(&self, block: &SealedHeader) -> Result<StateSnapshot, ViewError> {
        let reader = self.context().store.snapshot()?;
        let view = self.view(reader.as_ref());
        let tip = view.tip()?;
        let height = block.header.number;
        // The caller may have read the block before a rewind.
        let is_there = match height == tip.height {
            true => block.hash == tip.hash,
            false => height < tip.height && view.height_of(&block.hash)? == Some(height),
        };
        let pending = (height == tip.height + 1).then(|| self.pending.find(&block.hash)).flatten();
        if let Some(pending) = pending {
            let state = pending.state(reader, self.context.scope, tip.hash, self.shared_base());
            return state.ok_or_else(|| ViewError::TakenBack("the pending block".to_owned()));
        }
        if !is_there {
            drop(reader);
            self.rewinds.wait();
            return Err(ViewError::TakenBack(format!("block {:x}", block.hash)));
        }
        if height < tip.oldest_state {
            return Err(ViewError::StateGone(block.header.state_root));
        }
        let at = if height == tip.height {
            StateVersion::Latest
        } else {
            StateVersion::AtHeight(height)
        };
        Ok(StateSnapshot::new(reader, self.context().scope, at, self.shared_base()))
    }

    fn oldest_state(&self) -> Result<u64, ViewError> {
        Ok(self.read(|view| view.tip())?.oldest_state)
    }

    fn bad_blocks(&self) -> Vec<BadBlock> {
        self.recent_bad_blocks()
    }
}

impl PoolReader for Evm {
    fn transaction(&self, hash: B256) -> Option<PooledTx> {
        self.pool().get(&hash).map(|(tx, _)| tx)
    }

    fn transaction_of(&self, account: Address, nonce: u64) -> Option<PooledTx> {
        self.pool().get_by_nonce(&account, nonce)
    }

    fn replacement_price(&self, account: Address, nonce: u64) -> Option<ReplacementPrice> {
        self.pool().replacement_price(&account, nonce)
    }

    fn next_nonce(&self, account: Address) -> Option<u64> {
        let pooled = self.pool().next_nonce(&account);
        let waiting = self.extension().waiting_nonces(&account);
        if pooled.is_none() && waiting.is_empty() {
            return None;
        }
        // The pool is updated shortly after the extension. If the state can't be read, the caller gets the error from
        // its own read.
        let Ok(read) = self.read_account(&account) else { return pooled };
        let mut next = pooled.map_or(read.state.nonce, |nonce| nonce.max(read.state.nonce));
        let is_used = |nonce: u64| {
            waiting.binary_search(&nonce).is_ok()
                || self.pool().get_by_nonce(&account, nonce).is_some()
        };
        while is_used(next) && next < u64::MAX {
            next += 1;
        }
        Some(next)
    }

    fn counts(&self) -> (usize, usize) {
        self.pool().counts()
    }

    fn dropped(&self, hash: B256) -> Result<Option<Dropped>, ViewError> {
        // The order matters: a mined transaction is in the store before it leaves the pool.
        if self.pool().contains(&hash) {
            return Ok(None);
        }
        let (reader, scope) = (self.context().store.snapshot()?, self.context().scope);
        let reader = reader.as_ref();
        if self.view(reader).location(&hash)?.is_some() {
            return Ok(None);
        }
        Ok(self.pool().drop_log().get(reader, scope, &Id::new(hash.0))?)
    }

    fn content(&self) -> Content {
        self.pool().content()
    }

    fn content_of(&self, account: Address) -> AccountContent {
        self.pool().content_of(&account)
    }

    fn pending_of(&self, accounts: &[Address]) -> Vec<PooledTx> {
        self.pool().pending_of(accounts)
    }
}

impl ChainEvents for Evm {
    fn blocks(&self) -> broadcast::Receiver<ChainEvent> {
        self.subscribe()
    }

    fn pending_transactions(&self) -> broadcast::Receiver<PooledTx> {
        self.pool().subscribe()
    }

    fn dropped_transactions(&self) -> broadcast::Receiver<DroppedTx> {
        self.pool().subscribe_dropped()
    }

    fn printed_calls(&self) -> Option<broadcast::Receiver<PrintedCall>> {
        let controls = self.controls().filter(|_| self.params().keeps_console)?;
        Some(controls.printed_calls().subscribe())
    }
}
