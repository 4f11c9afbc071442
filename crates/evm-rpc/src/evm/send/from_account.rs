//! Transactions that the node completes, signs with one of its accounts, and sends.

use std::sync::Arc;

use alloy_primitives::Address;
use esker_evm::pool::Sidecar;
use esker_rpc::{CallContext, Caller, ReplyAfter, RpcError};

use super::blobs::refuse_blobs;
use crate::evm::defaults::{GasDefault, sender};
use crate::evm::transact::TransactApi;
use crate::wire::call::TransactionArgs;
use crate::wire::{Hash, Uint64};

/// Arguments of an account of the node. Only a nonce may still be missing.
pub(super) struct Prepared {
    from: Address,
    args: TransactionArgs,
    sidecar: Option<Sidecar>,
    /// The gas limit was estimated, on the state after what was sent before.
    is_estimated: bool,
}

pub(super) fn send_transaction(
    transact: &Arc<TransactApi>,
    (args,): (TransactionArgs,),
    context: &CallContext,
) -> Result<ReplyAfter<Hash>, RpcError> {
    let prepared = transact.prepare(args, context.caller(), context)?;
    let is_estimated = prepared.is_estimated;
    let sent = transact.submit_prepared(prepared)?;
    let sent = if is_estimated { sent } else { sent.with_shared_delay() };
    Ok(transact.or_failure(sent, context))
}

impl TransactApi {
    /// Fills in what is missing, for an account that the node may sign for.
    pub(super) fn prepare(
        &self,
        mut args: TransactionArgs,
        caller: &Caller,
        context: &CallContext,
    ) -> Result<Prepared, RpcError> {
        self.set_sender_default(&mut args);
        let from = sender(&args);
        self.must_hold_for(&from, caller)?;
        let sidecar = self.take_blobs(&mut args)?;
        if sidecar.is_none() {
            refuse_blobs(&args)?;
        }
        let gas_default = self.gas_default();
        let is_estimated = args.gas.is_none() && gas_default != GasDefault::Block;
        let nonce = args.nonce;
        self.set_replacement_defaults(&mut args)?;
        self.set_defaults(&mut args, gas_default, context)?;
        args.nonce = nonce;
        Ok(Prepared { from, args, sidecar, is_estimated })
    }

    /// Signs and submits. A missing nonce is the next one.
    pub(super) fn submit_prepared(&self, prepared: Prepared) -> Result<ReplyAfter<Hash>, RpcError> {
        let Prepared { from, mut args, sidecar, .. } = prepared;
        let submit = |args: &TransactionArgs| {
            self.submit_signed(args, |args| match sidecar {
                Some(sidecar) => self.sign_with_blobs(args, sidecar),
                None => self.sign_args(args),
            })
        };
        if args.nonce.is_some() {
            return submit(&args);
        }
        // Others wait meanwhile, so the estimate has been made before.
        self.senders.with_lock(from, || {
            args.nonce = Some(Uint64(self.next_nonce(from)?));
            submit(&args)
        })
    }
}
