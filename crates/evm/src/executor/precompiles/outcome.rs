//! What a precompiled contract came to.

use alloy_primitives::Bytes;

use crate::executor::VmError;

/// What a precompiled contract of this chain came to.
pub(super) enum PrecompileOutcome {
    /// Gas left, and data.
    Done(u64, Bytes),
    /// Gas left.
    Reverted(u64),
    /// All gas is gone.
    Failed(VmError),
}
