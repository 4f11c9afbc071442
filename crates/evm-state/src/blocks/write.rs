//! Writes the rows of an accepted block besides the state.

use alloy_primitives::B256;
use esker_storage::{KvRead, KvWrite, Scope, StorageResult};

use super::tables::{BLOCKS, HEIGHTS, LOCATIONS, Location, RECEIPTS, TIP, Tip};
use crate::state::prune;
use crate::types::{Block, Receipt, StoredReceipts};

/// Which states are kept (docs/decisions.md, "Kept state").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// All states.
    Archive,
    /// The newest state, and those of this many blocks before it.
    Window(u64),
}

/// Writes a block that follows the one in [`TIP`], and prunes the states that leave the window.
pub fn write_block(
    below: &dyn KvRead,
    scope: Scope,
    history: History,
    block: &Block,
    (hash, bytes): (B256, &[u8]),
    receipts: Vec<Receipt>,
    out: &mut dyn KvWrite,
) -> StorageResult<()> {
    let height = block.header.number;
    BLOCKS.put_bytes(out, scope, &height, bytes);
    HEIGHTS.put(out, scope, &hash.0, &height);
    for (index, tx) in (0u32..).zip(&block.transactions) {
        LOCATIONS.put(out, scope, &tx.tx_hash().0, &Location { height, index });
    }
    if !receipts.is_empty() {
        RECEIPTS.put(out, scope, &height, &StoredReceipts(receipts));
    }
    let mut oldest_state = match TIP.get(below, scope, &())? {
        Some(tip) => tip.oldest_state,
        None => height,
    };
    if let History::Window(window) = history {
        let oldest = height.saturating_sub(window);
        // Usually one height; several heights at a time after a change from archive.
        for at in (oldest_state + 1..=oldest).take(MAX_PRUNED_A_BLOCK) {
            prune(below, scope, at, out)?;
            oldest_state = at;
        }
    }
    TIP.put(out, scope, &(), &Tip { height, hash, oldest_state });
    Ok(())
}

/// Most heights whose undo rows one block removes, so that a change of mode does not stop the chain.
const MAX_PRUNED_A_BLOCK: usize = 16;
