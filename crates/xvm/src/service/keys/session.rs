//! The steps of a method after the check of its first arguments: the user, its keys, its coins, a transaction.
//!
//! The calls of one user run in turn, and each takes its coins from what the pool leaves. Users who share keys, and
//! transactions that a user signed elsewhere, may still be quicker: then the transaction is built again.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use esker_keystore::{Credentials, Keyring, KeystoreError, User};
use esker_primitives::ClientAddress;
use esker_primitives::ShortId;
use esker_transactions::xvm::Tx;
use esker_utxo::Keychain;

use super::super::{Reply, ServiceError, format_address, now_s, off_thread, parse_address};
use super::KeysError;
use super::arguments::{ChangeReply, Header};
use super::issue::{issue_on_pool, issue_on_wallet};
use crate::chain::Issued;
use crate::chain::Xvm;
use crate::wallet::{Coins, Payer};

/// Who signs: a user of the keystore, or on a development network the addresses that are impersonated.
pub(super) enum Signer {
    User(User),
    Impersonated(BTreeSet<ShortId>),
}

impl Signer {
    /// The impersonated addresses, for a call without a user while there are any; else the user.
    async fn of_call(vm: &Xvm, credentials: &Credentials, client: ClientAddress) -> Reply<Self> {
        let impersonations = vm.context().impersonations.as_ref();
        let named = impersonations.filter(|_| credentials.username.is_empty());
        match named.map(|impersonations| impersonations.all()) {
            Some(addresses) if !addresses.is_empty() => Ok(Self::Impersonated(addresses)),
            Some(_) | None => Ok(Self::User(unlock(vm, credentials, client).await?)),
        }
    }

    /// Names the queue in which its calls wait for each other.
    fn name(&self) -> &str {
        match self {
            Self::User(user) => user.name(),
            Self::Impersonated(_) => "",
        }
    }

    /// The keys of those addresses, as far as it has them; all of them if none are named.
    pub(super) fn keychain(&self, vm: &Xvm, from: &[ShortId]) -> Reply<Keychain> {
        match self {
            Self::User(user) => keychain(vm, user, from),
            Self::Impersonated(addresses) => impersonating(vm, addresses, from),
        }
    }
}

/// A keychain without keys.
fn impersonating(vm: &Xvm, addresses: &BTreeSet<ShortId>, from: &[ShortId]) -> Reply<Keychain> {
    if let Some(other) = from.iter().find(|address| !addresses.contains(address)) {
        return Err(KeysError::NotImpersonated(format_address(vm, other)).into());
    }
    let mut keychain = Keychain::default();
    match from {
        [] => addresses.iter().for_each(|address| keychain.impersonate(*address)),
        from => from.iter().for_each(|address| keychain.impersonate(*address)),
    }
    Ok(keychain)
}

/// A user who spends: its keys, and where change goes.
struct Spender<'a> {
    vm: &'a Xvm,
    user: &'a Signer,
    all_keys: bool,
    /// The keys of `from`, or all of the user's.
    keys: Keychain,
    change: ShortId,
}

impl<'a> Spender<'a> {
    fn new(vm: &'a Xvm, user: &'a Signer, from: &[ShortId], change_addr: &str) -> Reply<Self> {
        let keys = user.keychain(vm, from)?;
        let first = keys.first().ok_or(KeysError::NoKeys)?;
        let change = match change_addr {
            "" => first,
            text => parse_address(vm, text).map_err(KeysError::ChangeAddress)?,
        };
        Ok(Self { vm, user, all_keys: from.is_empty(), keys, change })
    }

    fn session<'s>(&'s self, coins: &'s dyn Coins) -> Session<'s> {
        let Self { vm, user, all_keys, keys, change } = self;
        let (all_keys, change, now_s) = (*all_keys, *change, now_s(vm));
        Session { vm, user, all_keys, coins, keys, change, now_s }
    }
}

/// A user who spends, with its coins at one moment.
pub(super) struct Session<'a> {
    pub(super) vm: &'a Xvm,
    user: &'a Signer,
    all_keys: bool,
    coins: &'a dyn Coins,
    /// The addresses of `from`, or all of the user's.
    pub(super) keys: &'a Keychain,
    change: ShortId,
    pub(super) now_s: u64,
}

impl Session<'_> {
    pub(super) fn payer(&self) -> Payer<'_> {
        Payer {
            params: self.vm.params(),
            coins: self.coins,
            keys: self.keys,
            change: self.change,
            now_s: self.now_s,
        }
    }

    pub(super) fn coins(&self) -> &dyn Coins {
        self.coins
    }

    /// All keys of the user, whatever `from` says.
    pub(super) fn all_user_keys(&self) -> Reply<Cow<'_, Keychain>> {
        if self.all_keys {
            return Ok(Cow::Borrowed(self.keys));
        }
        Ok(Cow::Owned(self.user.keychain(self.vm, &[])?))
    }
}

/// Runs work for a user once no other call of that user does.
pub(super) async fn run_exclusively<T: Send + 'static>(
    vm: Arc<Xvm>,
    credentials: Credentials,
    client: ClientAddress,
    work: impl FnOnce(&Xvm, &Signer) -> Reply<T> + Send + 'static,
) -> Reply<T> {
    let user = Signer::of_call(&vm, &credentials, client).await?;
    let turn = vm.user_queues.acquire(user.name()).await.map_err(KeysError::from)?;
    off_thread(move || {
        let _turn = turn;
        work(&vm, &user)
    })
    .await
}

/// Opens the user of a call.
pub(super) async fn unlock(
    vm: &Xvm,
    credentials: &Credentials,
    client: ClientAddress,
) -> Reply<User> {
    let Credentials { username, password } = credentials;
    let unlocked = vm.keystore.unlock(username, password, client).await;
    Ok(unlocked.map_err(|cause| KeysError::User { name: username.clone(), cause })?)
}

/// The user's keys of those addresses, as far as it has them; all of its keys if none are named.
fn keychain(vm: &Xvm, user: &User, from: &[ShortId]) -> Reply<Keychain> {
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
    build: impl Fn(&Session<'_>) -> Reply<Tx> + Send + 'static,
) -> Reply<ChangeReply> {
    let from = header.parse_from(&vm)?;
    let spent = run_exclusively(vm, header.credentials, header.client, move |vm, user| {
        let spender = Spender::new(vm, user, &from, &header.change_addr)?;
        let issued = issue_on_pool(vm, &|_, coins| build(&spender.session(coins)))?;
        Ok((issued, format_address(vm, &spender.change)))
    });
    answered(spent.await?).await
}

/// Like [`spend`]. Where the coins do not suffice, those that the wallet's pending transactions will leave do too;
/// what is built on them joins those.
pub(super) async fn spend_pending(
    vm: Arc<Xvm>,
    header: Header,
    build: impl Fn(&Session<'_>) -> Reply<Tx> + Send + 'static,
) -> Reply<ChangeReply> {
    let from = header.parse_from(&vm).map_err(KeysError::WalletFrom)?;
    let spent = run_exclusively(vm, header.credentials, header.client, move |vm, user| {
        let spender = Spender::new(vm, user, &from, &header.change_addr)?;
        let build = |coins: &dyn Coins| build(&spender.session(coins));
        let issued = match issue_on_pool(vm, &|_, coins| build(coins)) {
            Err(ServiceError::Spend(_)) if !vm.wallet.is_empty() => issue_on_wallet(vm, &build)?,
            outcome => outcome?,
        };
        Ok((issued, format_address(vm, &spender.change)))
    });
    answered(spent.await?).await
}

/// The reply about a transaction, once the source has it. The next call of the user need not wait for that.
async fn answered((issued, change_addr): (Issued, String)) -> Reply<ChangeReply> {
    issued.answer.wait().await?;
    Ok(ChangeReply { tx_id: issued.id, change_addr })
}
