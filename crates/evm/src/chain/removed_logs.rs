//! Collecting the logs of the blocks that a rewind removes.

use alloy_primitives::Bloom;
use esker_chain::ChainError;
use esker_evm_state::types::SealedBlock;
use esker_storage::KvRead;

use super::ChainReadError;
use super::removed::{MAX_BYTES, log_bytes};
use super::vm::Evm;
use crate::view::PlacedLog;

/// Most blocks whose logs a rewind collects. If a rewind removes more blocks, it keeps no logs.
const MAX_BLOCKS: u64 = 10_000;

impl Evm {
    /// The logs of the blocks above a height, oldest first; `None` if they are too many.
    pub(super) fn logs_above(
        &self,
        reader: &dyn KvRead,
        height: u64,
    ) -> Result<Option<Vec<PlacedLog>>, ChainError> {
        let view = self.view(reader);
        let last = view.tip()?.height;
        if last.saturating_sub(height) > MAX_BLOCKS {
            return Ok(None);
        }
        let (mut logs, mut bytes) = (Vec::new(), 0);
        for height in height.saturating_add(1)..=last {
            let missing = || ChainReadError::NoTip;
            if view.header(height)?.ok_or_else(missing)?.bloom == Bloom::ZERO {
                continue;
            }
            let block = view.block(height)?.ok_or_else(missing)?;
            let hash = self.params().rules.block_hash(&block.header);
            let block = SealedBlock { block, hash, size: 0 };
            for placed in PlacedLog::in_block(&block, &view.receipts(height)?, |_| true) {
                bytes += log_bytes(&placed);
                logs.push(placed);
            }
            if bytes > MAX_BYTES {
                return Ok(None);
            }
        }
        Ok(Some(logs))
    }
}
