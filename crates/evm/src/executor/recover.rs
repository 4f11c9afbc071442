//! Who sent a transaction.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Signature};
use esker_evm_state::types::Transaction;
use esker_primitives::keys;
use thiserror::Error;

/// Why the sender of a transaction can't be recovered.
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
    recover_signer(tx.signature(), &tx.signature_hash()).ok_or(SenderError::Signature)
}

/// The account whose key signed a hash; `None` for a signature that is none, or not in its only accepted form.
pub fn recover_signer(signature: &Signature, hash: &B256) -> Option<Address> {
    let mut bytes = [0; keys::Signature::LEN];
    bytes[..32].copy_from_slice(&signature.r().to_be_bytes::<32>());
    bytes[32..64].copy_from_slice(&signature.s().to_be_bytes::<32>());
    bytes[64] = signature.v().into();
    let point = keys::Signature::new(bytes).recover_uncompressed(&hash.0).ok()?;
    Some(Address::from_raw_public_key(&point[1..]))
}
