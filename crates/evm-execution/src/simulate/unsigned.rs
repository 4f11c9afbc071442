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
    let &Message { nonce, value, gas_limit, .. } = message;
    let (max_fee_per_gas, max_priority_fee_per_gas) =
        (fee(message.fee_cap)?, fee(message.tip_cap)?);
    // Both caps are the price, if there is one.
    let gas_price = max_fee_per_gas;
    let (to, account) = (message.kind(), message.to.unwrap_or_default());
    let (input, access_list) = (message.input.clone(), message.access_list.clone());
    Ok(if let Some(list) = &request.authorization_list {
        let tx = TxEip7702 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to: account,
            value,
            access_list,
            authorization_list: list.clone(),
            input,
        };
        tx.into_signed(none).into()
    } else if let Some(hashes) = &request.blob_hashes {
        let tx = TxEip4844 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to: account,
            value,
            access_list,
            blob_versioned_hashes: hashes.clone(),
            max_fee_per_blob_gas: fee(message.blob_fee_cap)?,
            input,
        };
        let tx: TxEip4844Variant = tx.into();
        Transaction::Eip4844(tx.into_signed(none))
    } else if request.gas_price.is_none() {
        let tx = TxEip1559 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to,
            value,
            access_list,
            input,
        };
        tx.into_signed(none).into()
    } else if request.access_list.is_some() {
        let tx = TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input };
        tx.into_signed(none).into()
    } else {
        let chain_id = Some(chain_id);
        let tx = TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input };
        tx.into_signed(none).into()
    })
}

fn fee(fee: U256) -> Result<u128, SimulateError> {
    u128::try_from(fee).map_err(|_| SimulateError::FeeRange)
}
