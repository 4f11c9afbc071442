//! How a precompiled contract ended.

use alloy_primitives::Bytes;

use crate::executor::VmError;

/// How a precompiled contract of this chain ended.
pub(super) enum PrecompileOutcome {
    /// Success: remaining gas, and returned data.
    Done(u64, Bytes),
    /// Revert: remaining gas.
    Reverted(u64),
    /// Failure, which uses up all gas.
    Failed(VmError),
}
