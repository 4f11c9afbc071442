//! The feature extensions: who may consume what, in the reference's order and with its texts
//! (docs/protocol/x-chain-rules.md, "Extension rules").

use esker_primitives::ids::ShortId;
use esker_primitives::keys::{Signature, SignatureError};

use crate::credential::{Credential, CredentialSlot};
use crate::owners::OutputOwners;

mod error;
mod kind;
pub mod nft;
pub mod property;
pub mod secp256k1;

pub use error::FxError;
pub use kind::FxKind;

/// Finds the signers of a transaction. A transaction answers from its cache.
pub trait Signers {
    /// Address that made signature `index` of the credential in slot `slot`.
    fn signer(&self, slot: usize, index: usize) -> Result<ShortId, SignatureError>;
}

/// Recovers the signers of one credential, each time it is asked.
#[derive(Debug, Clone, Copy)]
pub struct SignerRecovery<'a> {
    /// The signed hash.
    pub hash: &'a [u8; 32],
    /// The credential's signatures.
    pub signatures: &'a [Signature],
}

impl Signers for SignerRecovery<'_> {
    fn signer(&self, _slot: usize, index: usize) -> Result<ShortId, SignatureError> {
        let signature = self.signatures.get(index).ok_or(SignatureError::Invalid)?;
        Ok(signature.recover(self.hash)?.address())
    }
}

/// A credential slot together with the source of its signers.
#[derive(Clone, Copy)]
pub struct Witness<'a> {
    /// The content of the slot.
    pub credential: &'a CredentialSlot,
    /// Which of the transaction's slots it is.
    pub slot: usize,
    /// Who made its signatures.
    pub signers: &'a dyn Signers,
    /// Whether an address may stand in place of its signature.
    pub allows_impersonation: bool,
}

impl std::fmt::Debug for Witness<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Witness")
            .field("credential", self.credential)
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

impl<'a> Witness<'a> {
    /// The same, on a chain that allows addresses in place of signatures, or not.
    #[must_use]
    pub const fn allowing_impersonation(self, allows_impersonation: bool) -> Self {
        Self { allows_impersonation, ..self }
    }

    /// The address that made signature `index`, or that stands in its place.
    fn signer(&self, index: usize) -> Result<ShortId, SignatureError> {
        let signature = self.credential.signatures().get(index);
        let named = signature.filter(|_| self.allows_impersonation);
        match named.and_then(Signature::impersonated) {
            Some(address) => Ok(address),
            None => self.signers.signer(self.slot, index),
        }
    }

    /// The slot's credential, if it is one of that extension.
    fn expect(&self, fx: FxKind) -> Result<&'a Credential, FxError> {
        self.credential
            .credential()
            .filter(|credential| credential.fx == fx)
            .ok_or(FxError::WrongCredentialType)
    }
}

/// Verifies that the witness carries the signatures that `owners` require; `now_s` in Unix seconds.
///
/// The order of the checks is the reference's (docs/protocol/x-chain-rules.md, "Credential rules").
pub fn verify_credentials(
    owners: &OutputOwners,
    sig_indices: &[u32],
    witness: Witness<'_>,
    now_s: u64,
) -> Result<(), FxError> {
    let threshold = usize::try_from(owners.threshold).unwrap_or(usize::MAX);
    if owners.locktime > now_s {
        return Err(FxError::TimeLocked);
    }
    if threshold < sig_indices.len() {
        return Err(FxError::TooManySigners);
    }
    if threshold > sig_indices.len() {
        return Err(FxError::TooFewSigners);
    }
    if sig_indices.len() != witness.credential.signatures().len() {
        return Err(FxError::SignersMismatch);
    }
    for (position, index) in sig_indices.iter().enumerate() {
        let expected = usize::try_from(*index)
            .ok()
            .and_then(|index| owners.addresses.get(index))
            .ok_or(FxError::NoSuchAddress)?;
        let got = witness.signer(position)?;
        if *expected != got {
            return Err(FxError::WrongSignature { expected: *expected, got });
        }
    }
    Ok(())
}
