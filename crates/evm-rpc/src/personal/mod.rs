//! `personal`: the accounts that the node holds, and signing with their passwords. The service `internal-personal`
//! (docs/protocol/c-chain-rpc.md, "Accounts of the node").

mod derivation_path;
mod password_arg;
mod raw_key;
mod wallets;

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use esker_evm::accounts::{recover_signer, text_hash};
use esker_primitives::ClientAddress;
use esker_rpc::handler::{blocking, quick, waits_with_address};
use esker_rpc::{MethodTable, RpcError, cost, off_thread};
use thiserror::Error;

use self::password_arg::{GivenPassword, PasswordArg};
use crate::evm::{RawReply, TransactApi, send_by_password, sign_by_password};
use crate::wire::call::TransactionArgs;
use crate::wire::{Addr, Data, Hash};

/// Default time that an account stays unlocked.
const DEFAULT_UNLOCK_S: u64 = 300;

/// Most seconds that an account is unlocked: as many as nanoseconds have room for.
const MAX_UNLOCK_S: u64 = i64::MAX as u64 / 1_000_000_000;

/// Bytes of a signature: `r`, `s`, and 27 or 28.
const SIGNATURE_LEN: usize = 65;

/// Error code of invalid arguments.
const INVALID_PARAMS: i64 = -32602;

/// The methods of the service.
pub(crate) fn methods() -> MethodTable<TransactApi> {
    MethodTable::new("personal").trusted_callers_only(|table| {
        table
            .on_list("listAccounts", blocking(list_accounts))
            .short()
            .on_list("listWallets", blocking(wallets::list_wallets))
            .short()
            .on_list("openWallet", blocking(wallets::open_wallet))
            .params(&["url", "password"])
            .short()
            .on_list("deriveAccount", blocking(wallets::derive_account))
            .params(&["url", "path", "pin"])
            .short()
            .on_list("newAccount", waits_with_address(new_account))
            .params(&["password"])
            .cost(cost::HEAVY)
            .on_list("importRawKey", waits_with_address(import_raw_key))
            .params(&["key", "password"])
            .cost(cost::HEAVY)
            .on_list("unlockAccount", waits_with_address(unlock_account))
            .params(&["address", "password", "seconds"])
            .cost(cost::HEAVY)
            .on_list("lockAccount", quick(lock_account))
            .params(&["address"])
            .on_list("sendTransaction", waits_with_address(send_transaction))
            .params(&["transaction", "password"])
            .cost(cost::HEAVY)
            .on_list("signTransaction", waits_with_address(sign_transaction))
            .params(&["transaction", "password"])
            .cost(cost::HEAVY)
            .on_list("sign", waits_with_address(sign))
            .params(&["data", "address", "password"])
            .cost(cost::HEAVY)
            .on_list("ecRecover", blocking(ec_recover))
            .params(&["data", "signature"])
            .short()
            .on_list("initializeWallet", blocking(wallets::initialize_wallet))
            .params(&["url"])
            .short()
            .on_list("unpair", blocking(wallets::unpair))
            .params(&["url", "pin"])
            .short()
            .checked_by(TransactApi::check_sending, &["sendTransaction"])
    })
}

fn refused(error: impl std::fmt::Display) -> RpcError {
    RpcError::new(error.to_string())
}

fn list_accounts(transact: &TransactApi, (): ()) -> Result<Vec<Addr>, RpcError> {
    Ok(transact.accounts.accounts().into_iter().map(Addr).collect())
}

/// A new account with a random key. Its file is on the disk when the reply comes.
async fn new_account(
    transact: Arc<TransactApi>,
    (PasswordArg(password),): (PasswordArg,),
    client: ClientAddress,
) -> Result<String, RpcError> {
    let account = transact.accounts.add(None, password, client).await.map_err(refused)?;
    Ok(account.to_checksum(None))
}

async fn import_raw_key(
    transact: Arc<TransactApi>,
    (PasswordArg(key), PasswordArg(password)): (PasswordArg, PasswordArg),
    client: ClientAddress,
) -> Result<Addr, RpcError> {
    let key = raw_key::parse(&key).map_err(refused)?;
    transact.accounts.add(Some(key), password, client).await.map(Addr).map_err(refused)
}

async fn unlock_account(
    transact: Arc<TransactApi>,
    (Addr(account), PasswordArg(password), seconds): (Addr, PasswordArg, Option<u64>),
    client: ClientAddress,
) -> Result<bool, RpcError> {
    if !transact.config.allow_unlock {
        return Err(refused("account unlock with HTTP access is forbidden"));
    }
    let seconds = seconds.unwrap_or(DEFAULT_UNLOCK_S);
    if seconds > MAX_UNLOCK_S {
        return Err(refused("unlock duration too large"));
    }
    let time = Duration::from_secs(seconds);
    transact.accounts.unlock(account, password, time, client).await.map_err(refused)?;
    Ok(true)
}

/// True also for accounts that the node does not hold; false for those that are always unlocked.
fn lock_account(transact: &TransactApi, (Addr(account),): (Addr,)) -> Result<bool, RpcError> {
    Ok(transact.accounts.lock(&account))
}

async fn send_transaction(
    transact: Arc<TransactApi>,
    (args, PasswordArg(password)): (TransactionArgs, PasswordArg),
    client: ClientAddress,
) -> Result<Hash, RpcError> {
    send_by_password(transact, (args, password), client).await
}

async fn sign_transaction(
    transact: Arc<TransactApi>,
    (args, PasswordArg(password)): (TransactionArgs, PasswordArg),
    client: ClientAddress,
) -> Result<RawReply, RpcError> {
    sign_by_password(transact, (args, password), client).await
}

/// Signs a text, so that the signature can't be one of a transaction. Wallets that ask a user leave the password out;
/// so may callers for accounts that have none.
async fn sign(
    transact: Arc<TransactApi>,
    (Data(text), Addr(account), password): (Data, Addr, GivenPassword),
    client: ClientAddress,
) -> Result<Data, RpcError> {
    let password = match password.0 {
        Some(password) => password,
        None if transact.accounts.needs_password(&account) => {
            if let Some(error) = transact.no_signer() {
                return Err(error);
            }
            let text = "missing value for required argument 2";
            return Err(RpcError::with_code(INVALID_PARAMS, text));
        }
        None => String::new().into(),
    };
    let key = transact.accounts.open(account, password, client).await.map_err(refused)?;
    let sign = move || key.sign_hash(&text_hash(&text));
    let signature = off_thread(sign).await.map_err(refused)?;
    Ok(Data(signature.as_bytes().to_vec().into()))
}

/// Who signed a text.
fn ec_recover(
    _: &TransactApi,
    (Data(text), Data(signature)): (Data, Data),
) -> Result<Addr, RpcError> {
    recover(&text, &signature).map(Addr).map_err(refused)
}

/// The reason why a signature names nobody. The texts are the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
enum RecoverError {
    #[error("signature must be {SIGNATURE_LEN} bytes long")]
    Length,
    #[error("invalid Ethereum signature (V is not 27 or 28)")]
    RecoveryId,
    #[error("recovery failed")]
    NoKey,
}

fn recover(text: &[u8], signature: &[u8]) -> Result<Address, RecoverError> {
    let signature = <[u8; SIGNATURE_LEN]>::try_from(signature);
    let signature = signature.map_err(|_| RecoverError::Length)?;
    let [rs @ .., v] = signature;
    if v != 27 && v != 28 {
        return Err(RecoverError::RecoveryId);
    }
    recover_signer(&text_hash(text), &rs, v == 28).ok_or(RecoverError::NoKey)
}
