//! Transactions of a block whose code failed.

use alloy_primitives::Bytes;

use super::VmError;
use super::runner::ExecutionEnd;

/// Most bytes that are kept of the data of a revert.
const MAX_DATA: usize = 1024;

/// A transaction of a block whose code failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxFailure {
    /// Its place in the block.
    pub index: usize,
    /// How it ended.
    pub error: VmError,
    /// The first bytes of the data that it returned.
    pub data: Bytes,
    /// Length of all data in bytes.
    pub data_len: usize,
}

impl TxFailure {
    /// The failure of the transaction at this place; `None` if its code ended well.
    pub fn from_end(index: usize, ended: &ExecutionEnd) -> Option<Self> {
        let error = ended.error.clone()?;
        let data_len = ended.output.len();
        let data = Bytes::copy_from_slice(&ended.output[..data_len.min(MAX_DATA)]);
        Some(Self { index, error, data, data_len })
    }
}
