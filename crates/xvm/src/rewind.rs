//! Following bundles that are taken back (docs/protocol/bundles.md, "Taking bundles back").

use esker_chain::{AfterRewind, ChainError, Rewinding};

use crate::state::ChainState;
use crate::vm::Xvm;

/// Amends the rows that no bundle wrote, and says what memory does once the rest is in the store.
pub(crate) fn prepare<'a>(
    vm: &'a Xvm,
    rewind: &mut Rewinding<'_>,
) -> Result<AfterRewind<'a>, ChainError> {
    let scope = vm.context().scope;
    let height = ChainState::new(&rewind.after, scope).tip()?.height;
    let indexed = vm.index.take_back(scope, height, rewind)?;
    vm.rejections.prepare_rewind(scope, rewind)?;
    let since_ms = rewind.since_ms;
    Ok(Box::new(move || {
        vm.set_accepted_height(height);
        // The builder checks what waits, and rejects what is not valid any more.
        vm.mempool.rewound(height);
        vm.index.rewound(indexed, height);
        vm.rejections.rewound(since_ms);
        vm.maintenance.wake();
    }))
}
