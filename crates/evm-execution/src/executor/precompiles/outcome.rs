//! How a precompiled contract ended.

use alloy_primitives::Bytes;

use crate::executor::VmError;

/// How a precompiled contract of this chain ended.
pub(super) enum PrecompileOutcome {
    /// Gas left, and data.
    Done(u64, Bytes),
    /// Gas left.
    Reverted(u64),
    /// All gas is gone.
    Failed(VmError),
}
