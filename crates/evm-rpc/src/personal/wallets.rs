//! Locations of keys. Hardware wallets are not supported.

use esker_evm::accounts::Wallet;
use esker_rpc::RpcError;
use schemars::JsonSchema;
use serde::Serialize;

use super::derivation_path;
use super::refused;
use crate::evm::TransactApi;
use crate::wire::Addr;

/// A location with its only account.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WalletReply {
    url: String,
    status: &'static str,
    accounts: [AccountReply; 1],
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WalletAccount")]
struct AccountReply {
    address: Addr,
    url: String,
}

impl From<Wallet> for WalletReply {
    fn from(Wallet { url, account, is_unlocked }: Wallet) -> Self {
        Self {
            url: url.clone(),
            status: if is_unlocked { "Unlocked" } else { "Locked" },
            accounts: [AccountReply { address: Addr(account), url }],
        }
    }
}

pub(super) fn list_wallets(transact: &TransactApi, (): ()) -> Result<Vec<WalletReply>, RpcError> {
    Ok(transact.accounts.wallets().into_iter().map(WalletReply::from).collect())
}

/// An existing wallet is open.
pub(super) fn open_wallet(
    transact: &TransactApi,
    (url, _password): (String, Option<super::PasswordArg>),
) -> Result<(), RpcError> {
    must_be_there(transact, &url)
}

pub(super) fn derive_account(
    transact: &TransactApi,
    (url, path, _pin): (String, String, Option<bool>),
) -> Result<(), RpcError> {
    must_be_there(transact, &url)?;
    derivation_path::check(&path).map_err(refused)?;
    Err(refused("not supported"))
}

pub(super) fn initialize_wallet(transact: &TransactApi, (url,): (String,)) -> Result<(), RpcError> {
    must_be_there(transact, &url)?;
    Err(refused("specified wallet does not support initialization"))
}

pub(super) fn unpair(
    transact: &TransactApi,
    (url, _pin): (String, super::PasswordArg),
) -> Result<(), RpcError> {
    must_be_there(transact, &url)?;
    Err(refused("specified wallet does not support pairing"))
}

/// Whether there is a wallet at this location.
fn must_be_there(transact: &TransactApi, url: &str) -> Result<(), RpcError> {
    match url.split_once("://") {
        None | Some(("", _)) => Err(refused("protocol scheme missing")),
        Some((_, place)) if place.contains("://") => Err(refused("protocol scheme missing")),
        Some(_) if transact.accounts.wallets().iter().any(|wallet| wallet.url == url) => Ok(()),
        Some(_) => Err(refused("unknown wallet")),
    }
}
