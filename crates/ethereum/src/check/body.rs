//! A body against its header.

use alloy_consensus::Transaction as _;
use alloy_consensus::proofs::{
    calculate_ommers_root, calculate_transaction_root, calculate_withdrawals_root,
};
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::B256;
use alloy_rlp::Encodable;
use thiserror::Error;

use crate::block::Block;
use crate::forks::{ChainConfig, Fork};

/// Most bytes of a block from Osaka on (EIP-7934).
pub const MAX_BLOCK_SIZE: usize = 8 << 20;

/// Why a body does not belong to its header. The texts are those of go-ethereum's block validator.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BodyError {
    /// The block has more bytes than a block may have.
    #[error("block RLP-encoded size exceeds maximum")]
    Size,
    /// The header names other ommers.
    #[error("uncle root hash mismatch (header value {header:x}, calculated {found:x})")]
    Ommers {
        /// That of the header.
        header: B256,
        /// That of the body.
        found: B256,
    },
    /// The header names other transactions.
    #[error("transaction root hash mismatch (header value {header:x}, calculated {found:x})")]
    Transactions {
        /// That of the header.
        header: B256,
        /// That of the body.
        found: B256,
    },
    /// The header has withdrawals, the body has none.
    #[error("missing withdrawals in block body")]
    NoWithdrawals,
    /// The body has withdrawals, the header has none.
    #[error("withdrawals present in block body")]
    EarlyWithdrawals,
    /// The header names other withdrawals.
    #[error("withdrawals root hash mismatch (header value {header:x}, calculated {found:x})")]
    Withdrawals {
        /// That of the header.
        header: B256,
        /// That of the body.
        found: B256,
    },
    /// A transaction carries its blobs.
    #[error("unexpected blob sidecar in transaction at index {0}")]
    Sidecar(usize),
    /// The header has other blob gas than the transactions.
    #[error("blob gas used mismatch (header {header}, calculated {found})")]
    BlobGas {
        /// That of the header.
        header: u64,
        /// That of the body.
        found: u64,
    },
    /// A transaction has blobs, the header has no blob gas.
    #[error("data blobs present in block body")]
    EarlyBlobs,
}

/// Checks that a body is the one that its header names. The header has been checked.
///
/// # Errors
/// The first difference.
pub fn check_body(config: &ChainConfig, block: &Block) -> Result<(), BodyError> {
    let header = &block.header;
    let is_merged = header.difficulty.is_zero();
    let fork = config.fork_at(header.number, header.timestamp, is_merged);
    if fork >= Fork::Osaka && block.length() > MAX_BLOCK_SIZE {
        return Err(BodyError::Size);
    }
    let (named, found) = (header.ommers_hash, calculate_ommers_root(&block.body.ommers));
    if named != found {
        return Err(BodyError::Ommers { header: named, found });
    }
    let transactions = &block.body.transactions;
    let (named, found) = (header.transactions_root, calculate_transaction_root(transactions));
    if named != found {
        return Err(BodyError::Transactions { header: named, found });
    }
    check_withdrawals(block)?;
    check_blobs(block)
}

fn check_withdrawals(block: &Block) -> Result<(), BodyError> {
    match (block.header.withdrawals_root, &block.body.withdrawals) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(BodyError::EarlyWithdrawals),
        (Some(_), None) => Err(BodyError::NoWithdrawals),
        (Some(header), Some(withdrawals)) => {
            let found = calculate_withdrawals_root(withdrawals);
            if header == found { Ok(()) } else { Err(BodyError::Withdrawals { header, found }) }
        }
    }
}

fn check_blobs(block: &Block) -> Result<(), BodyError> {
    let mut found: u64 = 0;
    for (index, tx) in block.body.transactions.iter().enumerate() {
        if tx.as_eip4844().is_some_and(|tx| tx.tx().sidecar().is_some()) {
            return Err(BodyError::Sidecar(index));
        }
        found = found.saturating_add(tx.blob_gas_used().unwrap_or(0));
    }
    match block.header.blob_gas_used {
        Some(header) if header / DATA_GAS_PER_BLOB != found / DATA_GAS_PER_BLOB => {
            Err(BodyError::BlobGas { header, found })
        }
        None if found > 0 => Err(BodyError::EarlyBlobs),
        _ => Ok(()),
    }
}
