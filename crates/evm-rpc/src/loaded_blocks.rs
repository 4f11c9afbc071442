//! Blocks of a state that was loaded into a development node (`anvil_loadState`): the chain does not have them, but readers find
//! them by number, hash and transaction. They are in memory only.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm::view::{ChainPosition, ChainReader};
use esker_evm_state::types::{Receipt, SealedBlock};
use esker_primitives::sync::RwLock;

/// A block and its receipts, one for each transaction.
#[derive(Clone, Debug)]
pub struct LoadedBlock {
    /// The block. Its hash does not follow from its header, which lacks what this chain's do not have.
    pub block: Arc<SealedBlock>,
    /// The receipts.
    pub receipts: Arc<[Receipt]>,
}

#[derive(Debug)]
struct Index {
    /// The chain after the load. If it goes below, the load is taken back.
    since: ChainPosition,
    numbers: BTreeMap<u64, usize>,
    hashes: HashMap<B256, usize>,
    /// The block, and the place there.
    txs: HashMap<B256, (usize, usize)>,
    blocks: Vec<LoadedBlock>,
}

/// The blocks of the state that was loaded last.
#[derive(Debug)]
pub struct LoadedBlocks(RwLock<Option<Arc<Index>>>);

impl Default for LoadedBlocks {
    fn default() -> Self {
        Self(RwLock::new_named("evm.loaded-blocks", None))
    }
}

impl LoadedBlocks {
    /// Keeps the blocks of a state, which was loaded up to `since`. They are found by those numbers at which the chain has
    /// blocks that the load made.
    pub(crate) fn set(
        &self,
        blocks: Vec<LoadedBlock>,
        made: &RangeInclusive<u64>,
        since: ChainPosition,
    ) {
        let (mut numbers, mut hashes, mut txs) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        for (at, LoadedBlock { block, .. }) in blocks.iter().enumerate() {
            hashes.insert(block.hash, at);
            if made.contains(&block.block.header.number) {
                numbers.insert(block.block.header.number, at);
            }
            for (place, tx) in block.block.transactions.iter().enumerate() {
                txs.insert(*tx.tx_hash(), (at, place));
            }
        }
        let index = Index { since, numbers, hashes, txs, blocks };
        *self.0.write() = Some(Arc::new(index)).filter(|index| !index.blocks.is_empty());
    }

    /// The loaded blocks, unless the chain was rewound below them.
    fn index(&self, chain: &dyn ChainReader) -> Option<Arc<Index>> {
        let index = self.0.read().clone()?;
        let lowest = chain.lowest_since(&index.since, &chain.position());
        lowest.is_none_or(|lowest| lowest >= index.since.height).then_some(index)
    }

    fn find(
        &self,
        chain: &dyn ChainReader,
        at: impl FnOnce(&Index) -> Option<usize>,
    ) -> Option<LoadedBlock> {
        let index = self.index(chain)?;
        at(&index).and_then(|at| index.blocks.get(at)).cloned()
    }

    pub(crate) fn by_number(&self, chain: &dyn ChainReader, number: u64) -> Option<LoadedBlock> {
        self.find(chain, |index| index.numbers.get(&number).copied())
    }

    pub(crate) fn by_hash(&self, chain: &dyn ChainReader, hash: B256) -> Option<LoadedBlock> {
        self.find(chain, |index| index.hashes.get(&hash).copied())
    }

    /// The block of a transaction, and its place there.
    pub(crate) fn by_tx(
        &self,
        chain: &dyn ChainReader,
        tx: B256,
    ) -> Option<(Arc<SealedBlock>, usize)> {
        let index = self.index(chain)?;
        let (at, place) = *index.txs.get(&tx)?;
        index.blocks.get(at).map(|found| (Arc::clone(&found.block), place))
    }
}
