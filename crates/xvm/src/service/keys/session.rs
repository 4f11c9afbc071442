//! What a method does once its first arguments are checked: the user, its keys, its coins, a transaction.

use std::borrow::Cow;
use std::sync::Arc;

use esker_keystore::{Credentials, Keyring, KeystoreError, User};
use esker_primitives::ShortId;
use esker_rpc::ShuttingDown;
use esker_utxo::Keychain;

use super::super::{Reply, ServiceError, format_address, now_s, off_thread, parse_address};
use super::KeysError;
use super::arguments::{ChangeReply, Header};
use crate::spend::{Coins, Payer, Pending};
use crate::txs::Tx;
use crate::vm::Xvm;

/// A user who spends: its keys, where change goes, and one moment of the chain.
pub(super) struct Session<'a> {
    pub(super) vm: &'a Xvm,
    user: &'a User,
    all_keys: bool,
    coins: &'a dyn Coins,
    /// Of `from`, or all of the user's.
    pub(super) keys: Keychain,
    pub(super) change: ShortId,
    pub(super) now_s: u64,
}

impl Session<'_> {
    pub(super) fn payer(&self) -> Payer<'_> {
        Payer {
            params: self.vm.params(),
            coins: self.coins,
            keys: &self.keys,
            change: self.change,
            now_s: self.now_s,
        }
    }

    pub(super) fn coins(&self) -> &dyn Coins {
        self.coins
    }

    /// All keys of the user, whatever `from` says.
    pub(super) fn every_key(&self) -> Reply<Cow<'_, Keychain>> {
        if self.all_keys {
            return Ok(Cow::Borrowed(&self.keys));
        }
        Ok(Cow::Owned(keychain(self.vm, self.user, &[])?))
    }
}

/// Opens the user of a call.
pub(super) async fn unlock(vm: &Xvm, credentials: &Credentials) -> Reply<User> {
    let Credentials { username, password } = credentials;
    let unlocked = vm.keystore.unlock(username, password).await;
    Ok(unlocked.map_err(|cause| KeysError::User { name: username.clone(), cause })?)
}

/// The user's keys of those addresses, as far as it has them; all of its keys if none are named.
pub(super) fn keychain(vm: &Xvm, user: &User, from: &[ShortId]) -> Reply<Keychain> {
    let keyring = Keyring::new(user, &vm.context().chain_id);
    let mut keychain = Keychain::default();
    if from.is_empty() {
        for (address, key) in keyring.keys().map_err(KeysError::from)? {
            keychain.add(address, key);
        }
    }
    for address in from {
        match keyring.key(address) {
            Ok(key) => keychain.add(*address, key),
            Err(KeystoreError::NoKey) => {}
            Err(error) => return Err(KeysError::from(error).into()),
        }
    }
    Ok(keychain)
}

/// Builds a transaction of the user's and issues it.
pub(super) async fn spend(
    vm: Arc<Xvm>,
    header: Header,
    build: impl FnOnce(&Session<'_>) -> Reply<Tx> + Send + 'static,
) -> Reply<ChangeReply> {
    let from = header.parse_from(&vm)?;
    let user = unlock(&vm, &header.credentials).await?;
    off_thread(move || {
        let (tx, change) = {
            let view = vm.view()?;
            build_with(&vm, &user, &view, &from, &header.change_addr, build)?
        };
        let tx_id = vm.issue_tx(tx).map_err(KeysError::Issue)?;
        Ok(ChangeReply { tx_id, change_addr: format_address(&vm, &change) })
    })
    .await
}

/// As [`spend`], on the state that the wallet's pending transactions will leave, which the new one joins.
pub(super) async fn spend_pending(
    vm: Arc<Xvm>,
    header: Header,
    build: impl FnOnce(&Session<'_>) -> Reply<Tx> + Send + 'static,
) -> Reply<ChangeReply> {
    let from = header.parse_from(&vm).map_err(KeysError::WalletFrom)?;
    let user = unlock(&vm, &header.credentials).await?;
    // One at a time: two that are built on the same state would spend the same coins.
    let turn = Arc::clone(&vm.wallet_turn).acquire_owned().await;
    let turn = turn.map_err(|_| ServiceError::from(ShuttingDown))?;
    off_thread(move || {
        let _turn = turn;
        let (tx, change) = {
            // In this order: whatever leaves the queue meanwhile is in the view.
            let pending = vm.wallet_pending();
            let view = vm.view()?;
            let coins = Pending::new(&view, &pending)?;
            build_with(&vm, &user, &coins, &from, &header.change_addr, build)?
        };
        let tx_id = vm.issue_unverified_tx(tx).map_err(KeysError::Issue)?;
        Ok(ChangeReply { tx_id, change_addr: format_address(&vm, &change) })
    })
    .await
}

fn build_with(
    vm: &Xvm,
    user: &User,
    coins: &dyn Coins,
    from: &[ShortId],
    change_addr: &str,
    build: impl FnOnce(&Session<'_>) -> Reply<Tx>,
) -> Reply<(Tx, ShortId)> {
    let keys = keychain(vm, user, from)?;
    let first = keys.first().ok_or(KeysError::NoKeys)?;
    let change = match change_addr {
        "" => first,
        text => parse_address(vm, text).map_err(KeysError::ChangeAddress)?,
    };
    let now_s = now_s(vm);
    let session = Session { vm, user, all_keys: from.is_empty(), coins, keys, change, now_s };
    Ok((build(&session)?, change))
}
