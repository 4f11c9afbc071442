//! EVM accounts whose keys lie in encrypted files (docs/protocol/key-files.md, "Key files").
//!
//! - [`KeyFile`] is one file in the web3 secret-storage format, version 3: what geth and wallets write and read.
//! - [`KeyDirectory`] is a folder of them, as an [`esker_evm::accounts::AccountManager`]. Files that come while the
//!   node runs are found; what can't be read is skipped with one log line.
//! - Keys are unlocked for a time, by the injected clock.
//!
//! It never logs or shows a key or a password. What a file demands is bounded before memory is taken for it
//! ([`MAX_FILE_BYTES`], [`MAX_SCRYPT_MEMORY`]); password checks run a few at a time, and wrong passwords slow a client
//! down, both by the parts of the keystore. An account is on disk before its address is returned.
//!
//! Start at `manager.rs`.

mod cost;
mod error;
mod files;
mod key_file;
mod limits;
mod manager;
mod unlocked;

pub use cost::ScryptCost;
pub use error::KeyFileError;
pub use files::{MAX_FILES, MAX_FILES_FOR_NEW};
pub use key_file::KeyFile;
pub use limits::{MAX_FILE_BYTES, MAX_PBKDF2_ROUNDS, MAX_SCRYPT_MEMORY, MAX_SCRYPT_WORK};
pub use manager::{KeyDirectory, KeyDirectoryConfig};
