//! The service `internal-transaction`, as far as it sends and signs
//! (docs/protocol/c-chain-pool.md, "Sent transactions").

mod blobs;
mod by_password;
mod conditional;
mod fee_cap;
mod from_account;
mod raw;
mod refused;
pub(crate) mod rlp;
mod send_raw;
mod sync;
mod typed_data;
mod unsigned;

#[cfg(test)]
mod raw_tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_consensus::{SignableTransaction, TypedTransaction};
use alloy_primitives::{Address, B256, U256};
use esker_evm::accounts::{
    AccountError, AccountKey, sign_transaction, sign_transaction_with, text_hash,
};
use esker_evm::pool::Content;
use esker_evm_state::types::Transaction;
use esker_rpc::handler::{
    blocking, blocking_then, restartable, restartable_then, waits, waits_with_caller,
};
use esker_rpc::{CallContext, Caller, MethodTable, ReplyAfter, RpcError, UNTRUSTED_ORIGIN, cost};

use schemars::JsonSchema;
use serde::Serialize;

use self::blobs::refuse_blobs;
use self::fee_cap::check_fee;
use self::refused::refused;
use self::send_raw::send_raw;
use self::typed_data::TypedDataArg;
use self::unsigned::{fee_cap, typed_transaction, unsigned_hash};
use super::defaults::{GasDefault, sender};
use super::table::table;
use super::transact::TransactApi;
use crate::txpool::check_shown_size;
use crate::wire::call::TransactionArgs;
use crate::wire::{Addr, Big, Data, Hash, TransactionReply, Uint64};

pub(crate) use by_password::{send_by_password, sign_by_password};
pub use raw::RawTxError;
pub use send_raw::decode_transaction;
pub(crate) use send_raw::signed_transaction;
pub(crate) use unsigned::RawReply;

pub(super) fn methods() -> MethodTable<TransactApi> {
    table()
        .on_list("sendRawTransaction", blocking_then(send_raw_transaction))
        .params(&["data"])
        .short()
        .cost(cost::SEND)
        .on_list(
            "sendRawTransactionConditional",
            blocking_then(conditional::send_raw_transaction_conditional),
        )
        .params(&["data", "conditions"])
        .cost(cost::SEARCH)
        .on_list("sendRawTransactionSync", waits(sync::send_raw_transaction_sync))
        .params(&["data", "timeout"])
        .cost(cost::SEND)
        .on_list("sendTransaction", restartable_then(from_account::send_transaction))
        .params(&["transaction"])
        .short_first()
        .cost(cost::SEARCH)
        .on_list("sendTransactionSync", waits_with_caller(sync::send_transaction_sync))
        .params(&["transaction", "timeout"])
        .cost(cost::SEARCH)
        .on_list("fillTransaction", restartable(fill_transaction))
        .params(&["transaction"])
        .short_first()
        .cost(cost::SEARCH)
        .on_list("signTransaction", restartable(sign_transaction_method))
        .params(&["transaction"])
        .short()
        .cost(cost::SEND)
        .on_list("sign", restartable(sign))
        .params(&["address", "data"])
        .short()
        .cost(cost::SEND)
        .on_list("signTypedData_v4", restartable(sign_typed_data))
        .params(&["address", "typedData"])
        .short()
        .cost(cost::SEND)
        // As EIP-712 itself calls it.
        .also_named("signTypedData")
        .on_list("pendingTransactions", blocking(pending_transactions))
        .cost(cost::HEAVY)
        .on_list("resend", restartable_then(resend))
        .params(&["transaction", "gasPrice", "gas"])
        .short_first()
        .cost(cost::SEARCH)
        .checked_by(TransactApi::check_sending, &SENDING)
}

/// Methods that send transactions.
const SENDING: [&str; 6] = [
    "sendRawTransaction",
    "sendRawTransactionConditional",
    "sendRawTransactionSync",
    "sendTransaction",
    "sendTransactionSync",
    "resend",
];

fn send_raw_transaction(
    transact: &Arc<TransactApi>,
    (Data(bytes),): (Data,),
    context: &CallContext,
) -> Result<ReplyAfter<Hash>, RpcError> {
    let sent = send_raw(transact, &bytes)?.map(Hash);
    Ok(transact.or_failure(sent.with_shared_delay(), context))
}

fn fill_transaction(
    transact: &TransactApi,
    (mut args,): (TransactionArgs,),
    context: &CallContext,
) -> Result<RawReply, RpcError> {
    transact.set_sender_default(&mut args);
    if transact.accounts.holds(&sender(&args)) {
        transact.set_replacement_defaults(&mut args)?;
    }
    transact.set_defaults(&mut args, GasDefault::Estimate, context)?;
    refuse_blobs(&args)?;
    let reply = RawReply::unsigned(&args);
    Ok(if transact.reads.config.anvil_answers { reply.like_anvils(&args) } else { reply })
}

fn sign_transaction_method(
    transact: &TransactApi,
    (mut args,): (TransactionArgs,),
    context: &CallContext,
) -> Result<SignReply, RpcError> {
    let is_like_anvils = transact.reads.config.anvil_answers;
    match is_like_anvils {
        true => refuse_blobs(&args)?,
        false => must_be_complete(&args)?,
    }
    transact.set_sender_default(&mut args);
    transact.set_defaults(&mut args, transact.gas_default(), context)?;
    transact.check_fee_of(&args)?;
    transact.must_hold_for(&sender(&args), context.caller())?;
    let tx = transact.sign_args(&args)?;
    let reply = RawReply::signed(&args, &tx);
    Ok(match is_like_anvils {
        true => SignReply::Raw(reply.into_raw()),
        false => SignReply::Full(Box::new(reply)),
    })
}

/// A signed transaction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum SignReply {
    /// With its members.
    Full(Box<RawReply>),
    /// As anvil shows it.
    #[schemars(skip)]
    Raw(Data),
}

/// The node adds no gas, price or nonce to a transaction that is signed without being sent.
fn must_be_complete(args: &TransactionArgs) -> Result<(), RpcError> {
    if args.gas.is_none() {
        return Err(refused("gas not specified"));
    }
    let has_caps = args.max_priority_fee_per_gas.is_some() && args.max_fee_per_gas.is_some();
    if args.gas_price.is_none() && !has_caps {
        return Err(refused("missing gasPrice or maxFeePerGas/maxPriorityFeePerGas"));
    }
    if args.nonce.is_none() {
        return Err(refused("nonce not specified"));
    }
    refuse_blobs(args)
}

/// Signs a text, so that the signature can't be one of a transaction.
fn sign(
    transact: &TransactApi,
    (Addr(account), Data(text)): (Addr, Data),
    context: &CallContext,
) -> Result<Data, RpcError> {
    transact.must_hold_for(&account, context.caller())?;
    transact.sign_hash(&account, &text_hash(&text))
}

/// Signs structured data (docs/decisions.md, "Further standard methods").
fn sign_typed_data(
    transact: &TransactApi,
    (Addr(account), data): (Addr, TypedDataArg),
    context: &CallContext,
) -> Result<Data, RpcError> {
    transact.must_hold_for(&account, context.caller())?;
    let hash = data.signing_hash().map_err(refused)?;
    transact.sign_hash(&account, &hash)
}

fn pending_transactions(transact: &TransactApi, (): ()) -> Result<Vec<TransactionReply>, RpcError> {
    let pool = &transact.reads.pool;
    let pending = match transact.reads.config.hardhat_answers {
        // All that wait, also those whose nonce is not the next one.
        true => {
            let Content { pending, queued } = pool.content();
            pending
                .into_values()
                .chain(queued.into_values())
                .flat_map(BTreeMap::into_values)
                .collect()
        }
        false => pool.pending_of(&transact.accounts.accounts()),
    };
    check_shown_size(pending.iter())?;
    let dialect = transact.reads.dialect();
    Ok(pending.into_iter().map(|tx| TransactionReply::pooled(dialect, tx)).collect())
}

/// Sends a pending transaction of an account again, at another price or with another gas limit.
fn resend(
    transact: &Arc<TransactApi>,
    (mut args, price, gas): (TransactionArgs, Option<Big>, Option<Uint64>),
    context: &CallContext,
) -> Result<ReplyAfter<Hash>, RpcError> {
    if args.nonce.is_none() {
        return Err(refused("missing transaction nonce in transaction spec"));
    }
    transact.set_defaults(&mut args, GasDefault::Estimate, context)?;
    let new_price = price.map_or_else(|| fee_cap(&args), |Big(price)| price);
    let new_gas = gas.or(args.gas).unwrap_or_default().0;
    check_fee(new_price, new_gas, transact.config.tx_fee_cap).map_err(refused)?;
    let from = sender(&args);
    let wanted = typed_transaction(&args).ok().map(|tx| tx.signature_hash());
    let pending = transact.reads.pool.pending_of(&[from]);
    if !pending.iter().any(|tx| Some(tx.tx().signature_hash()) == wanted) {
        return Err(refused(format!("transaction {:#x} not found", unsigned_hash(&args))));
    }
    if let Some(Big(price)) = price.filter(|Big(price)| !price.is_zero()) {
        args.gas_price = Some(Big(price));
    }
    if let Some(gas) = gas.filter(|Uint64(gas)| *gas != 0) {
        args.gas = Some(gas);
    }
    transact.must_hold_for(&from, context.caller())?;
    let tx = transact.sign_args(&args)?;
    Ok(transact.or_failure(transact.submit(tx)?.map(Hash), context))
}

impl TransactApi {
    fn must_hold(&self, account: &Address) -> Result<(), RpcError> {
        match self.accounts.holds(account) {
            true => Ok(()),
            false => Err(self.no_signer().unwrap_or_else(|| refused(AccountError::Unknown))),
        }
    }

    /// Like [`Self::must_hold`], before an account signs without a password: one that has a password may be unlocked,
    /// which is no leave for web pages of other sites (docs/decisions.md, "Accounts with passwords").
    fn must_hold_for(&self, account: &Address, caller: &Caller) -> Result<(), RpcError> {
        self.must_hold(account)?;
        match caller.is_untrusted_page && self.accounts.needs_password(account) {
            true => Err(refused(UNTRUSTED_ORIGIN)),
            false => Ok(()),
        }
    }

    fn sign_hash(&self, account: &Address, hash: &B256) -> Result<Data, RpcError> {
        let signature = self.accounts.sign_hash(account, hash).map_err(refused)?;
        Ok(Data(signature.as_bytes().to_vec().into()))
    }

    fn check_fee_of(&self, args: &TransactionArgs) -> Result<(), RpcError> {
        let gas = args.gas.unwrap_or_default().0;
        check_fee(fee_cap(args), gas, self.config.tx_fee_cap).map_err(refused)
    }

    fn sign_args(&self, args: &TransactionArgs) -> Result<Transaction, RpcError> {
        let tx = typed_transaction(args).map_err(refused)?;
        sign_transaction(&*self.accounts, &sender(args), tx).map_err(refused)
    }

    /// Submits the transaction of these arguments, signed by `sign` and given to `submit`, whoever the sender is. Arguments
    /// that are missing get their defaults.
    pub(crate) fn send_unsigned(
        &self,
        mut args: TransactionArgs,
        context: &CallContext,
        submit: impl FnOnce(Address, TypedTransaction) -> Result<ReplyAfter<B256>, RpcError>,
    ) -> Result<ReplyAfter<B256>, RpcError> {
        let from = sender(&args);
        refuse_blobs(&args)?;
        let has_nonce = args.nonce.is_some();
        self.set_replacement_defaults(&mut args)?;
        self.set_defaults(&mut args, self.gas_default(), context)?;
        self.senders.with_lock(from, || {
            if !has_nonce {
                args.nonce = Some(Uint64(self.next_nonce(from)?));
            }
            submit(from, typed_transaction(&args).map_err(refused)?)
        })
    }

    /// The transaction of these arguments, signed by its account. Arguments that are missing get their defaults.
    pub(crate) fn signed(
        &self,
        mut args: TransactionArgs,
        context: &CallContext,
    ) -> Result<Transaction, RpcError> {
        self.must_hold_for(&sender(&args), context.caller())?;
        refuse_blobs(&args)?;
        self.set_defaults(&mut args, GasDefault::Estimate, context)?;
        self.sign_args(&args)
    }

    fn submit_signed(
        &self,
        args: &TransactionArgs,
        sign: impl FnOnce(&TransactionArgs) -> Result<Transaction, RpcError>,
    ) -> Result<ReplyAfter<Hash>, RpcError> {
        // Before it is signed: a price that no transaction can hold is refused as too high.
        if fee_cap(args) > U256::from(u128::MAX) {
            self.check_fee_of(args)?;
        }
        let tx = sign(args)?;
        self.check_fee_of(args)?;
        self.submit(tx).map(|sent| sent.map(Hash))
    }
}
