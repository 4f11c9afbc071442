//! Recovers senders of transactions.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Signature, U256};
use esker_evm_state::types::Transaction;
use esker_primitives::keys;
use thiserror::Error;

use crate::rules::{ExecutionRules, Revision, Rules};

/// Why the sender of a transaction can't be recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SenderError {
    /// The signature is invalid.
    #[error("invalid transaction v, r, s values")]
    Signature,
    /// It was signed for another chain.
    #[error("invalid chain id for signer: have {have} want {want}")]
    ChainId {
        /// Chain ID of the transaction.
        have: u64,
        /// ID of the chain.
        want: u64,
    },
    /// The chain does not have the transaction type.
    #[error("transaction type not supported")]
    Type,
}

/// Recovers the sender of a transaction from its signature: some 35 microseconds, so do it once.
pub fn recover_sender(tx: &Transaction, chain_id: u64) -> Result<Address, SenderError> {
    check_chain_id(tx, chain_id)?;
    recover_signer(tx.signature(), &tx.signature_hash()).ok_or(SenderError::Signature)
}

fn check_chain_id(tx: &Transaction, want: u64) -> Result<(), SenderError> {
    match tx.chain_id() {
        Some(have) if have != want => Err(SenderError::ChainId { have, want }),
        Some(_) | None => Ok(()),
    }
}

/// The sender of a transaction on a chain with these rules: as [`recover_sender`], or the impersonated account if the
/// rules allow it.
pub fn sender_of(tx: &Transaction, rules: &dyn Rules) -> Result<Address, SenderError> {
    match impersonated(tx.signature()).filter(|_| rules.allows_impersonation()) {
        Some(sender) => check_chain_id(tx, rules.chain_id()).map(|()| sender),
        None => recover_sender(tx, rules.chain_id()),
    }
}

/// Checks that a block with these rules can have a transaction of this form.
pub fn check_form(rules: &ExecutionRules, tx: &Transaction) -> Result<(), SenderError> {
    if !rules.has_transaction_type(tx.tx_type() as u8) {
        return Err(SenderError::Type);
    }
    // Before EIP-155 its signatures are invalid.
    let is_protected = tx.is_legacy() && tx.chain_id().is_some();
    if is_protected && rules.revision < Revision::SpuriousDragon {
        return Err(SenderError::Signature);
    }
    Ok(())
}

/// The signature of an impersonated account: the account as `r`, and 0 as `s`, which no real signature has.
pub fn impersonating_signature(account: &Address) -> Signature {
    Signature::new(U256::from_be_slice(account.as_slice()), U256::ZERO, false)
}

/// The account of an [`impersonating_signature`].
pub fn impersonated(signature: &Signature) -> Option<Address> {
    let account = Address::from_word(signature.r().into());
    (signature == &impersonating_signature(&account)).then_some(account)
}

/// The account whose key signed a hash; `None` if the signature is invalid or not in the only accepted form.
pub fn recover_signer(signature: &Signature, hash: &B256) -> Option<Address> {
    let mut bytes = [0; keys::Signature::LEN];
    bytes[..32].copy_from_slice(&signature.r().to_be_bytes::<32>());
    bytes[32..64].copy_from_slice(&signature.s().to_be_bytes::<32>());
    bytes[64] = signature.v().into();
    let point = keys::Signature::new(bytes).recover_uncompressed(&hash.0).ok()?;
    Some(Address::from_raw_public_key(&point[1..]))
}
