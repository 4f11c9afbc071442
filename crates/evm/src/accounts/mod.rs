//! Accounts whose keys the node holds.
//!
//! [`AccountManager`] is the port through which services sign. Two types implement it: [`KeyRing`], for the public
//! keys of `esker dev`, and the directory of encrypted keys (`crates/key-directory`), whose accounts are locked until
//! a password opens them. [`AccountManagers`] joins both.
//!
//! [`text_hash`] and [`TypedData`] compute the hash to sign of a text (EIP-191) and of structured data (EIP-712). A
//! signature of such a hash is never valid for a transaction.

mod account_key;
mod key_ring;
mod managers;
mod sender_locks;
mod typed_data;

use std::fmt;
use std::time::Duration;

use alloy_consensus::{SignableTransaction, TxEnvelope, TypedTransaction};
use alloy_primitives::{Address, B256, Signature, eip191_hash_message};
use async_trait::async_trait;
use esker_primitives::ClientAddress;
use esker_primitives::{Password, PrivateKey};
use thiserror::Error;

pub use account_key::{AccountKey, address_of_key, recover_signer};
pub use key_ring::{KeyRing, WELL_KNOWN_KEY};
pub use managers::AccountManagers;
pub use sender_locks::SenderLocks;
pub use typed_data::{TypedData, TypedDataError};

/// Why an account can't sign, be opened or be created. The texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccountError {
    /// The node has no key of the account.
    #[error("unknown account")]
    Unknown,
    /// The account is locked.
    #[error("authentication needed: password or unlock")]
    Locked,
    /// There is no such account to unlock.
    #[error("no key for given address or file")]
    NoKey,
    /// The password does not open the key.
    #[error("could not decrypt key with given password")]
    WrongPassword,
    /// The node already has a key of the account.
    #[error("account already exists")]
    Exists,
    /// The node keeps no encrypted keys.
    #[error("local keystore not used")]
    NoKeyDirectory,
    /// The keys can't be read or written, or there were too many attempts.
    #[error("{0}")]
    Unavailable(String),
}

/// An account, with the place of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wallet {
    /// Where the key is: `SCHEME://PLACE`.
    pub url: String,
    /// The account.
    pub account: Address,
    /// Whether the account signs without a password.
    pub is_unlocked: bool,
}

/// Holds keys and signs with them. Many tasks call it at once. Functions that are not async may read a folder, so the
/// threads that serve connections must not call them. Async functions may wait for a costly check of a password.
#[async_trait]
pub trait AccountManager: Send + Sync + fmt::Debug + 'static {
    /// All accounts with the places of their keys, always in the same order. Locked accounts are included.
    fn wallets(&self) -> Vec<Wallet>;

    /// All accounts in the order of their wallets, and then those that are impersonated. Each account occurs once.
    fn accounts(&self) -> Vec<Address> {
        let mut accounts = Vec::new();
        for wallet in self.wallets() {
            if !accounts.contains(&wallet.account) {
                accounts.push(wallet.account);
            }
        }
        accounts
    }

    /// Whether it holds the account's key.
    fn holds(&self, account: &Address) -> bool {
        self.accounts().contains(account)
    }

    /// Whether the account needs its password to sign, now or earlier to unlock it.
    fn needs_password(&self, _: &Address) -> bool {
        false
    }

    /// Signs a hash with the account's key, which must be unlocked: deterministic, the lower `s`.
    fn sign_hash(&self, account: &Address, hash: &B256) -> Result<Signature, AccountError>;

    /// Signs the hash of a transaction; as [`Self::sign_hash`] unless the account has no key and is impersonated.
    fn sign_transaction_hash(
        &self,
        account: &Address,
        hash: &B256,
    ) -> Result<Signature, AccountError> {
        self.sign_hash(account, hash)
    }

    /// The account's key, for one call. Wrong passwords count for the client.
    async fn open(
        &self,
        _account: Address,
        _password: Password,
        _client: ClientAddress,
    ) -> Result<AccountKey, AccountError> {
        Err(AccountError::Unknown)
    }

    /// Unlocks an account for a time. Zero unlocks it until the node stops.
    async fn unlock(
        &self,
        _account: Address,
        _password: Password,
        _time: Duration,
        _client: ClientAddress,
    ) -> Result<(), AccountError> {
        Err(AccountError::NoKeyDirectory)
    }

    /// Locks an account if it is unlocked. Returns false if accounts can't be locked.
    fn lock(&self, _account: &Address) -> bool {
        false
    }

    /// Adds an account with this key, or with a random key. The key is stored when this returns.
    async fn add(
        &self,
        _key: Option<PrivateKey>,
        _: Password,
        _client: ClientAddress,
    ) -> Result<Address, AccountError> {
        Err(AccountError::NoKeyDirectory)
    }
}

/// A node without keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAccounts;

#[async_trait]
impl AccountManager for NoAccounts {
    fn wallets(&self) -> Vec<Wallet> {
        Vec::new()
    }

    fn sign_hash(&self, _: &Address, _: &B256) -> Result<Signature, AccountError> {
        Err(AccountError::Unknown)
    }
}

/// The hash to sign of a text: the hash of a prefix with the length of the text, and the text (EIP-191).
pub fn text_hash(text: &[u8]) -> B256 {
    eip191_hash_message(text)
}

/// Signs a transaction with the key of its sender; it must carry the chain ID.
pub fn sign_transaction(
    accounts: &dyn AccountManager,
    sender: &Address,
    tx: TypedTransaction,
) -> Result<TxEnvelope, AccountError> {
    let signature = accounts.sign_transaction_hash(sender, &tx.signature_hash())?;
    Ok(tx.into_envelope(signature))
}

/// Signs a transaction with a key; it must carry the chain ID.
pub fn sign_transaction_with(key: &AccountKey, tx: TypedTransaction) -> TxEnvelope {
    let signature = key.sign_hash(&tx.signature_hash());
    tx.into_envelope(signature)
}
