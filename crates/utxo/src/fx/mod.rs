//! The feature extensions: who may consume what, in the reference's order and with its texts
//! (docs/protocol/x-chain-rules.md, "Extension rules").

use esker_primitives::ids::{Id, ShortId};
use esker_primitives::keys::{Signature, SignatureError};

use crate::credential::{Credential, CredentialSlot};
use crate::owners::OutputOwners;

pub mod nft;
pub mod property;
pub mod secp256k1;

/// One of the three feature extensions. The number is its index on every chain of the asset VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FxKind {
    /// Amounts of fungible assets.
    Secp256k1 = 0,
    /// Non-fungible tokens.
    Nft = 1,
    /// Properties: minted and burned, never transferred.
    Property = 2,
}

impl FxKind {
    /// All, by index.
    pub const ALL: [Self; 3] = [Self::Secp256k1, Self::Nft, Self::Property];

    /// Index among the chain's extensions.
    pub const fn index(self) -> u32 {
        match self {
            Self::Secp256k1 => 0,
            Self::Nft => 1,
            Self::Property => 2,
        }
    }

    /// The extension of that index.
    pub fn from_index(index: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|fx| fx.index() == index)
    }

    /// The reference's name, which padded with zeros is the extension's ID.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Secp256k1 => "secp256k1fx",
            Self::Nft => "nftfx",
            Self::Property => "propertyfx",
        }
    }

    /// ID: the name, padded with zeros.
    pub fn id(self) -> Id {
        Id::from_ascii_name(self.name())
    }

    /// The ID's text.
    pub const fn id_text(self) -> &'static str {
        match self {
            Self::Secp256k1 => "spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ",
            Self::Nft => "qd2U4HDWUvMrVUeTcCHp6xH3Qpnn1XbU5MDdnBoiifFqvgXwT",
            Self::Property => "rXJsCSEYXg2TehWxCEEGj6JU2PWKTkd6cBdNLjoe2SpsKD9cy",
        }
    }
}

/// Why a feature extension refuses something. Texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FxError {
    /// A transfer output of amount 0.
    #[error("output has no value")]
    OutputHasNoValue,
    /// More signatures needed than there are addresses.
    #[error("output is unspendable")]
    OutputUnspendable,
    /// Addresses given, though none need sign.
    #[error("output representation should be optimized")]
    OutputUnoptimized,
    /// Addresses must ascend strictly.
    #[error("addresses not sorted and unique")]
    AddressesNotSortedUnique,
    /// An NFT's payload is longer than [`crate::MAX_NFT_PAYLOAD`].
    #[error("payload too large")]
    PayloadTooLarge,
    /// A transfer input of amount 0.
    #[error("input has no value")]
    InputHasNoValue,
    /// Signature indices must ascend strictly.
    #[error("address indices not sorted and unique")]
    IndicesNotSortedUnique,
    /// The operation is not one of this extension.
    #[error("wrong operation type")]
    WrongOperationType,
    /// The credential is none, or another extension's.
    #[error("wrong credential type")]
    WrongCredentialType,
    /// The consumed output is of another kind.
    #[error("wrong utxo type")]
    WrongUtxoType,
    /// secp256k1: an operation consumes exactly one UTXO.
    #[error("wrong number of utxos for the operation")]
    WrongNumberOfUtxos,
    /// nft, property: an operation consumes exactly one UTXO.
    #[error("wrong number of UTXOs for the operation")]
    WrongNumberOfUtxosUpper,
    /// Amount of the consumed output, then of the input.
    #[error("utxo amount and input amount are not equal: {utxo} != {input}")]
    AmountsDiffer {
        /// Of the consumed output.
        utxo: u64,
        /// Of the input.
        input: u64,
    },
    /// secp256k1: minting must re-create the mint output unchanged.
    #[error("wrong mint output created from the operation")]
    WrongMintCreated,
    /// property: minting must re-create the mint output unchanged.
    #[error("wrong mint output provided")]
    WrongMintOutput,
    /// An NFT's group differs.
    #[error("wrong unique ID provided")]
    WrongUniqueId,
    /// An NFT's payload differs.
    #[error("wrong bytes provided")]
    WrongBytes,
    /// nft and property outputs are not consumed by inputs.
    #[error("cant transfer with this fx")]
    CantTransfer,
    /// Not spendable yet.
    #[error("output is time locked")]
    TimeLocked,
    /// More signature indices than the threshold.
    #[error("input has more signers than expected")]
    TooManySigners,
    /// Fewer signature indices than the threshold.
    #[error("input has less signers than expected")]
    TooFewSigners,
    /// As many signatures as signature indices are needed.
    #[error("input expected a different number of signers than provided in the credential")]
    SignersMismatch,
    /// A signature index beyond the output's addresses.
    #[error("input referenced a nonexistent address in the output")]
    NoSuchAddress,
    /// No key can be recovered from the signature.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// Signed by someone else.
    #[error("wrong signature: expected signature from {expected} but got from {got}")]
    WrongSignature {
        /// The owner that the signature index names.
        expected: ShortId,
        /// Who signed.
        got: ShortId,
    },
}

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
    /// What stands in the slot.
    pub credential: &'a CredentialSlot,
    /// Which of the transaction's slots it is.
    pub slot: usize,
    /// Who made its signatures.
    pub signers: &'a dyn Signers,
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
        let got = witness.signers.signer(witness.slot, position)?;
        if *expected != got {
            return Err(FxError::WrongSignature { expected: *expected, got });
        }
    }
    Ok(())
}
