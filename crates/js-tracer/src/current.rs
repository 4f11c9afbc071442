//! The data of the running hook, for the functions that a script calls during the hook.
//!
//! A script's functions live as long as its engine, but a hook's data only as long as the hook. So the hook stores
//! pointers here, and removes them when the script has returned.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use alloy_primitives::map::AddressSet;
use alloy_primitives::{Address, Bytes, U256};
use esker_evm_execution::trace::{Step, TraceContext};

/// Numbers that scripts read by their index in this list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) pc: u64,
    pub(crate) gas: u64,
    pub(crate) cost: u64,
    pub(crate) depth: u64,
    pub(crate) refund: u64,
    pub(crate) op: u64,
    pub(crate) stack: u64,
    pub(crate) memory: u64,
    pub(crate) frame_gas: u64,
    pub(crate) frame_gas_used: u64,
}

impl Numbers {
    pub(crate) fn at(&self, place: usize) -> u64 {
        let Self { pc, gas, cost, depth, refund, op, stack, memory, frame_gas, frame_gas_used } =
            *self;
        let all = [pc, gas, cost, depth, refund, op, stack, memory, frame_gas, frame_gas_used];
        all.get(place).copied().unwrap_or_default()
    }
}

/// The frame that began or ended last.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) kind: &'static str,
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) input: Bytes,
    pub(crate) value: Option<U256>,
    pub(crate) output: Bytes,
    pub(crate) error: Option<String>,
}

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Current {
    pub(crate) numbers: Cell<Numbers>,
    pub(crate) error: RefCell<Option<String>>,
    pub(crate) frame: RefCell<Frame>,
    pub(crate) precompiles: RefCell<AddressSet>,
    /// The reason why the script must end, even if it catches the exception.
    pub(crate) failure: RefCell<Option<String>>,
    step: Cell<Option<NonNull<Step<'static>>>>,
    context: Cell<Option<NonNull<TraceContext<'static, 'static>>>>,
}

/// Removes the pointers when dropped, also if the hook panics.
struct PointerGuard<'c>(&'c Current);

impl Drop for PointerGuard<'_> {
    fn drop(&mut self) {
        self.0.step.set(None);
        self.0.context.set(None);
    }
}

impl Current {
    /// Runs `work`; [`Self::step`] and [`Self::context`] return these values meanwhile.
    pub(crate) fn show<R>(
        &self,
        step: Option<&Step<'_>>,
        context: Option<&mut TraceContext<'_, '_>>,
        work: impl FnOnce() -> R,
    ) -> R {
        let _shown = PointerGuard(self);
        self.step.set(step.map(|step| NonNull::from(step).cast()));
        self.context.set(context.map(|context| NonNull::from(context).cast()));
        work()
    }

    /// The instruction that a hook shows; `None` outside such a hook.
    pub(crate) fn step<R>(&self, read: impl FnOnce(&Step<'_>) -> R) -> Option<R> {
        #[expect(unsafe_code, reason = "functions of a script outlive what a hook is given")]
        // SAFETY: `show` sets the pointer from a reference that lives during its `work`, and removes it before it
        // returns. The reference made here does not leave `read`, which is called within `work`: scripts run only
        // there, on this thread (`Current` is not Sync). The lifetime that `read` sees is its own.
        self.step.get().map(|step| read(unsafe { step.as_ref() }))
    }

    /// The state that a hook may read; `None` outside a hook.
    pub(crate) fn context<R>(
        &self,
        read: impl FnOnce(&mut TraceContext<'_, '_>) -> R,
    ) -> Option<R> {
        // Taken while it is used, so that there is one reference at most.
        let mut context = self.context.take()?;
        #[expect(unsafe_code, reason = "functions of a script outlive what a hook is given")]
        // SAFETY: as in `step`; the reference behind it was exclusive, and is not used while `work` runs.
        let result = read(unsafe { context.as_mut() });
        self.context.set(Some(context));
        Some(result)
    }
}
