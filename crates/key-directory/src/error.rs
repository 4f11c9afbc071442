//! The reasons why a key file does not open.

use alloy_primitives::Address;
use esker_primitives::excerpt;
use thiserror::Error;

use crate::limits::{MAX_FILE_BYTES, MAX_PBKDF2_ROUNDS};

/// The reason why a key file can't be read, or does not open. None holds a key or a password.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyFileError {
    /// It has more than [`MAX_FILE_BYTES`].
    #[error("a key file has at most {MAX_FILE_BYTES} bytes")]
    TooLong,
    /// It is no JSON, or a member has another type.
    #[error("{}", excerpt(.0))]
    Json(String),
    /// Another version.
    #[error("version not supported: {0}")]
    Version(u64),
    /// It does not say whose key it holds.
    #[error("missing or zero address")]
    NoAddress,
    /// Another cipher.
    #[error("cipher not supported: {}", excerpt(.0))]
    Cipher(String),
    /// Another way to derive keys.
    #[error("unsupported KDF: {}", excerpt(.0))]
    Kdf(String),
    /// Another function of PBKDF2.
    #[error("unsupported PBKDF2 PRF: {}", excerpt(.0))]
    Prf(String),
    /// A member is no hex, or has another length.
    #[error("invalid {0}")]
    Member(&'static str),
    /// scrypt does not take these.
    #[error("invalid scrypt parameters")]
    ScryptParameters,
    /// The password check would take too much memory or time.
    #[error(
        "the key file's cost is too high: scrypt takes at most 256 MiB, and PBKDF2 {MAX_PBKDF2_ROUNDS} rounds"
    )]
    TooCostly,
    /// The password is wrong. The text is the reference's.
    #[error("could not decrypt key with given password")]
    WrongPassword,
    /// The content is not a private key.
    #[error("invalid key")]
    InvalidKey,
    /// It holds the key of another account.
    #[error("key content mismatch: have account {have:x}, want {want:x}")]
    OtherAccount {
        /// Whose key it holds.
        have: Address,
        /// Whose key it should hold.
        want: Address,
    },
}
