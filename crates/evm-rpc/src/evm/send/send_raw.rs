//! Signed transactions as they are sent.

use alloy_consensus::Transaction as _;
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{B256, U256};
use esker_evm::pool::without_sidecar;
use esker_evm_state::types::Transaction;
use esker_rpc::{ReplyAfter, RpcError};

use super::fee_cap::{check_fee, check_wide_fee};
use super::raw::{LargeValue, RawTx, RawTxError};
use super::refused::refused;
use crate::evm::transact::TransactApi;

/// Reads a signed transaction as `sendRawTransaction` does; total on any bytes.
///
/// Out-of-range signatures become unrecoverable, so the pool rejects them.
pub fn decode_transaction(bytes: &[u8]) -> Result<Transaction, RawTxError> {
    let tx = RawTx::parse(bytes)?;
    if tx.large_value.is_some() {
        return Err(RawTxError::Value);
    }
    tx.into_transaction()
}

/// Takes a signed transaction in; gives its hash.
pub(super) fn send_raw(transact: &TransactApi, bytes: &[u8]) -> Result<ReplyAfter<B256>, RpcError> {
    if is_of_standard(transact, bytes) {
        return send_standard(transact, bytes);
    }
    let tx = RawTx::parse(bytes).map_err(|error| undecodable(transact, bytes, error))?;
    check_wide_fee(tx.fee_cap.bytes(), tx.gas, transact.config.tx_fee_cap).map_err(refused)?;
    let config = &transact.config;
    if !tx.is_protected
        && !config.allow_unprotected_txs
        && !config.allow_unprotected_tx_hashes.contains(&RawTx::hash(bytes))
        && !tx.has_predictable_signature()
    {
        return Err(refused("only replay-protected (EIP-155) transactions allowed over RPC"));
    }
    let large_value = tx.large_value.clone();
    let tx = tx.into_transaction().map_err(|error| undecodable(transact, bytes, error))?;
    match large_value {
        None => transact.submit(tx),
        Some(LargeValue { value, signed_hash }) => {
            let hash = RawTx::hash(bytes);
            let refused = transact.submitter.refuse_value(tx, value, hash, signed_hash);
            Err(transact.submit_error(refused))
        }
    }
}

/// A signed transaction that is executed without being sent, with or without a sidecar.
pub(crate) fn signed_transaction(
    transact: &TransactApi,
    bytes: &[u8],
) -> Result<Transaction, RpcError> {
    if !is_of_standard(transact, bytes) {
        return decode_transaction(bytes).map_err(refused);
    }
    let tx = decode_standard(bytes).map_err(refused)?;
    Ok(without_sidecar(tx))
}

/// Whether it has a type that the reference does not have, on a chain that does.
fn is_of_standard(transact: &TransactApi, bytes: &[u8]) -> bool {
    transact.reads.dialect().is_standard() && matches!(bytes, [3 | 4, _, ..])
}

fn decode_standard(mut bytes: &[u8]) -> Result<Transaction, String> {
    let tx = Transaction::decode_2718(&mut bytes).map_err(|error| error.to_string())?;
    if !bytes.is_empty() {
        return Err("rlp: input contains more than one value".to_owned());
    }
    Ok(tx)
}

/// The error of a transaction that can't be decoded. Anvil and Hardhat's node say that a parameter is not valid.
fn undecodable(transact: &TransactApi, bytes: &[u8], error: impl std::fmt::Display) -> RpcError {
    match transact.undecodable(bytes) {
        Some(error) => error,
        None if transact.reads.stands_for_tool() => {
            RpcError::with_code(RpcError::INVALID_PARAMS, error.to_string())
        }
        None => refused(error),
    }
}

/// As [`send_raw`], of a type that the reference does not have; a blob transaction comes with its sidecar.
fn send_standard(transact: &TransactApi, bytes: &[u8]) -> Result<ReplyAfter<B256>, RpcError> {
    let tx = decode_standard(bytes).map_err(|error| undecodable(transact, bytes, error))?;
    let price = U256::from(tx.max_fee_per_gas());
    check_fee(price, tx.gas_limit(), transact.config.tx_fee_cap).map_err(refused)?;
    transact.submit(tx)
}
