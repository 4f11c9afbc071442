//! Blob transactions of the node's accounts: commitments, proofs and hashes of given blobs.

use alloy_consensus::{TxEip4844, TxEip4844Variant, TypedTransaction};
use alloy_eips::eip4844::{Blob, Bytes48};
use alloy_primitives::{TxKind, U256};
use esker_evm::accounts::sign_transaction;
use esker_evm::pool::{Sidecar, sidecar_of};
use esker_evm_state::types::Transaction;
use esker_rpc::RpcError;

use super::raw::RawTxError;
use super::refused::refused;
use super::unsigned::typed_transaction;
use crate::evm::defaults::{MAX_BLOBS, sender};
use crate::evm::transact::TransactApi;
use crate::wire::call::TransactionArgs;
use crate::wire::{Big, Data, Hash};

impl TransactApi {
    /// The sidecar of the blobs in these arguments, if there are any. Their hashes and the cap of the blob fee are
    /// filled in. Texts are geth's, which itself makes such transactions without sending them.
    pub(super) fn take_blobs(
        &self,
        args: &mut TransactionArgs,
    ) -> Result<Option<Sidecar>, RpcError> {
        if args.blobs.is_empty() {
            return Ok(None);
        }
        let rules = self.chain.rules.as_ref();
        let head = self.reads.chain.head();
        let time = rules.child_time(&head.header, self.clock.now_s());
        let terms = rules.next_terms(&head.header, time).map_err(refused)?;
        if terms.execution.blobs.is_none() {
            return Ok(None);
        }
        if args.gas_price.is_some() {
            return Err(refused(
                "blob transactions have maxFeePerGas and maxPriorityFeePerGas instead of gasPrice",
            ));
        }
        if args.authorization_list.is_given() {
            return Err(refused("a transaction has either blobs or authorizations"));
        }
        check_counts(args)?;
        let blobs = decoded(&std::mem::take(&mut args.blobs))?;
        let sidecar = sidecar_of(blobs).map_err(refused)?;
        check_given(args, &sidecar)?;
        set_hashes(args, &sidecar)?;
        let doubled = terms.blob_base_fee.saturating_mul(U256::from(2));
        args.max_fee_per_blob_gas.get_or_insert(Big(doubled));
        Ok(Some(sidecar))
    }

    /// The signed transaction of complete arguments with these blobs.
    pub(super) fn sign_with_blobs(
        &self,
        args: &TransactionArgs,
        sidecar: Sidecar,
    ) -> Result<Transaction, RpcError> {
        let tx = with_blobs(args, sidecar).map_err(refused)?;
        sign_transaction(&*self.accounts, &sender(args), tx).map_err(refused)
    }
}

/// Without the blobs themselves no blob transaction can be sent.
pub(super) fn refuse_blobs(args: &TransactionArgs) -> Result<(), RpcError> {
    match (&args.blob_versioned_hashes, &args.max_fee_per_blob_gas) {
        (None, None) => Ok(()),
        (Some(_), _) | (_, Some(_)) => Err(refused("signing blob transactions not supported")),
    }
}

/// Checks how many blobs, commitments and hashes there are.
fn check_counts(args: &TransactionArgs) -> Result<(), RpcError> {
    let (blobs, commitments) = (args.blobs.len(), args.commitments.len());
    if blobs > MAX_BLOBS {
        let text = format!("too many blobs in transaction (have={blobs}, max={MAX_BLOBS})");
        return Err(refused(text));
    }
    if args.commitments.is_empty() && !args.proofs.is_empty() {
        return Err(refused("blob proofs provided while commitments were not"));
    }
    if !args.commitments.is_empty() && args.proofs.is_empty() {
        return Err(refused("blob commitments provided while proofs were not"));
    }
    let hashes = args.blob_versioned_hashes.as_ref().map_or(blobs, Vec::len);
    if hashes != blobs {
        let text = format!("number of blobs and hashes mismatch (have={hashes}, want={blobs})");
        return Err(refused(text));
    }
    if !args.commitments.is_empty() && commitments != blobs {
        let text =
            format!("number of blobs and commitments mismatch (have={commitments}, want={blobs})");
        return Err(refused(text));
    }
    Ok(())
}

/// The blobs, decoded in place: one is too large to be moved on a thread's stack.
fn decoded(given: &[Data]) -> Result<Vec<Blob>, RpcError> {
    let mut blobs = vec![Blob::ZERO; given.len()];
    for (blob, Data(bytes)) in blobs.iter_mut().zip(given) {
        if bytes.len() != blob.len() {
            let (length, expected) = (2 * bytes.len(), 2 * blob.len());
            let text = format!("hex string has length {length}, want {expected} for kzg4844.Blob");
            return Err(refused(text));
        }
        blob.copy_from_slice(bytes);
    }
    Ok(blobs)
}

/// Checks given commitments and blob proofs against the computed ones, which are the only valid ones. Proofs of cells
/// are replaced by the node's own.
fn check_given(args: &mut TransactionArgs, sidecar: &Sidecar) -> Result<(), RpcError> {
    let (commitments, proofs) =
        (std::mem::take(&mut args.commitments), std::mem::take(&mut args.proofs));
    let Sidecar::Eip4844(own) = sidecar else { return Ok(()) };
    let is_same = |given: &[Data], own: &[Bytes48]| {
        given.iter().zip(own).all(|(Data(given), own)| given[..] == own[..])
    };
    let has_blob_proofs = proofs.len() == own.proofs.len();
    if !is_same(&commitments, &own.commitments) || has_blob_proofs && !is_same(&proofs, &own.proofs)
    {
        return Err(refused("failed to verify blob proof: invalid proof"));
    }
    Ok(())
}

/// Fills in the hashes, or checks them.
fn set_hashes(args: &mut TransactionArgs, sidecar: &Sidecar) -> Result<(), RpcError> {
    let own: Vec<_> = sidecar.versioned_hashes().collect();
    for (Hash(have), want) in args.blob_versioned_hashes.iter().flatten().zip(&own) {
        if have != want {
            return Err(refused(format!(
                "blob hash verification failed (have={have:#x}, want={want:#x})"
            )));
        }
    }
    args.blob_versioned_hashes = Some(own.into_iter().map(Hash).collect());
    Ok(())
}

/// The unsigned transaction of complete arguments.
fn with_blobs(args: &TransactionArgs, sidecar: Sidecar) -> Result<TypedTransaction, RawTxError> {
    let TypedTransaction::Eip1559(plain) = typed_transaction(args)? else {
        return Err(RawTxError::Type);
    };
    let TxKind::Call(to) = plain.to else { return Err(RawTxError::Type) };
    let Big(blob_fee) = args.max_fee_per_blob_gas.unwrap_or_default();
    let hashes = args.blob_versioned_hashes.iter().flatten().map(|Hash(hash)| *hash);
    let tx = TxEip4844 {
        chain_id: plain.chain_id,
        nonce: plain.nonce,
        gas_limit: plain.gas_limit,
        max_fee_per_gas: plain.max_fee_per_gas,
        max_priority_fee_per_gas: plain.max_priority_fee_per_gas,
        to,
        value: plain.value,
        access_list: plain.access_list,
        blob_versioned_hashes: hashes.collect(),
        max_fee_per_blob_gas: u128::try_from(blob_fee).map_err(|_| RawTxError::Fee)?,
        input: plain.input,
    };
    let tx = TxEip4844Variant::TxEip4844WithSidecar(tx.with_sidecar(sidecar));
    Ok(TypedTransaction::Eip4844(tx))
}
