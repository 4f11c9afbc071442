//! Who sent a transaction.

use alloy_consensus::Transaction as _;
use alloy_consensus::transaction::SignerRecoverable;
use alloy_primitives::Address;
use thiserror::Error;

use crate::types::Transaction;

/// Why the sender of a transaction can't be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SenderError {
    /// The signature is none.
    #[error("invalid transaction v, r, s values")]
    Signature,
    /// It was signed for another chain.
    #[error("invalid chain id for signer: have {have} want {want}")]
    ChainId {
        /// The transaction's.
        have: u64,
        /// The chain's.
        want: u64,
    },
    /// A type that this chain does not have.
    #[error("transaction type not supported")]
    Type,
}

/// Recovers the sender of a transaction from its signature: some 35 microseconds, so do it once.
pub fn recover_sender(tx: &Transaction, chain_id: u64) -> Result<Address, SenderError> {
    if tx.tx_type() as u8 > 2 {
        return Err(SenderError::Type);
    }
    if let Some(have) = tx.chain_id()
        && have != chain_id
    {
        return Err(SenderError::ChainId { have, want: chain_id });
    }
    tx.recover_signer().map_err(|_| SenderError::Signature)
}
