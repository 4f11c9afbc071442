//! The X-Chain's part of a rewind (docs/protocol/bundles.md, "Rewinding bundles").

use std::sync::Arc;

use esker_chain::{AfterRewind, ChainError, Rewinding};

use super::events::{EventReader, MAX_REMOVED_BLOCKS, MAX_REMOVED_BYTES, Rewind};
use super::parts::Xvm;
use crate::state::ChainState;
use crate::state::tables::Tip;

/// Corrects rows that no bundle wrote, and returns the update of memory after the write.
pub(crate) fn prepare<'a>(
    vm: &'a Xvm,
    rewind: &mut Rewinding<'_>,
) -> Result<AfterRewind<'a>, ChainError> {
    let scope = vm.context().scope;
    let Tip { height, time_s, .. } = ChainState::new(&rewind.after, scope).tip()?;
    let indexed = vm.index.rewind(scope, height, rewind)?;
    vm.rejections.prepare_rewind(scope, rewind)?;
    let removed = removed_blocks(vm, rewind, height)?;
    let since_ms = rewind.since_ms;
    Ok(Box::new(move || {
        vm.set_accepted(height, time_s);
        // The builder checks the pooled transactions and rejects the invalid ones.
        vm.mempool.rewound(height);
        vm.index.rewound(indexed, height);
        vm.rejections.rewound(since_ms);
        vm.events.rewound(removed);
        vm.maintenance.wake();
    }))
}

/// The removed blocks for subscribers.
fn removed_blocks(vm: &Xvm, rewind: &Rewinding<'_>, to: u64) -> Result<Rewind, ChainError> {
    let mut removed = Vec::new();
    if vm.events.has_subscribers() {
        let state = ChainState::new(rewind.before, vm.context().scope);
        let mut reader = EventReader::new(vm, state);
        let mut bytes = 0_usize;
        for height in (to.saturating_add(1)..=state.tip()?.height).rev() {
            if removed.len() >= MAX_REMOVED_BLOCKS || bytes > MAX_REMOVED_BYTES {
                break;
            }
            let event = Arc::new(reader.read(height, true)?);
            bytes = bytes.saturating_add(event.memory());
            removed.push(event);
        }
    }
    Ok(Rewind::new(to, removed))
}
