//! Transactions of a block whose code failed.

use alloy_primitives::Bytes;

use super::VmError;
use super::runner::ExecutionEnd;

/// Most bytes that are kept of the data of a revert.
const MAX_DATA: usize = 1024;

/// A transaction of a block whose code failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxFailure {
    /// Index of the transaction in the block.
    pub index: usize,
    /// The error with which it ended.
    pub error: VmError,
    /// The first bytes of the returned data.
    pub data: Bytes,
    /// Length of the whole returned data, bytes.
    pub data_len: usize,
}

impl TxFailure {
    /// The failure of the transaction with this index; `None` if its code succeeded.
    pub fn from_end(index: usize, ended: &ExecutionEnd) -> Option<Self> {
        let error = ended.error.clone()?;
        let data_len = ended.output.len();
        let data = Bytes::copy_from_slice(&ended.output[..data_len.min(MAX_DATA)]);
        Some(Self { index, error, data, data_len })
    }
}
