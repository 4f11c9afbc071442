//! Validity of transactions. [`syntactic`] needs the transaction alone, [`semantic`] the state; the texts are the
//! reference's.

use esker_primitives::codec::CodecError;
use esker_primitives::ids::{ChainId, SubnetId};
use esker_utxo::{FlowError, FxError};

pub mod semantic;
pub mod syntactic;

/// The reason why a transaction is invalid. What `Display` shows is what clients of the reference see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// Empty asset name.
    #[error("name is too short, minimum size is 1")]
    NameTooShort,
    /// Asset name above [`syntactic::MAX_NAME_LEN`] bytes.
    #[error("name is too long, maximum size is 128")]
    NameTooLong,
    /// Empty symbol.
    #[error("symbol is too short, minimum size is 1")]
    SymbolTooShort,
    /// Symbol above [`syntactic::MAX_SYMBOL_LEN`] bytes.
    #[error("symbol is too long, maximum size is 4")]
    SymbolTooLong,
    /// A new asset without initial states.
    #[error("assets must support at least one Fx")]
    NoFxs,
    /// Denomination above [`syntactic::MAX_DENOMINATION`].
    #[error("denomination is too large")]
    DenominationTooLarge,
    /// An asset name that starts or ends with whitespace.
    #[error("unexpected whitespace provided")]
    UnexpectedWhitespace,
    /// An asset name of other than ASCII letters, digits and spaces.
    #[error("asset's name must be made up of only letters and numbers")]
    IllegalNameCharacter,
    /// A symbol of other than `A` to `Z`.
    #[error("asset's symbol must be all upper case letters")]
    IllegalSymbolCharacter,
    /// An operation transaction without operations.
    #[error("an operationTx must have at least one operation")]
    NoOperations,
    /// An import without imported inputs.
    #[error("no import inputs")]
    NoImportInputs,
    /// An export without exported outputs.
    #[error("no export outputs")]
    NoExportOutputs,
    /// For another network.
    #[error("tx has wrong network ID")]
    WrongNetworkId,
    /// For another chain.
    #[error("tx has wrong chain ID")]
    WrongChainId,
    /// Memo above [`esker_transactions::xvm::MAX_MEMO_LEN`] bytes; its length.
    #[error("memo exceeds maximum length: {0} > {max}", max = esker_transactions::xvm::MAX_MEMO_LEN)]
    MemoTooLarge(usize),
    /// An asset ID of zeros.
    #[error("empty asset ID is not valid")]
    EmptyAssetId,
    /// Outputs must ascend.
    #[error("outputs not sorted")]
    OutputsNotSorted,
    /// Inputs must ascend strictly.
    #[error("inputs not sorted and unique")]
    InputsNotSortedUnique,
    /// The produced amounts, with the fee, exceed the consumed ones.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// Initial states must ascend strictly by extension.
    #[error("initial states not sorted and unique")]
    InitialStatesNotSortedUnique,
    /// An operation's UTXOs must ascend strictly.
    #[error("utxo IDs not sorted and unique")]
    UtxoIdsNotSortedUnique,
    /// A UTXO is consumed twice in the transaction.
    #[error("inputs attempt to double spend an input")]
    DoubleSpend,
    /// Operations must ascend strictly.
    #[error("operations not sorted and unique")]
    OperationsNotSortedUnique,
    /// One credential for each input, operation and imported input.
    #[error("wrong number of credentials: {got} != {wanted}")]
    WrongNumberOfCredentials {
        /// In the transaction.
        got: usize,
        /// Needed.
        wanted: usize,
    },
    /// A feature extension refuses.
    #[error(transparent)]
    Fx(#[from] FxError),
    /// The chain has no such extension.
    #[error("unknown feature extension")]
    UnknownFx,
    /// A UTXO or an asset does not exist (any more).
    #[error("not found")]
    NotFound,
    /// Accepted before. Only of a transaction that consumes nothing, as a chain without fees allows: any other
    /// finds its inputs gone. The reference would accept it again, and with it create its outputs again.
    #[error("transaction without inputs was accepted before; change its memo to issue it again")]
    AcceptedBefore,
    /// It is a transaction of the chain from which outputs were taken over, and it made some of them.
    #[error(
        "the transaction is one of the chain that fork-x took outputs over from, and its outputs are here already; change its memo"
    )]
    OfSource,
    /// An input or operation names another asset than its UTXO.
    #[error("asset IDs in the input don't match the utxo")]
    AssetMismatch,
    /// The asset's ID is that of a transaction which creates none.
    #[error("not an asset")]
    NotAnAsset,
    /// The asset was created without that extension.
    #[error("incompatible feature extension")]
    IncompatibleFx,
    /// The element that another chain put into shared memory is not a UTXO.
    #[error(transparent)]
    ImportedUtxo(CodecError),
    /// Import from, or export to, the chain itself.
    #[error("same chainID")]
    SameChain,
    /// Import from, or export to, a chain that does not exist.
    #[error("failed to get subnet of \"{0}\": problem retrieving blockchain \"{0}\": not found")]
    UnknownChain(ChainId),
    /// Import from, or export to, a chain of another subnet.
    #[error("mismatched subnetIDs; expected \"{expected}\" got \"{got}\"")]
    MismatchedSubnets {
        /// This chain's.
        expected: SubnetId,
        /// The other chain's.
        got: SubnetId,
    },
}
