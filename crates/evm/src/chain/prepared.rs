//! Blocks that are parsed and checked before the machine verifies them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use esker_primitives::sync::Mutex;

use crate::verify::PreparedBlock;

/// Most blocks that are kept. A follower reads fewer ahead.
const MAX_BLOCKS: usize = 1024;
/// Most bytes of encoded blocks that are kept.
const MAX_BYTES: usize = 16 << 20;

/// A block that is or will be prepared. The first thread that needs it parses it.
pub(super) type PreparedSlot = Arc<OnceLock<Result<Arc<PreparedBlock>, alloy_rlp::Error>>>;

/// Prepared blocks, in the order of their announcement. The oldest ones are dropped.
pub(super) struct PreparedBlocks(Mutex<Slots>);

#[derive(Default)]
struct Slots {
    /// Encoded blocks. A block is found by the address of its bytes, which stay allocated while the block is here.
    blocks: VecDeque<(Bytes, PreparedSlot)>,
    bytes: usize,
}

impl Default for PreparedBlocks {
    fn default() -> Self {
        Self(Mutex::new_named("evm.prepared", Slots::default()))
    }
}

impl PreparedBlocks {
    /// Adds a block to be prepared; `None` if it is too large.
    pub(super) fn add(&self, bytes: &Bytes) -> Option<PreparedSlot> {
        if bytes.len() > MAX_BYTES {
            return None;
        }
        let slot = PreparedSlot::default();
        let mut dropped = Vec::new();
        let mut slots = self.0.lock();
        while slots.blocks.len() >= MAX_BLOCKS || slots.bytes + bytes.len() > MAX_BYTES {
            let Some(oldest) = slots.blocks.pop_front() else { break };
            slots.bytes -= oldest.0.len();
            // The blocks are freed after the lock.
            dropped.push(oldest);
        }
        slots.bytes += bytes.len();
        slots.blocks.push_back((bytes.clone(), Arc::clone(&slot)));
        Some(slot)
    }

    /// Removes the block with these bytes.
    pub(super) fn take(&self, bytes: &[u8]) -> Option<(Bytes, PreparedSlot)> {
        let mut slots = self.0.lock();
        let is_same = |kept: &Bytes| kept.as_ptr_range() == bytes.as_ptr_range();
        let at = slots.blocks.iter().position(|(kept, _)| is_same(kept))?;
        let found = slots.blocks.remove(at)?;
        slots.bytes -= found.0.len();
        Some(found)
    }

    /// Drops the oldest blocks while they are prepared and not above a height: they are no longer needed.
    pub(super) fn drop_through(&self, height: u64) {
        let is_past = |slot: &PreparedSlot| match slot.get() {
            Some(Ok(prepared)) => prepared.block().header.number <= height,
            Some(Err(_)) => true,
            None => false,
        };
        let mut dropped = Vec::new();
        let mut slots = self.0.lock();
        while slots.blocks.front().is_some_and(|(_, slot)| is_past(slot)) {
            let Some(oldest) = slots.blocks.pop_front() else { break };
            slots.bytes -= oldest.0.len();
            dropped.push(oldest);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        let slots = self.0.lock();
        (slots.blocks.len(), slots.bytes)
    }
}

impl fmt::Debug for PreparedBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedBlocks({})", self.0.lock().blocks.len())
    }
}

#[cfg(test)]
mod tests {
    use esker_evm_execution::rules::{CChainRules, FeeOverrides, ForkSchedule};
    use esker_evm_state::types::{Block, Header};

    use super::*;

    #[test]
    fn a_block_is_found_once_and_only_by_its_own_bytes() {
        let blocks = PreparedBlocks::default();
        let (one, same) = (Bytes::from(vec![1; 100]), Bytes::from(vec![1; 100]));
        let slot = blocks.add(&one).unwrap();
        assert!(blocks.take(&same).is_none());
        assert!(blocks.take(&one[1..]).is_none());
        let (bytes, found) = blocks.take(&one.clone()).unwrap();
        assert!(bytes == one && Arc::ptr_eq(&found, &slot));
        assert!(blocks.take(&one).is_none());
        assert_eq!(blocks.len(), (0, 0));
    }

    #[test]
    fn blocks_whose_turn_has_passed_are_dropped() {
        let blocks = PreparedBlocks::default();
        let all: Vec<_> = (0..4).map(|_| Bytes::from(vec![0; 10])).collect();
        let slots: Vec<_> = all.iter().map(|block| blocks.add(block).unwrap()).collect();
        let numbered = |number| {
            let header = Header { number, ..Header::default() };
            let block = Block { header, ..Block::default() };
            let rules = CChainRules::new(1, ForkSchedule::LOCAL, FeeOverrides::default());
            Ok(Arc::new(PreparedBlock::new(block, Arc::new(rules))))
        };
        slots[0].set(numbered(7)).unwrap();
        slots[1].set(Err(alloy_rlp::Error::InputTooShort)).unwrap();
        slots[2].set(numbered(8)).unwrap();
        blocks.drop_through(6);
        assert_eq!(blocks.len(), (4, 40));
        blocks.drop_through(7);
        assert_eq!(blocks.len(), (2, 20));
        blocks.drop_through(100);
        assert_eq!(blocks.len(), (1, 10), "the last one is not parsed yet");
    }

    #[test]
    fn blocks_and_their_bytes_are_bounded() {
        let blocks = PreparedBlocks::default();
        let all: Vec<_> = (0..MAX_BLOCKS + 10).map(|_| Bytes::from(vec![0; 10])).collect();
        all.iter().for_each(|block| assert!(blocks.add(block).is_some()));
        assert_eq!(blocks.len(), (MAX_BLOCKS, MAX_BLOCKS * 10));
        assert!(blocks.take(&all[9]).is_none() && blocks.take(&all[10]).is_some());

        let half = Bytes::from(vec![0; MAX_BYTES / 2]);
        for _ in 0..3 {
            assert!(blocks.add(&half).is_some());
        }
        assert_eq!(blocks.len(), (2, MAX_BYTES));
        assert!(blocks.add(&Bytes::from(vec![0; MAX_BYTES + 1])).is_none());
    }
}
