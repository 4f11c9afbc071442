//! A chain in memory for tests: genesis, and blocks on top.

use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm::extension::BlockExtension;
use esker_evm::verify::{ParentContext, PreparedBlock, VerifyError, verify_block};
use esker_evm_execution::executor::{BlockExecutionOutput, BlockHashes, ChainParams};
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::{AncestorBlocks, BlockAttributes, ForkSchedule};
use esker_evm_state::state::{ApplyOptions, StateError, StateVersion, StateView};
use esker_evm_state::types::{Block, Header};
use esker_storage::{KvRead, KvStore, MemoryStore, WriteSet};
use esker_testkit::first_block::{SCOPE, first_block, local_genesis, params};

/// Hashes of the blocks so far, by height.
#[derive(Debug, Default)]
pub(crate) struct Hashes(Vec<B256>);

impl BlockHashes for Hashes {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        Ok(self.0.get(number as usize).copied())
    }
}

impl AncestorBlocks for Hashes {
    fn ancestor(&self, _: u64) -> Result<Option<Block>, StateError> {
        Ok(None)
    }
}

#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) params: ChainParams,
    pub(crate) store: MemoryStore,
    pub(crate) tip: Header,
    /// All headers, by height.
    pub(crate) headers: Vec<Header>,
    pub(crate) hashes: Hashes,
    /// Unix s.
    pub(crate) now_s: u64,
}

impl Ledger {
    pub(crate) fn new(params: ChainParams, genesis: &Genesis) -> Self {
        let (store, block) = first_block(&params, genesis);
        let hashes = Hashes(vec![params.rules.block_hash(&block.header)]);
        let headers = vec![block.header.clone()];
        Self { params, store, tip: block.header, headers, hashes, now_s: 1_900_000_000 }
    }

    /// The local network's chain.
    pub(crate) fn local() -> Self {
        Self::new(params(43112, ForkSchedule::LOCAL), &local_genesis())
    }

    pub(crate) fn reader(&self) -> Box<dyn KvRead> {
        self.store.snapshot().unwrap()
    }

    pub(crate) fn with_site<T>(
        &self,
        extension: &dyn BlockExtension,
        run: impl FnOnce(&ParentContext<'_>) -> T,
    ) -> T {
        let reader = self.reader();
        run(&ParentContext {
            chain: &self.params,
            reader: &*reader,
            base: None,
            scope: SCOPE,
            options: ApplyOptions::default(),
            parent: &self.tip,
            parent_hash: *self.hashes.0.last().unwrap(),
            hashes: &self.hashes,
            ancestors: &self.hashes,
            extension,
            attributes: &BlockAttributes::default(),
            undecided: &[],
            has_undecided: false,
        })
    }

    pub(crate) fn verify(
        &self,
        block: &Block,
        extension: &dyn BlockExtension,
    ) -> Result<(BlockExecutionOutput, WriteSet), VerifyError> {
        let mut out = WriteSet::default();
        let block = PreparedBlock::new(block.clone(), Arc::clone(&self.params.rules));
        let processed = self.with_site(extension, |site| {
            verify_block(site, &block, Some(self.now_s), &|_| None, &mut out)
        })?;
        Ok((processed, out))
    }

    pub(crate) fn accept(&mut self, block: &Block, writes: &WriteSet) {
        self.store.write(writes).unwrap();
        self.tip = block.header.clone();
        self.headers.push(self.tip.clone());
        self.hashes.0.push(self.params.rules.block_hash(&block.header));
    }

    pub(crate) fn with_view<T>(&self, run: impl FnOnce(StateView<'_>) -> T) -> T {
        let reader = self.reader();
        run(StateView::new(&*reader, SCOPE, StateVersion::Latest))
    }
}
