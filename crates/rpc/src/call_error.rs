//! The reasons why a call has no result.

use crate::error::RpcError;
use crate::params::ParamsError;
use crate::work::{CallMemoryError, MemoryError};

/// The reason why a call has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The arguments do not fit; the handler did not run.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The handler's own error.
    #[error(transparent)]
    Handler(#[from] RpcError),
    /// The handler panicked. It has been logged.
    #[error("method handler crashed")]
    Panicked,
    /// Too many calls wait already.
    #[error("too many calls wait")]
    Busy,
    /// There is no memory for the result.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// There is no memory for what the call takes.
    #[error(transparent)]
    CallMemory(#[from] CallMemoryError),
}
