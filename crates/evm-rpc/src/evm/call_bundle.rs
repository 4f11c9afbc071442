//! `callBundle`: signed transactions in sequence, in the form of Flashbots, reth and anvil.

use std::time::Duration;

use alloy_primitives::{B256, I256, U256, keccak256};
use esker_evm_execution::call::{
    BlockOverrides, BundleOutcome, BundleTxOutcome, CallLimits, CallRequest, call_bundle,
};
use esker_evm_execution::executor::{Bounds, Stop};
use esker_evm_state::types::Transaction;
use esker_rpc::handler::restartable;
use esker_rpc::{CallContext, MethodTable, RpcError, cost};
use schemars::JsonSchema;
use serde::Serialize;

use super::running::{CallBlock, LATEST};
use super::send::signed_transaction;
use super::table::table;
use super::transact::TransactApi;
use crate::wire::call::CallBundleArgs;
use crate::wire::{Addr, Big, Data, Hash, HexOrDecimal};

/// The time limit of a bundle that states none, or 0, ms.
const DEFAULT_TIMEOUT_MS: u64 = 5_000;

pub(super) fn methods() -> MethodTable<TransactApi> {
    table()
        .on_list("callBundle", restartable(call_bundle_method))
        .params(&["bundle"])
        .cost(cost::HEAVY)
}

/// The outcome of a bundle. Amounts are texts of decimal digits, in wei.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallBundleReply {
    bundle_gas_price: String,
    bundle_hash: Hash,
    coinbase_diff: String,
    eth_sent_to_coinbase: String,
    gas_fees: String,
    results: Vec<ResultReply>,
    state_block_number: u64,
    total_gas_used: u64,
}

/// The outcome of a transaction.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResultReply {
    coinbase_diff: String,
    eth_sent_to_coinbase: String,
    from_address: Addr,
    gas_fees: String,
    gas_price: String,
    gas_used: u64,
    to_address: Option<Addr>,
    tx_hash: Hash,
    /// What its code returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Data>,
    /// Why its code failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The data of a revert.
    #[serde(skip_serializing_if = "Option::is_none")]
    revert: Option<Data>,
}

fn call_bundle_method(
    transact: &TransactApi,
    (args,): (CallBundleArgs,),
    context: &CallContext,
) -> Result<CallBundleReply, RpcError> {
    if args.txs.is_empty() {
        return Err(RpcError::new("bundle missing txs"));
    }
    let number = args.block_number.filter(|HexOrDecimal(number)| *number > 0);
    let HexOrDecimal(number) = number.ok_or_else(|| RpcError::new("bundle missing blockNumber"))?;
    let signed = args.txs.iter().map(|Data(bytes)| signed_transaction(transact, bytes));
    let transactions = signed.collect::<Result<Vec<_>, _>>()?;
    let place = transact.place_after(args.state_block_number.unwrap_or(LATEST))?;
    let block = overrides(transact, &args, number, &place);
    let timeout = args.timeout.filter(|HexOrDecimal(ms)| *ms > 0);
    let timeout_ms = timeout.map_or(DEFAULT_TIMEOUT_MS, |HexOrDecimal(ms)| ms);
    let outcome = run(transact, &place, &block, &transactions, timeout_ms, context)?;
    Ok(reply(&transactions, place.header.header.number, outcome))
}

/// The block of a bundle. Without a time it is as much later than its parent as blocks are apart.
fn overrides(
    transact: &TransactApi,
    args: &CallBundleArgs,
    number: u64,
    place: &CallBlock,
) -> BlockOverrides {
    let interval_s = transact.chain.rules.block_interval_s();
    let time = args.timestamp.map(|HexOrDecimal(time)| time);
    BlockOverrides {
        number: Some(U256::from(number)),
        time: Some(time.unwrap_or_else(|| place.header.header.time.saturating_add(interval_s))),
        coinbase: args.coinbase.map(|Addr(coinbase)| coinbase),
        gas_limit: args.gas_limit.map(|HexOrDecimal(gas)| gas),
        difficulty: args.difficulty.map(|Big(difficulty)| difficulty),
        base_fee: args.base_fee.map(|Big(wei)| wei),
        blob_base_fee: None,
    }
}

/// Runs the transactions within the limits of calls, and within this time.
fn run(
    transact: &TransactApi,
    place: &CallBlock,
    block: &BlockOverrides,
    transactions: &[Transaction],
    timeout_ms: u64,
    context: &CallContext,
) -> Result<BundleOutcome, RpcError> {
    let deadline_ms = transact.limit_clock.now_ms().saturating_add(timeout_ms);
    transact.at(place, &CallRequest::default(), context, |env, limits| {
        let stop = || {
            let outer = limits.bounds.stop.and_then(|stop| stop());
            let is_late = transact.limit_clock.now_ms() >= deadline_ms;
            outer.or_else(|| is_late.then_some(Stop::TimedOut))
        };
        let timeout = match limits.timeout {
            Duration::ZERO => Duration::from_millis(timeout_ms),
            limit => limit.min(Duration::from_millis(timeout_ms)),
        };
        let bounds = Bounds { stop: Some(&stop), ..limits.bounds };
        let limits = CallLimits { bounds, timeout, ..*limits };
        transact.printing("evm_callBundle", &limits, |limits| {
            call_bundle(env, block, transactions, limits)
        })
    })
}

fn reply(
    transactions: &[Transaction],
    state_block: u64,
    outcome: BundleOutcome,
) -> CallBundleReply {
    let BundleOutcome { coinbase_diff, transactions: outcomes } = outcome;
    let total_gas_used = outcomes.iter().map(|one| one.outcome.gas_used).sum();
    let gas_fees = outcomes.iter().fold(U256::ZERO, |sum, one| sum.saturating_add(one.gas_fees));
    CallBundleReply {
        bundle_gas_price: per_gas(coinbase_diff, total_gas_used),
        bundle_hash: Hash(bundle_hash(transactions)),
        coinbase_diff: coinbase_diff.to_string(),
        eth_sent_to_coinbase: without(coinbase_diff, gas_fees),
        gas_fees: gas_fees.to_string(),
        results: outcomes.into_iter().map(result).collect(),
        state_block_number: state_block,
        total_gas_used,
    }
}

/// Hash of the hashes.
fn bundle_hash(transactions: &[Transaction]) -> B256 {
    keccak256(transactions.iter().flat_map(|tx| tx.tx_hash().0).collect::<Vec<_>>())
}

fn result(one: BundleTxOutcome) -> ResultReply {
    let BundleTxOutcome { hash, from, to, coinbase_diff, gas_fees, outcome } = one;
    let is_ok = outcome.error.is_none();
    ResultReply {
        coinbase_diff: coinbase_diff.to_string(),
        eth_sent_to_coinbase: without(coinbase_diff, gas_fees),
        from_address: Addr(from),
        gas_fees: gas_fees.to_string(),
        gas_price: per_gas(coinbase_diff, outcome.gas_used),
        gas_used: outcome.gas_used,
        to_address: to.map(Addr),
        tx_hash: Hash(hash),
        error: (!is_ok).then(|| outcome.message()),
        revert: outcome.has_reverted().then(|| Data(outcome.output.clone())),
        value: is_ok.then_some(Data(outcome.output)),
    }
}

/// The part of a difference that does not pay for gas.
fn without(coinbase_diff: I256, gas_fees: U256) -> String {
    coinbase_diff.wrapping_sub(I256::from_raw(gas_fees)).to_string()
}

fn per_gas(coinbase_diff: I256, gas: u64) -> String {
    let gas = I256::from_raw(U256::from(gas.max(1)));
    coinbase_diff.checked_div(gas).unwrap_or_default().to_string()
}
