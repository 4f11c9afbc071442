//! Blocks and receipts read last, decoded: clients ask for a block's transactions one by one.

use std::num::NonZeroUsize;
use std::sync::Arc;

use esker_evm_state::types::{Receipt, SealedBlock};
use esker_primitives::sync::Mutex;
use lru::LruCache;

/// Heights that are remembered.
const HEIGHTS: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");

/// Bytes of a block above which it is not remembered: with [`HEIGHTS`] it bounds the memory.
const MAX_BYTES: usize = 1 << 20;

/// What is remembered of one height. Accepted blocks never change, so nothing is ever stale.
#[derive(Clone, Debug, Default)]
struct Remembered {
    block: Option<Arc<SealedBlock>>,
    receipts: Option<Arc<[Receipt]>>,
}

/// Decoded blocks and receipts by height.
#[derive(Debug)]
pub(super) struct BlockCache(Mutex<LruCache<u64, Remembered>>);

impl Default for BlockCache {
    fn default() -> Self {
        Self(Mutex::new_named("evm.blocks", LruCache::new(HEIGHTS)))
    }
}

impl BlockCache {
    pub(super) fn block(&self, height: u64) -> Option<Arc<SealedBlock>> {
        self.0.lock().get(&height)?.block.clone()
    }

    pub(super) fn receipts(&self, height: u64) -> Option<Arc<[Receipt]>> {
        self.0.lock().get(&height)?.receipts.clone()
    }

    pub(super) fn remember_block(&self, height: u64, block: &Arc<SealedBlock>) {
        if block.size <= MAX_BYTES {
            let mut heights = self.0.lock();
            heights.get_or_insert_mut(height, Remembered::default).block = Some(Arc::clone(block));
        }
    }

    /// Receipts are only remembered beside their block, whose size bounds theirs.
    pub(super) fn remember_receipts(&self, height: u64, receipts: &Arc<[Receipt]>) {
        if let Some(remembered) = self.0.lock().get_mut(&height) {
            remembered.receipts = Some(Arc::clone(receipts));
        }
    }
}
