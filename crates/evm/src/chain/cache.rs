//! A cache of decoded blocks and receipts: clients request a block's transactions one by one.

use std::num::NonZeroUsize;
use std::sync::Arc;

use esker_evm_state::types::{Receipt, SealedBlock};
use esker_primitives::sync::Mutex;
use lru::LruCache;

/// Heights in the cache.
const HEIGHTS: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");

/// Largest cached block in bytes; with [`HEIGHTS`] it limits the memory.
const MAX_BYTES: usize = 1 << 20;

/// The cached data of one height. Accepted blocks never change; a rewind clears the cache.
#[derive(Clone, Debug, Default)]
struct CachedBlock {
    block: Option<Arc<SealedBlock>>,
    receipts: Option<Arc<[Receipt]>>,
}

/// Decoded blocks and receipts by height.
#[derive(Debug)]
pub(super) struct BlockCache(Mutex<CacheState>);

#[derive(Debug)]
struct CacheState {
    heights: LruCache<u64, CachedBlock>,
    epoch: Epoch,
}

/// The number of times that the cache was cleared. Get it before reading a block to be cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch(u64);

impl Default for BlockCache {
    fn default() -> Self {
        let cached = CacheState { heights: LruCache::new(HEIGHTS), epoch: Epoch::default() };
        Self(Mutex::new_named("evm.blocks", cached))
    }
}

impl BlockCache {
    /// The block, or the epoch for caching it.
    pub(super) fn block(&self, height: u64) -> Result<Arc<SealedBlock>, Epoch> {
        let mut cached = self.0.lock();
        let found = cached.heights.get(&height).and_then(|at| at.block.clone());
        found.ok_or(cached.epoch)
    }

    /// The receipts, or the epoch for caching them.
    pub(super) fn receipts(&self, height: u64) -> Result<Arc<[Receipt]>, Epoch> {
        let mut cached = self.0.lock();
        let found = cached.heights.get(&height).and_then(|at| at.receipts.clone());
        found.ok_or(cached.epoch)
    }

    pub(super) fn insert_block(&self, height: u64, block: &Arc<SealedBlock>, epoch: Epoch) {
        let mut cached = self.0.lock();
        if block.size <= MAX_BYTES && cached.epoch == epoch {
            let remembered = cached.heights.get_or_insert_mut(height, CachedBlock::default);
            remembered.block = Some(Arc::clone(block));
        }
    }

    /// Receipts are only cached with their block, whose size limits that of the receipts.
    pub(super) fn insert_receipts(&self, height: u64, receipts: &Arc<[Receipt]>, epoch: Epoch) {
        let mut cached = self.0.lock();
        if cached.epoch == epoch
            && let Some(remembered) = cached.heights.get_mut(&height)
        {
            remembered.receipts = Some(Arc::clone(receipts));
        }
    }

    /// Clears the cache after a rewind.
    pub(super) fn clear(&self) {
        let mut cached = self.0.lock();
        cached.heights.clear();
        cached.epoch.0 = cached.epoch.0.wrapping_add(1);
    }
}
