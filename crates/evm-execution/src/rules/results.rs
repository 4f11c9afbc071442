//! Checks of results that all chains have in common.

use alloy_primitives::{B256, Bloom};
use esker_evm_state::types::Header;
use thiserror::Error;

use super::error::RuleError;
use super::new_block::BlockResults;

/// A result of a block's execution that is not the one in its header.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResultError {
    /// The gas used.
    #[error("invalid gas used (remote: {remote} local: {local})")]
    GasUsed {
        /// The value in the header.
        remote: u64,
        /// The computed value.
        local: u64,
    },
    /// The bloom filter.
    #[error("invalid bloom (remote: {:x}  local: {:x})", **remote, **local)]
    Bloom {
        /// The value in the header.
        remote: Box<Bloom>,
        /// The computed value.
        local: Box<Bloom>,
    },
    /// The root of the receipts.
    #[error("invalid receipt root hash (remote: {remote:x} local: {local:x})")]
    ReceiptsRoot {
        /// The value in the header.
        remote: B256,
        /// The computed value.
        local: B256,
    },
}

/// Checks gas, bloom filter and receipts of a block.
pub fn check_common_results(header: &Header, results: &BlockResults) -> Result<(), RuleError> {
    let error = if header.gas_used != results.gas_used {
        ResultError::GasUsed { remote: header.gas_used, local: results.gas_used }
    } else if header.bloom != results.bloom {
        let (remote, local) = (Box::new(header.bloom), Box::new(results.bloom));
        ResultError::Bloom { remote, local }
    } else if header.receipts_root != results.receipts_root {
        ResultError::ReceiptsRoot { remote: header.receipts_root, local: results.receipts_root }
    } else {
        return Ok(());
    };
    Err(RuleError::new(error))
}
