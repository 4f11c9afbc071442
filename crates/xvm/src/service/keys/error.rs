//! Errors of the methods that use keys: the texts that clients see.

use esker_chain::address::{DestinationError, ServiceAddressError};
use esker_keystore::KeystoreError;
use esker_primitives::{excerpt, go};
use esker_rpc::wire::EncodingError;
use esker_transactions::xvm::MAX_MEMO_LEN;

use crate::chain::IssueError;

/// The reason why a method that uses keys has no result. None of the texts holds a password or a key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeysError {
    #[error("problem retrieving user {}: {cause}", go::quote(name))]
    User { name: String, cause: KeystoreError },
    #[error("from addresses have no keys or funds")]
    NoKeys,
    #[error("{0} is not impersonated: call dev.impersonateAddress first, or name a user")]
    NotImpersonated(String),
    #[error("couldn't parse changeAddr: {0}")]
    ChangeAddress(ServiceAddressError),
    #[error("couldn't parse 'From' addresses: {0}")]
    WalletFrom(ServiceAddressError),
    #[error("problem parsing to address {}: {cause}", go::quote(text))]
    ToAddress { text: String, cause: ServiceAddressError },
    #[error("problem parsing address {}: {cause}", go::quote(text))]
    KeyAddress { text: String, cause: ServiceAddressError },
    #[error("argument 'privateKey' not given")]
    NoPrivateKey,
    #[error("problem saving key {0}")]
    SaveKey(KeystoreError),
    #[error("problem retrieving private key: {0}")]
    RetrieveKey(KeystoreError),
    #[error("max memo length is {MAX_MEMO_LEN} but provided memo field is length {0}")]
    MemoTooLong(usize),
    #[error("no outputs to send")]
    NoOutputs,
    #[error("amount must be positive")]
    ZeroAmount,
    #[error("couldn't find asset {}", excerpt(.0))]
    NoSuchAsset(String),
    #[error("no minters or initialHolders provided")]
    NoHoldersOrMinters,
    #[error("no minters provided")]
    NoMinters,
    #[error("amount minted must be positive")]
    ZeroMinted,
    #[error("problem decoding payload bytes: {0}")]
    Payload(EncodingError),
    #[error("problem parsing chainID {quoted}: there is no ID with alias: {alias}", quoted = go::quote(.0), alias = excerpt(.0))]
    SourceChain(String),
    #[error(transparent)]
    Destination(#[from] DestinationError),
    #[error("problem issuing transaction: {0}")]
    Issue(IssueError),
    #[error("problem issuing transaction: others take its coins again and again; try again")]
    CoinsTaken,
    /// The keystore failed after the user was unlocked, or the user was deleted meanwhile.
    #[error(transparent)]
    Keystore(#[from] KeystoreError),
}
