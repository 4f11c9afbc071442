//! The reasons why a feature extension refuses something.

use esker_primitives::ids::ShortId;
use esker_primitives::keys::SignatureError;

/// The reason why a feature extension refuses something. Texts are the reference's.
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
        /// The amount of the consumed output.
        utxo: u64,
        /// The amount of the input.
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
