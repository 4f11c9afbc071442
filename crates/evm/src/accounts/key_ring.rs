//! Keys in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use alloy_primitives::{Address, B256, Signature, b256};
use async_trait::async_trait;
use esker_primitives::ClientAddress;
use esker_primitives::Password;
use esker_primitives::keys::{PrivateKey, PrivateKeyError};

use super::account_key::{AccountKey, address_of_key};
use super::{AccountError, AccountManager, Wallet};

/// The key of the account that the local network's genesis funds, on both chains.
pub const WELL_KNOWN_KEY: B256 =
    b256!("0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027");

/// Accounts whose keys lie in memory, always unlocked.
#[derive(Debug, Default)]
pub struct KeyRing {
    order: Vec<Address>,
    keys: BTreeMap<Address, AccountKey>,
    is_hidden: bool,
}

impl KeyRing {
    /// A ring of these keys, in their order. Each key has 32 bytes.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, PrivateKeyError> {
        let mut ring = Self::default();
        for key in keys {
            let key = PrivateKey::from_slice(key)?;
            let address = address_of_key(&key.public_key());
            if ring.keys.insert(address, AccountKey::new(key)).is_none() {
                ring.order.push(address);
            }
        }
        Ok(ring)
    }

    /// Hides the accounts from lists. The node still signs for them.
    #[must_use]
    pub fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }
}

#[async_trait]
impl AccountManager for KeyRing {
    /// The URL of a key in memory is `memory://ADDRESS`.
    fn wallets(&self) -> Vec<Wallet> {
        let wallet = |account: &Address| Wallet {
            url: format!("memory://{account:#x}"),
            account: *account,
            is_unlocked: true,
        };
        self.order.iter().filter(|_| !self.is_hidden).map(wallet).collect()
    }

    fn holds(&self, account: &Address) -> bool {
        self.keys.contains_key(account)
    }

    fn sign_hash(&self, account: &Address, hash: &B256) -> Result<Signature, AccountError> {
        Ok(self.keys.get(account).ok_or(AccountError::Unknown)?.sign_hash(hash))
    }

    /// Accepts any password.
    async fn open(
        &self,
        account: Address,
        _: Password,
        _: ClientAddress,
    ) -> Result<AccountKey, AccountError> {
        self.keys.get(&account).cloned().ok_or(AccountError::Unknown)
    }

    async fn unlock(
        &self,
        account: Address,
        _: Password,
        _: Duration,
        _: ClientAddress,
    ) -> Result<(), AccountError> {
        if self.holds(&account) { Ok(()) } else { Err(AccountError::NoKey) }
    }
}
