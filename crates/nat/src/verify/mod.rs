//! Validity of atomic transactions. [`syntactic`] needs the transaction alone, [`semantic`] shared memory; what an
//! account must have is asked when the state is changed ([`crate::execute`]). Order and texts are the
//! reference's (docs/protocol/atomic-transactions.md, "Verification of imports").

pub mod semantic;
pub mod syntactic;

use esker_primitives::codec::CodecError;
use esker_primitives::ids::ChainId;
use esker_primitives::keys::SignatureError;
use esker_transactions::nat::{AmountError, FeeError, UnsignedAtomicTx};
use esker_utxo::{FlowError, FxError};

/// The reason why a transaction is invalid. What `Display` shows is what clients of the reference see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// An import of nothing.
    #[error("tx has no imported inputs")]
    NoImportedInputs,
    /// An export of nothing.
    #[error("tx has no export outputs")]
    NoExportOutputs,
    /// For another network.
    #[error("tx was issued with a different network ID")]
    WrongNetworkId,
    /// For another chain.
    #[error("wrong blockchain ID provided")]
    WrongBlockchainId,
    /// An import without outputs.
    #[error("tx has no EVM outputs")]
    NoEvmOutputs,
    /// Assets can't be exchanged with that chain, or not this asset.
    #[error("tx has wrong chain ID")]
    WrongChainId,
    /// A payment of an import.
    #[error("EVM Output failed verification: {0}")]
    EvmOutput(#[source] ItemError),
    /// An input of an import.
    #[error("atomic input failed verification: {0}")]
    AtomicInput(#[source] ItemError),
    /// An input or output of an export.
    #[error(transparent)]
    Item(#[from] ItemError),
    /// From Banff on.
    #[error("import output cannot contain non-AVAX in Banff")]
    ImportOutputNotNative,
    /// From Banff on.
    #[error("import input cannot contain non-AVAX in Banff")]
    ImportInputNotNative,
    /// From Banff on.
    #[error("export input cannot contain non-AVAX in Banff")]
    ExportInputNotNative,
    /// From Banff on.
    #[error("export output cannot contain non-AVAX in Banff")]
    ExportOutputNotNative,
    /// Inputs must ascend strictly.
    #[error("inputs not sorted and unique")]
    InputsNotSortedUnique,
    /// Payments of an import must ascend strictly.
    #[error("outputs not sorted and unique")]
    OutputsNotSortedUnique,
    /// Outputs of an export must ascend.
    #[error("tx outputs not sorted")]
    OutputsNotSorted,
    /// The fee can't be computed.
    #[error(transparent)]
    Fee(#[from] FeeError),
    /// The burned amount can't be computed.
    #[error(transparent)]
    Amount(#[from] AmountError),
    /// An import pays more than it takes in, the fee included.
    #[error("import tx flow check failed due to: {0}")]
    ImportFlow(#[source] FlowError),
    /// An export leaves more than it takes in, the fee included.
    #[error("export tx flow check failed due to: {0}")]
    ExportFlow(#[source] FlowError),
    /// One credential for each input.
    #[error(
        "import tx contained mismatched number of inputs/credentials ({inputs} vs. {credentials})"
    )]
    ImportCredentials {
        /// Inputs.
        inputs: usize,
        /// Credentials.
        credentials: usize,
    },
    /// One credential for each input.
    #[error(
        "export tx contained mismatched number of inputs/credentials ({inputs} vs. {credentials})"
    )]
    ExportCredentials {
        /// Inputs.
        inputs: usize,
        /// Credentials.
        credentials: usize,
    },
    /// The imported UTXO is not (or no longer) in shared memory.
    #[error("failed to fetch import UTXOs from {0} due to: not found")]
    UtxosNotFound(ChainId),
    /// The element that another chain put into shared memory is not a UTXO.
    #[error("failed to unmarshal UTXO: {0}")]
    ImportedUtxo(#[source] CodecError),
    /// An input names another asset than its UTXO.
    #[error("asset IDs in the input don't match the utxo")]
    AssetMismatch,
    /// The owners of the UTXO did not agree.
    #[error("import tx transfer failed verification: {0}")]
    Transfer(#[source] FxError),
    /// Another transaction of the block, or of an undecided block below, consumes the same.
    #[error("invalid block due to conflicting atomic inputs")]
    ConflictingInputs,
    /// The authorisation of an export is not a credential. The reference shows the type that it wanted, twice.
    #[error("expected *secp256k1fx.Credential but got *secp256k1fx.Credential")]
    NoCredential,
    /// An account has one key.
    #[error("expected one signature for EVM Input Credential, but found: {0}")]
    SignatureCount(usize),
    /// No key can be recovered from a signature.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// Signed by someone else than the account.
    #[error("signature doesn't match public key")]
    WrongSigner,
    /// The account has less.
    #[error("insufficient funds")]
    InsufficientFunds,
    /// The account's nonce is another.
    #[error("invalid nonce")]
    InvalidNonce,
}

impl VerifyError {
    /// How a transaction is refused when an undecided block consumes what it does: the UTXO, or the nonce.
    pub(crate) const fn consumed_undecided(tx: &UnsignedAtomicTx) -> Self {
        match tx {
            UnsignedAtomicTx::Import(_) => Self::ConflictingInputs,
            UnsignedAtomicTx::Export(_) => Self::InvalidNonce,
        }
    }
}

/// A fault of one input or output by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// An output of nothing.
    #[error("output has no value")]
    OutputHasNoValue,
    /// An input of nothing.
    #[error("input has no value")]
    InputHasNoValue,
    /// An asset ID of zeros.
    #[error("empty asset ID is not valid")]
    EmptyAssetId,
    /// Amounts and owners as on the asset chains.
    #[error(transparent)]
    Fx(#[from] FxError),
}
