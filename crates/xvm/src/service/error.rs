//! Errors of the methods: the texts that clients see.

use esker_chain::address::ServiceAddressError;
use esker_chain::forward::ForwardError;
use esker_primitives::codec::CodecError;
use esker_primitives::{BlockId, Id, excerpt, go};
use esker_rpc::wire::EncodingError;
use esker_rpc::{RpcError, WorkRefused};
use esker_services::listing::ListingError;
use esker_services::sending::forward_error;
use esker_storage::StorageError;

use super::genesis::BuildGenesisError;
use super::keys::KeysError;
use crate::chain::IssueError;
use crate::state::{AddressTxsError, BalanceError};
use crate::wallet::SpendError;

/// The reason why a method has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceError {
    #[error("couldn't get block with id {0}: not found")]
    NoBlock(BlockId),
    #[error("couldn't get block at height {0}: not found")]
    NoHeight(u64),
    #[error(
        "couldn't get block at height {height}: not available: this node's history begins at block {first} (it \
         joined from a snapshot)"
    )]
    BeforeHistory { height: u64, first: u64 },
    #[error("nil transaction ID")]
    NilTxId,
    #[error("not found")]
    NotFound,
    #[error("asset '{}' not found", excerpt(.0))]
    UnknownAsset(String),
    #[error("specified `assetID` is invalid: asset '{}' not found", excerpt(.0))]
    InvalidAsset(String),
    #[error("transaction doesn't create an asset")]
    NotAnAsset,
    #[error("problem parsing address '{}': {cause}", excerpt(text))]
    BalanceAddress { text: String, cause: ServiceAddressError },
    #[error("couldn't parse argument 'address' to address: {0}")]
    AddressArgument(ServiceAddressError),
    #[error("pageSize > maximum allowed ({0})")]
    PageSize(usize),
    #[error(transparent)]
    Listing(#[from] ListingError),
    #[error(transparent)]
    Address(#[from] ServiceAddressError),
    #[error("couldn't parse start index address {quoted}: {cause}", quoted = go::quote(.text))]
    StartAddress { text: String, cause: ServiceAddressError },
    #[error("couldn't encode UTXO {id} as string: {cause}")]
    EncodeUtxo { id: Id, cause: EncodingError },
    #[error("problem decoding transaction: {0}")]
    DecodeTx(EncodingError),
    #[error(transparent)]
    Codec(#[from] CodecError),
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    #[error(transparent)]
    Balance(#[from] BalanceError),
    #[error(transparent)]
    AddressTxs(#[from] AddressTxsError),
    #[error(transparent)]
    Genesis(#[from] BuildGenesisError),
    #[error(transparent)]
    Keys(Box<KeysError>),
    #[error(transparent)]
    Spend(SpendError),
    /// The store failed, or what it holds is damaged.
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    WorkRefused(#[from] WorkRefused),
    /// The source's answer.
    #[error(transparent)]
    Forward(#[from] ForwardError),
}

impl From<KeysError> for ServiceError {
    fn from(error: KeysError) -> Self {
        Self::Keys(Box::new(error))
    }
}

impl From<SpendError> for ServiceError {
    fn from(error: SpendError) -> Self {
        match error {
            SpendError::Storage(cause) => Self::Storage(cause),
            SpendError::InsufficientFunds { .. }
            | SpendError::WantedOverflow
            | SpendError::SpentOverflow
            | SpendError::NoAuthority
            | SpendError::NoNft
            | SpendError::MissingUtxo => Self::Spend(error),
        }
    }
}

impl From<ServiceError> for RpcError {
    fn from(error: ServiceError) -> Self {
        if let ServiceError::Storage(cause) = &error {
            tracing::error!(%cause, "a method failed because of the store");
        }
        if let ServiceError::Forward(error) = error {
            return forward_error(error);
        }
        Self::new(error.to_string())
    }
}
