//! Blob gas in the header (EIP-4844).

use alloy_consensus::Header;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;

use super::error::HeaderError;
use crate::blobs::child_excess_blob_gas;
use crate::forks::{BlobParams, Fork};

/// Checks blob gas and its excess in a header from Cancun on.
pub(super) fn check_blobs(
    fork: Fork,
    params: &BlobParams,
    header: &Header,
    parent: &Header,
) -> Result<(), HeaderError> {
    let excess = header.excess_blob_gas.ok_or(HeaderError::NoExcessBlobGas)?;
    let used = header.blob_gas_used.ok_or(HeaderError::NoBlobGas)?;
    if used > params.max_gas() {
        return Err(HeaderError::BlobGas { have: used, most: params.max_gas() });
    }
    if !used.is_multiple_of(DATA_GAS_PER_BLOB) {
        return Err(HeaderError::PartOfBlob(used));
    }
    let want = child_excess_blob_gas(fork, params, parent);
    if excess != want {
        return Err(HeaderError::ExcessBlobGas { have: excess, want });
    }
    Ok(())
}
