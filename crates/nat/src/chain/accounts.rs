//! The funds of accounts after the transactions that wait in the pools of the chain.

use std::cell::RefCell;
use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, U256};
use esker_evm::chain::Evm;
use esker_evm_state::state::StateError;
use esker_primitives::NanoNative;
use esker_primitives::ids::AssetId;
use esker_storage::KvRead;
use esker_transactions::money::Wei;
use esker_transactions::nat::{AccountNonce, UnsignedAtomicTx};

use crate::pool::AtomicPool;
use crate::wallet::AccountFunds;

/// One state of the chain, and the pools as they are when an account is looked up.
pub(crate) struct PendingAccounts<'a> {
    evm: &'a Evm,
    pool: &'a AtomicPool,
    native: AssetId,
    reader: Box<dyn KvRead>,
    /// Nonces of waiting exports after which an account's next one comes.
    used: RefCell<BTreeSet<AccountNonce>>,
}

impl<'a> PendingAccounts<'a> {
    /// The funds of the chain's accounts in the state of `reader`, after the pools of the chain and of the atomic
    /// transactions.
    pub(crate) fn new(
        evm: &'a Evm,
        pool: &'a AtomicPool,
        native: AssetId,
        reader: Box<dyn KvRead>,
    ) -> Self {
        Self { evm, pool, native, reader, used: RefCell::default() }
    }

    /// The state's reader.
    pub(crate) fn reader(&self) -> &dyn KvRead {
        self.reader.as_ref()
    }

    /// The amount of an asset that an account holds, and its next nonce. Waiting transactions of the EVM count with
    /// their highest cost.
    pub(crate) fn funds(
        &self,
        account: &Address,
        asset: &AssetId,
    ) -> Result<AccountFunds, StateError> {
        let native = &self.native;
        let state = self.evm.view(self.reader()).latest_state();
        let found = state.account(account)?.unwrap_or_default();
        let (mut nonce, pending) = self.evm.pool().pending_from(account, found.nonce);
        let mut spent = pending;
        let mut spent_of_asset: u64 = 0;
        loop {
            let at = AccountNonce { account: *account, nonce };
            if let Some(tx) = self.evm.pool().get_by_nonce(account, nonce) {
                spent = spent.saturating_add(tx.cost());
            } else if let Some(export) = self.pool.export_at(&at) {
                let of = |asset: &AssetId| taken(export.unsigned(), account, asset);
                spent = spent.saturating_add(Wei::from(NanoNative(of(native))).0);
                spent_of_asset = spent_of_asset.saturating_add(of(asset));
                self.used.borrow_mut().insert(at);
            } else {
                break;
            }
            nonce = nonce.saturating_add(1);
        }
        let amount = match asset == native {
            true => Wei(found.balance.saturating_sub(spent)).whole_nanos().0,
            false => {
                let held: U256 = state.asset_balance(account, B256::new(*asset.as_bytes()))?;
                held.saturating_to::<u64>().saturating_sub(spent_of_asset)
            }
        };
        Ok(AccountFunds { amount, nonce })
    }

    /// The nonces of waiting exports that come right before `nonces`.
    pub(crate) fn exports_before(&self, nonces: &[AccountNonce]) -> Vec<AccountNonce> {
        let used = self.used.borrow();
        let before = nonces.iter().filter_map(|nonce| nonce.previous());
        before.filter(|nonce| used.contains(nonce)).collect()
    }
}

/// The amount of an asset that a transaction takes from an account.
fn taken(tx: &UnsignedAtomicTx, account: &Address, asset: &AssetId) -> u64 {
    let UnsignedAtomicTx::Export(export) = tx else { return 0 };
    let inputs = export.inputs.iter();
    let of_account = inputs.filter(|input| input.address == *account && input.asset_id == *asset);
    of_account.fold(0, |sum, input| sum.saturating_add(input.amount))
}
