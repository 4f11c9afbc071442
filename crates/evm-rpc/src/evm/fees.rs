//! The service `internal-eth`: what gas costs.

use std::borrow::Cow;

use alloy_primitives::U256;
use esker_evm::oracle::{
    FeeHistory, HistoryError, NewestBlock, PriceOption, PriceOptions, fee_history, price_options,
};
use esker_evm_execution::rules::Dialect;
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
use esker_rpc::handler::{blocking, quick};
use esker_rpc::{MethodTable, RpcError, cost};
use schemars::JsonSchema;
use serde::Serialize;

use super::table::table;
use super::transact::TransactApi;
use crate::error::read_error;
use crate::reads::missing;
use crate::wire::{Big, BlockNumber, BlockPlace, HexOrDecimal, Uint64};

pub(super) fn methods() -> MethodTable<TransactApi> {
    table()
        .on_list("gasPrice", quick(gas_price))
        .on_list("baseFee", quick(base_fee))
        .on_list("maxPriorityFeePerGas", quick(max_priority_fee_per_gas))
        .on_list("suggestPriceOptions", quick(suggest_price_options))
        .on_list("feeHistory", blocking(get_fee_history))
        .params(&["blockCount", "newestBlock", "percentiles"])
        .cost(cost::CALL)
        // Blocks are executed when they arrive, so the node never lags behind.
        .on_list("syncing", quick(|_: &TransactApi, ()| Ok(false)))
}

/// On a development network it does for the next block, also where the last ones had a lower base fee that was set.
fn gas_price(transact: &TransactApi, (): ()) -> Result<Big, RpcError> {
    let suggested = transact.suggested()?;
    let price = suggested.gas_price();
    if !transact.reads.chain.has_pending() {
        return Ok(Big(price));
    }
    let needed = transact.highest_next_base_fee().saturating_add(suggested.tip);
    Ok(Big(price.max(needed)))
}

fn base_fee(transact: &TransactApi, (): ()) -> Result<Option<Big>, RpcError> {
    let fees = transact.suggested()?;
    Ok(match transact.reads.dialect() {
        Dialect::Standard => fees.next_base_fee.map(Big),
        Dialect::Reference => fees.base_fee.map(Big),
    })
}

fn max_priority_fee_per_gas(transact: &TransactApi, (): ()) -> Result<Big, RpcError> {
    Ok(Big(transact.suggested()?.tip))
}

/// One offer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OptionReply {
    max_priority_fee_per_gas: Big,
    max_fee_per_gas: Big,
}

impl From<PriceOption> for OptionReply {
    fn from(PriceOption { tip, fee_cap }: PriceOption) -> Self {
        Self { max_priority_fee_per_gas: Big(tip), max_fee_per_gas: Big(fee_cap) }
    }
}

/// Three offers.
#[derive(Serialize, JsonSchema)]
struct OptionsReply {
    slow: OptionReply,
    normal: OptionReply,
    fast: OptionReply,
}

fn suggest_price_options(transact: &TransactApi, (): ()) -> Result<Option<OptionsReply>, RpcError> {
    let fees = transact.suggested()?;
    let Some(base_fee) = fees.next_base_fee else { return Ok(None) };
    let PriceOptions { slow, normal, fast } =
        price_options(base_fee, fees.tip, &transact.config.price_options);
    Ok(Some(OptionsReply { slow: slow.into(), normal: normal.into(), fast: fast.into() }))
}

/// A fee history. Lists without entries are left out.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HistoryReply {
    oldest_block: Uint64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reward: Vec<Vec<Big>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    base_fee_per_gas: Vec<Big>,
    gas_used_ratio: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    base_fee_per_blob_gas: Vec<Big>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blob_gas_used_ratio: Vec<f64>,
}

impl HistoryReply {
    /// The reply. The reference's has nothing of blobs.
    fn new(mut history: FeeHistory, dialect: Dialect) -> Self {
        if !dialect.is_standard() {
            history.blob_base_fees.clear();
            history.blob_gas_used_ratios.clear();
        }
        let big = |values: Vec<U256>| values.into_iter().map(Big).collect();
        let ratios = history.gas_used_ratios;
        Self {
            oldest_block: Uint64(history.oldest),
            reward: history.rewards.into_iter().map(big).collect(),
            base_fee_per_gas: big(history.base_fees),
            gas_used_ratio: (!ratios.is_empty()).then_some(ratios),
            base_fee_per_blob_gas: big(history.blob_base_fees),
            blob_gas_used_ratio: history.blob_gas_used_ratios,
        }
    }
}

/// Percentiles of tips, which may be absent where the chain's dialect says so.
struct Percentiles(Option<Vec<f64>>);

esker_rpc::schema_as!(Percentiles, "Percentiles", Vec<f64>);

impl Argument for Percentiles {
    fn go_type() -> Cow<'static, str> {
        Vec::<f64>::go_type()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        Vec::decode(value).map(Some).map(Self)
    }

    fn absent() -> Option<Self> {
        Some(Self(None))
    }

    fn is_required() -> bool {
        true
    }
}

fn get_fee_history(
    transact: &TransactApi,
    (HexOrDecimal(count), newest, percentiles): (HexOrDecimal, BlockNumber, Percentiles),
) -> Result<HistoryReply, RpcError> {
    let percentiles = match percentiles.0 {
        Some(percentiles) => percentiles,
        None if transact.reads.dialect().is_standard() => Vec::new(),
        None => return Err(missing(2)),
    };
    let newest = match transact.reads.place(newest) {
        BlockPlace::Height(height) => NewestBlock::Height(height),
        BlockPlace::Pending => NewestBlock::Pending,
        BlockPlace::Head => NewestBlock::Latest,
    };
    let (chain, rules) = (&*transact.reads.chain, transact.reads.chain.rules());
    let (limits, now_s) = (&transact.config.history, transact.clock.now_s());
    let history = fee_history(chain, rules, limits, (count, newest), &percentiles, now_s);
    let mut history = history.map_err(|error| match error {
        HistoryError::Source(error) => read_error(error),
        refused => RpcError::new(refused.to_string()),
    })?;
    if count > 0
        && newest == NewestBlock::Pending
        && chain.has_pending()
        && let Some(pending) = transact.reads.header_by_number(BlockNumber::Pending)?
    {
        history.add_pending(rules, &pending.header, percentiles.len(), now_s);
    }
    Ok(HistoryReply::new(history, rules.dialect()))
}
