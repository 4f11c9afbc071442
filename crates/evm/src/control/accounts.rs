//! Accounts without a key for which a development node sends transactions.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Signature};
use async_trait::async_trait;
use esker_evm_execution::executor::impersonating_signature;

use super::Controls;
use crate::accounts::{AccountError, AccountManager, Wallet};

/// The impersonated accounts. They only sign transactions.
#[derive(Debug)]
pub struct ImpersonatedAccounts(Arc<Controls>);

impl ImpersonatedAccounts {
    /// The accounts that these controls impersonate.
    pub fn new(controls: Arc<Controls>) -> Self {
        Self(controls)
    }
}

#[async_trait]
impl AccountManager for ImpersonatedAccounts {
    fn wallets(&self) -> Vec<Wallet> {
        Vec::new()
    }

    /// Those that were named, as anvil lists them: ethers' `getSigner` looks for an account here.
    fn accounts(&self) -> Vec<Address> {
        self.0.impersonated()
    }

    fn holds(&self, account: &Address) -> bool {
        self.0.impersonates(account)
    }

    fn sign_hash(&self, account: &Address, _: &B256) -> Result<Signature, AccountError> {
        Err(AccountError::Unavailable(format!(
            "account {account} is impersonated: there is no key to sign with"
        )))
    }

    fn sign_transaction_hash(
        &self,
        account: &Address,
        _: &B256,
    ) -> Result<Signature, AccountError> {
        Ok(impersonating_signature(account))
    }
}
