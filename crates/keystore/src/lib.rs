//! Users of this node and their private keys.
//!
//! - [`Keystore`] keeps users: create, unlock, delete, list, export, import. A key derived from the user's password
//!   (argon2id) unwraps the user's own random data key, which decrypts the values
//!   (docs/decisions.md, "Keystore at rest").
//!   Unwrapping *is* the password check: no hash of a password is stored.
//! - [`User`] is an unlocked user; [`Keyring`] are its keys on one chain.
//! - [`blob`] holds the reference's record forms, in which users travel between nodes.
//! - [`UserQueues`] lets one call of a user at a time build a transaction.
//! - [`methods`] is the `keystore` namespace.
//!
//! It never logs, shows or stores a key or password in the clear, and wipes both from memory after use.
//! Costly hashes are bounded ([`HashLimits`]), so that logins can't starve the node, and so are wrong passwords for a
//! user from an address ([`KeystoreError::TooManyWrong`]). Both parts, [`Hasher`] and [`Attempts`], serve other holders of
//! keys as well.

mod args;
mod attempts;
pub mod blob;
mod cache;
mod cipher;
mod error;
mod hasher;
mod keyring;
mod password;
mod service;
mod store;
mod tables;
mod user_queues;
mod waiting;

pub use args::{Credentials, KeyArgument, KeyText};
pub use attempts::{Attempt, Attempts};
pub use error::{KeystoreError, MAX_USERS};
pub use esker_primitives::Password;
pub use hasher::{HashFigures, HashLimits, Hasher};
pub use keyring::{AddressOf, Keyring, MAX_ADDRESSES};
pub use password::{MAX_NAME_CHARS, MAX_PASSWORD_CHARS, check_name, check_strength};
pub use service::{KeystoreService, methods};
pub use store::{Keystore, User};
pub use user_queues::{MAX_CALLS_PER_USER, UserPermit, UserQueues};
