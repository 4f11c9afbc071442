//! Accounts whose keys the node holds.
//!
//! [`AccountManager`] is the port through which services sign. `esker dev` puts [`KeyRing::dev`] behind it,
//! well-known keys; a directory of encrypted keys can take its place, whose accounts are locked
//! until a password opens them.
//!
//! [`text_hash`] and [`TypedData`] make what is signed of a text (EIP-191) and of structured data (EIP-712),
//! so that a signature over either can never be one of a transaction.

mod key_ring;
mod sender_locks;
mod typed_data;

use std::fmt::Debug;

use alloy_consensus::{SignableTransaction, TxEnvelope, TypedTransaction};
use alloy_primitives::{Address, B256, Signature, eip191_hash_message};
use thiserror::Error;

pub use key_ring::{DEV_KEYS, KeyRing, WELL_KNOWN_KEY, address_of_key};
pub use sender_locks::SenderLocks;
pub use typed_data::{TypedData, TypedDataError};

/// Why an account does not sign. The texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccountError {
    /// The node holds no key of it.
    #[error("unknown account")]
    Unknown,
    /// It must be unlocked first.
    #[error("authentication needed: password or unlock")]
    Locked,
    /// The keys can't be read.
    #[error("{0}")]
    Unavailable(String),
}

/// The holder of keys. Many tasks call it at once, so no call waits for long.
pub trait AccountManager: Send + Sync + Debug + 'static {
    /// All accounts, locked ones too, always in the same order.
    fn accounts(&self) -> Vec<Address>;

    /// Does it hold the account's key?
    fn holds(&self, account: &Address) -> bool {
        self.accounts().contains(account)
    }

    /// Signs a hash with the account's key: deterministic, the lower `s`.
    fn sign_hash(&self, account: &Address, hash: &B256) -> Result<Signature, AccountError>;
}

/// A node without keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAccounts;

impl AccountManager for NoAccounts {
    fn accounts(&self) -> Vec<Address> {
        Vec::new()
    }

    fn sign_hash(&self, _: &Address, _: &B256) -> Result<Signature, AccountError> {
        Err(AccountError::Unknown)
    }
}

/// What is signed of a text: the hash of the text behind a prefix with its length (EIP-191).
pub fn text_hash(text: &[u8]) -> B256 {
    eip191_hash_message(text)
}

/// Signs a transaction with the key of its sender; it must carry the chain ID.
pub fn sign_transaction(
    accounts: &dyn AccountManager,
    sender: &Address,
    tx: TypedTransaction,
) -> Result<TxEnvelope, AccountError> {
    let signature = accounts.sign_hash(sender, &tx.signature_hash())?;
    Ok(tx.into_envelope(signature))
}
