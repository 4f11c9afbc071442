//! Recovers senders of transactions.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Signature, U256};
use esker_evm_state::types::Transaction;
use esker_primitives::keys;
use thiserror::Error;

use crate::rules::{ExecutionRules, Revision, Rules};

/// Order of the group of secp256k1.
const ORDER: U256 = U256::from_limbs([
    0xbfd2_5e8c_d036_4141,
    0xbaae_dce6_af48_a03b,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
]);

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

/// Recovers the sender of a transaction from its signature: some 35 microseconds, so do it once. Whether a block may
/// have a signature of this form is another question ([`check_form`]).
pub fn recover_sender(tx: &Transaction, chain_id: u64) -> Result<Address, SenderError> {
    check_chain_id(tx, chain_id)?;
    recover(tx)
}

fn recover(tx: &Transaction) -> Result<Address, SenderError> {
    let signature = tx.signature();
    let low = if has_high_s(signature) { signature.normalized_s() } else { *signature };
    recover_signer(&low, &tx.signature_hash()).ok_or(SenderError::Signature)
}

/// Whether `s` is the greater of the two numbers that make the same signature.
fn has_high_s(signature: &Signature) -> bool {
    (ORDER >> 1 < signature.s()) && (signature.s() < ORDER)
}

/// Checks that a transaction is signed for the chain with this ID, or for any.
pub fn check_chain_id(tx: &Transaction, want: u64) -> Result<(), SenderError> {
    match tx.chain_id() {
        Some(have) if have != want => Err(SenderError::ChainId { have, want }),
        Some(_) | None => Ok(()),
    }
}

/// The sender of a transaction on a chain with these rules: as [`recover_sender`], or the impersonated account if the
/// rules allow it. Where clients may set the chain ID, it depends on the state whether the transaction is for this chain:
/// [`Runner::check_chain_id`](super::Runner::check_chain_id) decides.
pub fn sender_of(tx: &Transaction, rules: &dyn Rules) -> Result<Address, SenderError> {
    if !rules.has_control_values() {
        check_chain_id(tx, rules.chain_id())?;
    }
    match impersonated(tx.signature()).filter(|_| rules.allows_impersonation()) {
        Some(sender) => Ok(sender),
        None => recover(tx),
    }
}

/// Checks that a block with these rules can have a transaction of this form.
pub fn check_form(rules: &ExecutionRules, tx: &Transaction) -> Result<(), SenderError> {
    match rules.has_transaction_type(tx.tx_type() as u8) {
        true => check_signature_form(rules, tx),
        false => Err(SenderError::Type),
    }
}

/// Checks that a block with these rules can have a signature of this form.
pub fn check_signature_form(rules: &ExecutionRules, tx: &Transaction) -> Result<(), SenderError> {
    // EIP-155 and EIP-2.
    let is_protected = tx.is_legacy() && tx.chain_id().is_some();
    let is_early = is_protected && rules.revision < Revision::SpuriousDragon;
    let is_late = rules.revision >= Revision::Homestead && has_high_s(tx.signature());
    if is_early || is_late { Err(SenderError::Signature) } else { Ok(()) }
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
