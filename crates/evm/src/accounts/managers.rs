//! Joins several account managers.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, Signature};
use async_trait::async_trait;
use esker_primitives::ClientAddress;
use esker_primitives::{Password, PrivateKey};

use super::{AccountError, AccountKey, AccountManager, Wallet, address_of_key};

/// Account managers in an order. The first manager that holds an account signs for it. New keys go to the last
/// manager; the others keep their keys in memory.
#[derive(Debug, Default)]
pub struct AccountManagers(Vec<Arc<dyn AccountManager>>);

impl AccountManagers {
    /// Joins managers in this order.
    pub fn new(managers: Vec<Arc<dyn AccountManager>>) -> Self {
        Self(managers)
    }

    /// The first manager that holds the account, else the last one, which returns the error.
    fn manager_for(&self, account: &Address) -> Option<&dyn AccountManager> {
        let (last, others) = self.0.split_last()?;
        Some(&**others.iter().find(|manager| manager.holds(account)).unwrap_or(last))
    }
}

#[async_trait]
impl AccountManager for AccountManagers {
    fn wallets(&self) -> Vec<Wallet> {
        self.0.iter().flat_map(|manager| manager.wallets()).collect()
    }

    fn accounts(&self) -> Vec<Address> {
        let mut accounts: Vec<Address> =
            self.0.iter().flat_map(|manager| manager.accounts()).collect();
        let mut seen = HashSet::new();
        accounts.retain(|account| seen.insert(*account));
        accounts
    }

    fn holds(&self, account: &Address) -> bool {
        self.0.iter().any(|manager| manager.holds(account))
    }

    fn needs_password(&self, account: &Address) -> bool {
        self.manager_for(account).is_some_and(|manager| manager.needs_password(account))
    }

    fn sign_hash(&self, account: &Address, hash: &B256) -> Result<Signature, AccountError> {
        self.manager_for(account).ok_or(AccountError::Unknown)?.sign_hash(account, hash)
    }

    fn sign_transaction_hash(
        &self,
        account: &Address,
        hash: &B256,
    ) -> Result<Signature, AccountError> {
        self.manager_for(account).ok_or(AccountError::Unknown)?.sign_transaction_hash(account, hash)
    }

    async fn open(
        &self,
        account: Address,
        password: Password,
        client: ClientAddress,
    ) -> Result<AccountKey, AccountError> {
        let manager = self.manager_for(&account).ok_or(AccountError::Unknown)?;
        manager.open(account, password, client).await
    }

    async fn unlock(
        &self,
        account: Address,
        password: Password,
        time: Duration,
        client: ClientAddress,
    ) -> Result<(), AccountError> {
        let manager = self.manager_for(&account).ok_or(AccountError::NoKeyDirectory)?;
        manager.unlock(account, password, time, client).await
    }

    fn lock(&self, account: &Address) -> bool {
        self.manager_for(account).is_some_and(|manager| manager.lock(account))
    }

    async fn add(
        &self,
        key: Option<PrivateKey>,
        password: Password,
        client: ClientAddress,
    ) -> Result<Address, AccountError> {
        let (last, others) = self.0.split_last().ok_or(AccountError::NoKeyDirectory)?;
        let account = key.as_ref().map(|key| address_of_key(&key.public_key()));
        if account.is_some_and(|account| others.iter().any(|manager| manager.holds(&account))) {
            return Err(AccountError::Exists);
        }
        last.add(key, password, client).await
    }
}
