//! Transactions of simulated calls.

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip2930, TxEip4844, TxEip4844Variant, TxEip7702, TxLegacy,
};
use alloy_primitives::{Signature, U256};
use esker_evm_state::types::Transaction;

use super::SimulateError;
use crate::call::CallRequest;
use crate::executor::Message;

/// The transaction of a call, with zeros for a signature.
pub(super) fn unsigned(
    message: &Message,
    request: &CallRequest,
    chain_id: u64,
) -> Result<Transaction, SimulateError> {
    let none = Signature::new(U256::ZERO, U256::ZERO, false);
    if request.authorization_list.is_some() {
        return Ok(set_code(message, request, chain_id)?.into_signed(none).into());
    }
    if request.blob_hashes.is_some() {
        let tx: TxEip4844Variant = blobs(message, request, chain_id)?.into();
        return Ok(Transaction::Eip4844(tx.into_signed(none)));
    }
    let &Message { nonce, value, gas_limit, .. } = message;
    let (to, input) = (message.kind(), message.input.clone());
    Ok(match (request.gas_price, &request.access_list) {
        (Some(price), None) => {
            let (gas_price, chain_id) = (fee(price)?, Some(chain_id));
            let tx = TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input };
            tx.into_signed(none).into()
        }
        (Some(price), Some(_)) => {
            let (gas_price, access_list) = (fee(price)?, message.access_list.clone());
            let tx =
                TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input };
            tx.into_signed(none).into()
        }
        (None, _) => dynamic_fee(message, chain_id)?.into_signed(none).into(),
    })
}

fn fee(fee: U256) -> Result<u128, SimulateError> {
    u128::try_from(fee).map_err(|_| SimulateError::FeeRange)
}

fn dynamic_fee(message: &Message, chain_id: u64) -> Result<TxEip1559, SimulateError> {
    Ok(TxEip1559 {
        chain_id,
        nonce: message.nonce,
        gas_limit: message.gas_limit,
        max_fee_per_gas: fee(message.fee_cap)?,
        max_priority_fee_per_gas: fee(message.tip_cap)?,
        to: message.kind(),
        value: message.value,
        access_list: message.access_list.clone(),
        input: message.input.clone(),
    })
}

fn blobs(
    message: &Message,
    request: &CallRequest,
    chain_id: u64,
) -> Result<TxEip4844, SimulateError> {
    Ok(TxEip4844 {
        chain_id,
        nonce: message.nonce,
        gas_limit: message.gas_limit,
        max_fee_per_gas: fee(message.fee_cap)?,
        max_priority_fee_per_gas: fee(message.tip_cap)?,
        to: message.to.unwrap_or_default(),
        value: message.value,
        access_list: message.access_list.clone(),
        blob_versioned_hashes: request.blob_hashes.clone().unwrap_or_default(),
        max_fee_per_blob_gas: fee(message.blob_fee_cap)?,
        input: message.input.clone(),
    })
}

fn set_code(
    message: &Message,
    request: &CallRequest,
    chain_id: u64,
) -> Result<TxEip7702, SimulateError> {
    Ok(TxEip7702 {
        chain_id,
        nonce: message.nonce,
        gas_limit: message.gas_limit,
        max_fee_per_gas: fee(message.fee_cap)?,
        max_priority_fee_per_gas: fee(message.tip_cap)?,
        to: message.to.unwrap_or_default(),
        value: message.value,
        access_list: message.access_list.clone(),
        authorization_list: request.authorization_list.clone().unwrap_or_default(),
        input: message.input.clone(),
    })
}
