//! Transactions of accounts that a password opens for one call.

use std::sync::Arc;

use esker_primitives::ClientAddress;
use esker_primitives::Password;
use esker_rpc::{RpcError, off_thread, off_thread_long};

use super::unsigned::{RawReply, typed_transaction};
use super::{
    AccountKey, Transaction, must_be_complete, refuse_blobs, refused, sign_transaction_with,
};
use crate::evm::defaults::{GasDefault, sender};
use crate::evm::transact::TransactApi;
use crate::wire::call::TransactionArgs;
use crate::wire::{Hash, Uint64};

/// Fills in what is missing, signs, and sends.
pub(crate) async fn send_by_password(
    transact: Arc<TransactApi>,
    (args, password): (TransactionArgs, Password),
    client: ClientAddress,
) -> Result<Hash, RpcError> {
    refuse_blobs(&args)?;
    let (from, has_nonce) = (sender(&args), args.nonce.is_some());
    let mut args = with_defaults(&transact, args).await?;
    let key = transact.accounts.open(from, password, client).await.map_err(refused)?;
    // Other transactions of the account wait meanwhile, so the password has been checked before.
    let send = move || {
        let sign = |args: &TransactionArgs| sign_args(args, &key);
        if has_nonce {
            return transact.submit_signed(&args, sign);
        }
        transact.senders.with_lock(from, || {
            args.nonce = Some(Uint64(transact.next_nonce(from)?));
            transact.submit_signed(&args, sign)
        })
    };
    off_thread(send).await.map_err(refused)??.settled().await
}

/// Signs, and sends nothing.
pub(crate) async fn sign_by_password(
    transact: Arc<TransactApi>,
    (args, password): (TransactionArgs, Password),
    client: ClientAddress,
) -> Result<RawReply, RpcError> {
    if args.from.is_none() {
        return Err(refused("sender not specified"));
    }
    must_be_complete(&args)?;
    transact.check_fee_of(&args)?;
    let args = with_defaults(&transact, args).await?;
    let key = transact.accounts.open(sender(&args), password, client).await.map_err(refused)?;
    Ok(RawReply::signed(&args, &sign_args(&args, &key)?))
}

/// Complete arguments of an account that the node holds.
async fn with_defaults(
    transact: &Arc<TransactApi>,
    mut args: TransactionArgs,
) -> Result<TransactionArgs, RpcError> {
    let transact = Arc::clone(transact);
    let fill = off_thread_long(move |context| {
        transact.must_hold(&sender(&args))?;
        transact.set_replacement_defaults(&mut args)?;
        transact.set_defaults(&mut args, GasDefault::Estimate, context)?;
        Ok(args)
    });
    fill.await.map_err(refused)?
}

fn sign_args(args: &TransactionArgs, key: &AccountKey) -> Result<Transaction, RpcError> {
    let tx = typed_transaction(args).map_err(refused)?;
    Ok(sign_transaction_with(key, tx))
}
