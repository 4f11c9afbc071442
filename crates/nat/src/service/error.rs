//! The reasons why a method has no result: the texts that clients see.

use esker_chain::address::{DestinationError, ServiceAddressCause};
use esker_chain::forward::ForwardError;
use esker_evm::view::ViewError;
use esker_evm_execution::rules::RuleError;
use esker_evm_state::not_fetched::NotFetched;
use esker_evm_state::state::StateError;
use esker_keystore::KeystoreError;
use esker_primitives::codec::CodecError;
use esker_primitives::ids::{ChainId, IdError, TxId};
use esker_primitives::{excerpt, go};
use esker_rpc::wire::EncodingError;
use esker_rpc::{RpcError, RunAgainAfter, WorkRefused};
use esker_services::listing::ListingError;
use esker_services::sending::forward_error;
use esker_storage::StorageError;

use crate::chain::SubmitError;
use crate::verify::VerifyError;
use crate::wallet::{InputsError, WalletError};

/// The reason why a method has no result. None of the texts holds a password or a key.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServiceError {
    #[error(transparent)]
    Listing(#[from] ListingError),
    #[error("no source chain provided")]
    NoSourceChain,
    #[error("couldn't parse address {}: {cause}", go::quote(text))]
    Address { text: String, cause: LocalAddressError },
    #[error("couldn't parse start index address {}: {cause}", go::quote(text))]
    StartAddress { text: String, cause: LocalAddressError },
    #[error("problem retrieving UTXOs: {0}")]
    RetrieveUtxos(StorageError),
    #[error("problem encoding utxo: {0}")]
    EncodeUtxo(EncodingError),
    #[error("problem decoding transaction: {0}")]
    DecodeTx(EncodingError),
    #[error("problem parsing transaction: {0}")]
    ParseTx(CodecError),
    #[error("nil transaction ID")]
    NilTxId,
    #[error("could not find tx {0}")]
    NoTx(TxId),
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    #[error("argument 'privateKey' not given")]
    NoPrivateKey,
    #[error("problem retrieving data: {0}")]
    UserData(KeystoreError),
    #[error("problem saving key {0}")]
    SaveKey(KeystoreError),
    #[error("couldn't parse {} to address: invalid hex address", excerpt(.0))]
    KeyAddress(String),
    #[error("problem retrieving user '{}': {cause}", excerpt(name))]
    User { name: String, cause: KeystoreError },
    #[error("problem retrieving private key: {0}")]
    RetrieveKey(KeystoreError),
    #[error("problem parsing chainID {quoted}: there is no ID with alias: {alias}", quoted = go::quote(.0), alias = excerpt(.0))]
    SourceChain(String),
    #[error("argument 'to' not given")]
    NoTo,
    #[error("couldn't get user '{}': {cause}", excerpt(name))]
    ImportUser { name: String, cause: KeystoreError },
    #[error("couldn't get keys controlled by the user: {0}")]
    ImportKeys(KeystoreError),
    #[error("problem retrieving atomic UTXOs: {0}")]
    AtomicUtxos(StorageError),
    #[error("assetID is required")]
    NoAsset,
    #[error(transparent)]
    Asset(IdError),
    #[error("argument 'amount' must be > 0")]
    ZeroAmount,
    #[error(transparent)]
    Destination(#[from] DestinationError),
    #[error("couldn't parse changeAddr {}: invalid hex address", go::quote(.0))]
    ChangeAddress(String),
    #[error("couldn't parse 'From' address {}: invalid hex address", go::quote(.0))]
    FromAddress(String),
    #[error("from addresses have no keys or funds")]
    FromWithoutKeys,
    #[error("couldn't get addresses controlled by the user: {0}")]
    ExportKeys(KeystoreError),
    #[error(transparent)]
    Turn(KeystoreError),
    #[error("couldn't create tx: {0}")]
    Create(#[source] CreateError),
    #[error(transparent)]
    Import(#[from] CreateError),
    #[error(transparent)]
    Issue(#[from] SubmitError),
    /// The rules of the last block can't be determined.
    #[error(transparent)]
    Fees(#[from] RuleError),
    /// The state of the chain can't be read.
    #[error(transparent)]
    View(#[from] ViewError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    WorkRefused(#[from] WorkRefused),
    /// The source's answer.
    #[error(transparent)]
    Forward(#[from] ForwardError),
}

/// The reason why no transaction came about: it can't be paid, or breaks a rule by itself.
#[derive(Debug, thiserror::Error)]
pub(super) enum CreateError {
    #[error(transparent)]
    Wallet(#[from] WalletError),
    #[error(transparent)]
    Rule(#[from] VerifyError),
}

/// The reason why a text is no address of this chain. It names no address itself, unlike those of the asset chains.
#[derive(Debug, thiserror::Error)]
pub(super) enum LocalAddressError {
    #[error(transparent)]
    Cause(#[from] ServiceAddressCause),
    #[error("expected chainID to be \"{expected}\" but was \"{got}\"")]
    OtherChain { expected: ChainId, got: ChainId },
}

impl ServiceError {
    /// What of a forked chain's state is not fetched yet, if that is the reason.
    fn not_fetched(&self) -> Option<&NotFetched> {
        if let Self::Issue(SubmitError::State(error)) | Self::View(ViewError::State(error)) = self {
            return error.not_fetched();
        }
        if let Self::Create(error) | Self::Import(error) = self {
            return error.state()?.not_fetched();
        }
        None
    }
}

impl CreateError {
    /// The error of accounts that can't be read.
    const fn state(&self) -> Option<&StateError> {
        match self {
            Self::Wallet(WalletError::Inputs(InputsError::State(error))) => Some(error),
            Self::Wallet(_) | Self::Rule(_) => None,
        }
    }
}

impl From<ServiceError> for RpcError {
    fn from(error: ServiceError) -> Self {
        if let Some(lacking) = error.not_fetched().cloned() {
            let wait = RunAgainAfter::new(move || lacking.fetch());
            return Self::new(error.to_string()).run_again_after(wait);
        }
        if let ServiceError::Storage(_)
        | ServiceError::View(_)
        | ServiceError::RetrieveUtxos(_)
        | ServiceError::AtomicUtxos(_) = &error
        {
            tracing::error!(%error, "a method failed because of the store");
        }
        if let ServiceError::Forward(error) = error {
            return forward_error(error);
        }
        Self::new(error.to_string())
    }
}
