//! Controls of the next block's header.

use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm_execution::rules::{HeaderTerms, Revision};
use esker_rpc::RpcError;

use super::numbers::Number;
use super::{DevelopmentNode, refused};
use crate::evm::TransactApi;
use crate::wire::{Addr, Hash};

fn set(node: &DevelopmentNode, change: impl FnOnce(&mut HeaderTerms)) -> Result<(), RpcError> {
    let rules = &*node.chain.params().rules;
    node.controls()?.set_header(rules, change).map_err(refused)
}

/// The base fee of the next block, wei.
pub(super) fn set_base_fee(node: &DevelopmentNode, (wei,): (Number,)) -> Result<(), RpcError> {
    let Number(wei) = wei;
    set(node, |header| header.base_fee = Some(wei))
}

/// Like [`set_base_fee`], with Hardhat's reply.
pub(super) fn hardhat_set_base_fee(
    node: &DevelopmentNode,
    wei: (Number,),
) -> Result<bool, RpcError> {
    set_base_fee(node, wei).map(|()| true)
}

/// The gas limit of all further blocks. The reply is that of both tools.
pub(super) fn set_gas_limit(node: &DevelopmentNode, (gas,): (Number,)) -> Result<bool, RpcError> {
    let gas = gas.to_u64("gas limit")?;
    set(node, |header| header.gas_limit = Some(gas)).map(|()| true)
}

/// Sets the recipient of the fees of all further blocks.
pub(super) fn set_coinbase(
    node: &DevelopmentNode,
    (Addr(account),): (Addr,),
) -> Result<(), RpcError> {
    let usual = node.chain.params().rules.fee_recipient();
    set(node, |header| header.coinbase = Some(account).filter(|account| *account != usual))
}

/// Like [`set_coinbase`], with Hardhat's reply.
pub(super) fn hardhat_set_coinbase(
    node: &DevelopmentNode,
    account: (Addr,),
) -> Result<bool, RpcError> {
    set_coinbase(node, account).map(|()| true)
}

/// Sets the value that PREVRANDAO returns in the next block.
pub(super) fn set_random(node: &DevelopmentNode, (Hash(value),): (Hash,)) -> Result<(), RpcError> {
    if value == B256::ZERO {
        return Err(refused("a random value of 0 can't be set: a block with it has none"));
    }
    set(node, |header| header.random = Some(value))
}

/// Like [`set_random`], with Hardhat's reply.
pub(super) fn hardhat_set_random(node: &DevelopmentNode, value: (Hash,)) -> Result<bool, RpcError> {
    set_random(node, value).map(|()| true)
}

/// Sets the root of the beacon chain's block before the next block, which the block writes into the contract of EIP-4788.
pub(super) fn set_beacon_root(
    node: &DevelopmentNode,
    (Hash(root),): (Hash,),
) -> Result<(), RpcError> {
    let TransactApi { reads, clock, .. } = &*node.transact;
    let (head, rules) = (reads.chain.head(), reads.chain.rules());
    let time = rules.child_time(&head.header, clock.now_s());
    let terms = rules.next_terms(&head.header, time).map_err(refused)?;
    if terms.execution.revision < Revision::Cancun {
        return Err(refused(
            "the next block has no parent beacon block root: they begin with Cancun",
        ));
    }
    set(node, |header| header.beacon_root = Some(root))
}

/// Blocks have a base fee, so there is no least price.
pub(super) fn set_min_gas_price(node: &DevelopmentNode, _: (Number,)) -> Result<(), RpcError> {
    if node.transact.reads.config.anvil_answers {
        let text = "anvil_setMinGasPrice is not supported when EIP-1559 is active";
        return Err(RpcError::with_code(RpcError::INVALID_PARAMS, text));
    }
    Err(refused(
        "there is no least gas price where blocks have a base fee: use anvil_setNextBlockBaseFeePerGas, or --base-fee",
    ))
}

/// Traces can be asked for at any time.
pub(super) async fn enable_traces(_: Arc<DevelopmentNode>, (): ()) -> Result<(), RpcError> {
    Ok(())
}
