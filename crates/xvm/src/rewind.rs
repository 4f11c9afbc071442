//! The X-Chain's part of a rewind (docs/protocol/bundles.md, "Rewinding bundles").

use esker_chain::{AfterRewind, ChainError, Rewinding};

use crate::state::ChainState;
use crate::state::tables::Tip;
use crate::vm::Xvm;

/// Corrects rows that no bundle wrote, and returns the update of memory after the write.
pub(crate) fn prepare<'a>(
    vm: &'a Xvm,
    rewind: &mut Rewinding<'_>,
) -> Result<AfterRewind<'a>, ChainError> {
    let scope = vm.context().scope;
    let Tip { height, time_s, .. } = ChainState::new(&rewind.after, scope).tip()?;
    let indexed = vm.index.rewind(scope, height, rewind)?;
    vm.rejections.prepare_rewind(scope, rewind)?;
    let since_ms = rewind.since_ms;
    Ok(Box::new(move || {
        vm.set_accepted(height, time_s);
        // The builder checks the pooled transactions and rejects the invalid ones.
        vm.mempool.rewound(height);
        vm.index.rewound(indexed, height);
        vm.rejections.rewound(since_ms);
        vm.maintenance.wake();
    }))
}
