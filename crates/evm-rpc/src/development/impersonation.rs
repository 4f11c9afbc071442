//! Transactions of accounts without a key.

use std::sync::Arc;

use alloy_consensus::TypedTransaction;
use esker_evm::chain::SubmittedTx;
use esker_evm_execution::executor::impersonating_signature;
use esker_rpc::{CallContext, ReplyAfter, RpcError};
use esker_services::sending::reply_wait;

use super::{DevelopmentNode, refused};
use crate::wire::call::TransactionArgs;
use crate::wire::{Addr, Hash};

/// Lets the node send transactions of an account without its key.
pub(super) fn impersonate(
    node: &DevelopmentNode,
    (Addr(account),): (Addr,),
) -> Result<(), RpcError> {
    node.controls()?.impersonate(account).map_err(refused)
}

/// Like [`impersonate`], with Hardhat's reply.
pub(super) fn hardhat_impersonate(
    node: &DevelopmentNode,
    account: (Addr,),
) -> Result<bool, RpcError> {
    impersonate(node, account).map(|()| true)
}

/// Ends the impersonation.
pub(super) fn stop(node: &DevelopmentNode, (Addr(account),): (Addr,)) -> Result<(), RpcError> {
    node.controls()?.stop_impersonating(&account);
    Ok(())
}

/// Like [`stop`], with Hardhat's reply: whether the account was impersonated.
pub(super) fn hardhat_stop(
    node: &DevelopmentNode,
    (Addr(account),): (Addr,),
) -> Result<bool, RpcError> {
    Ok(node.controls()?.stop_impersonating(&account))
}

/// Whether all accounts are impersonated.
pub(super) fn auto(node: &DevelopmentNode, (is_on,): (bool,)) -> Result<(), RpcError> {
    node.controls()?.set_auto_impersonation(is_on);
    Ok(())
}

/// Sends a transaction of any account, without its key.
pub(super) fn send_unsigned(
    node: &Arc<DevelopmentNode>,
    (args,): (TransactionArgs,),
    context: &CallContext,
) -> Result<ReplyAfter<Hash>, RpcError> {
    node.controls()?;
    if args.from.is_none() {
        return Err(refused("missing from: a transaction without a signature names its sender"));
    }
    let submit = |from, tx: TypedTransaction| {
        let tx = tx.into_envelope(impersonating_signature(&from));
        let SubmittedTx { hash, answer } = node
            .chain
            .submit_impersonated(tx)
            .map_err(|error| node.transact.submit_error(error))?;
        Ok(ReplyAfter { reply: hash, wait: reply_wait(answer) })
    };
    let sent = node.transact.send_unsigned(args, context, submit)?.map(Hash);
    Ok(node.transact.or_failure(sent, context))
}
