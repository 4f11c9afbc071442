//! Assembles simulated blocks.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEip2930, TxLegacy};
use alloy_primitives::{B64, B256, Bytes, Signature, U256};
use esker_evm_state::types::{
    Block, EMPTY_OMMERS_HASH, Header, Receipt, Transaction, block_bloom, ext_data_hash,
    receipts_root,
};

use super::{HeaderOverrides, SimulateError};
use crate::call::CallRequest;
use crate::executor::{BlockContext, Message};
use crate::rules::{ChildTerms, Revision, Rules};

/// The results of a block's calls.
pub(super) struct Parts<'a> {
    /// Unix s.
    pub(super) time: u64,
    pub(super) state_root: B256,
    pub(super) gas_used: u64,
    pub(super) transactions: Vec<Transaction>,
    pub(super) receipts: &'a [Receipt],
}

/// The block with a header on its parent, and the extra data that the block would have. Its own extra data is empty,
/// as in the standard: tools refuse more than 32 bytes.
pub(super) fn assemble(
    rules: &dyn Rules,
    parent: &(Header, B256),
    terms: &ChildTerms,
    context: &BlockContext,
    given: &HeaderOverrides,
    parts: Parts<'_>,
) -> Result<(Block, Bytes), SimulateError> {
    // A requested gas limit may exceed the capacity.
    let counted = parts.gas_used.min(terms.gas_available);
    let is_etna = terms.phase.execution.revision >= Revision::Cancun;
    let header = Header {
        parent_hash: parent.1,
        ommers_hash: EMPTY_OMMERS_HASH,
        coinbase: context.coinbase,
        state_root: parts.state_root,
        transactions_root: B256::ZERO,
        receipts_root: receipts_root(parts.receipts),
        bloom: block_bloom(parts.receipts),
        difficulty: given.difficulty.unwrap_or(U256::from(1)),
        number: context.number.saturating_to(),
        gas_limit: context.gas_limit,
        gas_used: parts.gas_used,
        time: parts.time,
        extra: Bytes::new(),
        mix_digest: given.prev_randao.unwrap_or_default(),
        nonce: B64::ZERO,
        ext_data_hash: ext_data_hash(&[]),
        base_fee: Some(context.base_fee),
        ext_data_gas_used: Some(U256::ZERO),
        block_gas_cost: Some(U256::from(terms.block_gas_cost)),
        blob_gas_used: is_etna.then_some(0),
        excess_blob_gas: is_etna.then_some(0),
        parent_beacon_root: is_etna.then(|| given.beacon_root.unwrap_or_default()),
        withdrawals_root: None,
        requests_hash: None,
    };
    let mut block = Block { header, transactions: parts.transactions, ..Block::default() };
    block.header.transactions_root = block.transactions_root();
    Ok((block, rules.child_extra(terms, counted, 0)?))
}

/// The transaction of a call, with zeros for a signature.
pub(super) fn unsigned(
    message: &Message,
    request: &CallRequest,
    chain_id: u64,
) -> Result<Transaction, SimulateError> {
    let fee = |fee: U256| u128::try_from(fee).map_err(|_| SimulateError::FeeRange);
    let none = Signature::new(U256::ZERO, U256::ZERO, false);
    let &Message { nonce, value, gas_limit, .. } = message;
    let (to, input) = (message.kind(), message.input.clone());
    let access_list = message.access_list.clone();
    Ok(match (request.gas_price, &request.access_list) {
        (Some(price), None) => {
            let gas_price = fee(price)?;
            let chain_id = Some(chain_id);
            let tx = TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input };
            tx.into_signed(none).into()
        }
        (Some(price), Some(_)) => {
            let gas_price = fee(price)?;
            let tx =
                TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input };
            tx.into_signed(none).into()
        }
        (None, _) => {
            let max_fee_per_gas = fee(message.fee_cap)?;
            let max_priority_fee_per_gas = fee(message.tip_cap)?;
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
        }
    })
}
