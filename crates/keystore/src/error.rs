//! The reasons why the keystore refused, with the reference's texts (docs/protocol/keystore.md, "Users and errors").

use esker_primitives::codec::CodecError;
use esker_primitives::keys::PrivateKeyError;
use esker_primitives::{excerpt, go};
use esker_rpc::RpcError;
use esker_storage::StorageError;
use thiserror::Error;

/// Most users of a node: names are listed in one reply, and each costs room on the disk for good.
pub const MAX_USERS: usize = 10_000;

/// Texts for clients. No text contains a password or a key.
#[derive(Debug, Error)]
pub enum KeystoreError {
    /// No name was given.
    #[error("empty username")]
    EmptyName,
    /// The name is too long.
    #[error("username exceeds maximum length of 1024 chars")]
    LongName,
    /// No password was given.
    #[error("empty password")]
    EmptyPassword,
    /// The password is too long.
    #[error("password exceeds maximum length of 1024 chars")]
    LongPassword,
    /// The password breaks the rule (docs/decisions.md, "Password strength").
    #[error("password is too weak")]
    WeakPassword,
    /// The name is taken.
    #[error("user already exists: {}", excerpt(.0))]
    Exists(String),
    /// There is no such user.
    #[error("user doesn't exist: {}", excerpt(.0))]
    Unknown(String),
    /// The password is wrong. Where clients must not learn which names exist, also: there is no such user.
    #[error("incorrect password: user {}", go::quote(.0))]
    WrongPassword(String),
    /// The pair of user and address has to wait (docs/protocol/keystore.md, "Wrong passwords").
    #[error(
        "too many wrong passwords for user {} from this address: try again in {wait_s} s",
        go::quote(name)
    )]
    TooManyWrong {
        /// The user, or a name that nobody has.
        name: String,
        /// How long.
        wait_s: u64,
    },
    /// The address gave wrong passwords for too many users.
    #[error(
        "too many wrong passwords for different users from this address: try again in {wait_s} s"
    )]
    TooManyUsers {
        /// Time until it may try one more.
        wait_s: u64,
    },
    /// The node has as many users as it may.
    #[error("the node has {MAX_USERS} users, which is the most: delete one first")]
    TooManyNodeUsers,
    /// An export blob can't be read.
    #[error(transparent)]
    Blob(#[from] CodecError),
    /// A value of an export blob doesn't open with the password's key.
    #[error("couldn't decrypt the exported user: a value is damaged")]
    DamagedBlob,
    /// A stored value doesn't open: the data is damaged.
    #[error("the stored user is damaged")]
    Damaged,
    /// The user holds as many addresses as it may.
    #[error("keystore user has reached its limit of {0} addresses")]
    TooManyAddresses(usize),
    /// There is no such key.
    #[error("not found")]
    NoKey,
    /// A stored key is no private key.
    #[error(transparent)]
    Key(#[from] PrivateKeyError),
    /// Too many password checks are under way.
    #[error("keystore is busy: too many password checks are waiting; try again later")]
    Busy,
    /// A user's queue is full.
    #[error("too many calls of user {} are waiting: at most {max} at a time", go::quote(name))]
    TooManyCalls {
        /// The user.
        name: String,
        /// Calls that may wait or run.
        max: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<KeystoreError> for RpcError {
    fn from(error: KeystoreError) -> Self {
        Self::new(error.to_string())
    }
}
