//! getBalance, getAllBalances.

use esker_primitives::TxId;
use esker_rpc::CallContext;
use esker_rpc::wire::JsonU64;
use esker_utxo::UtxoId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reply, lookup_asset, now_s, parse_balance_address};
use crate::chain::Xvm;

/// UTXOs of an address that are added up among short work, at most.
const MAX_BRIEF: usize = 512;

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BalanceArgs {
    address: String,
    #[serde(rename = "assetID")]
    asset_id: String,
    include_partial: bool,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct BalanceReply {
    balance: JsonU64,
    #[serde(rename = "utxoIDs")]
    utxo_ids: Vec<UtxoRef>,
}

/// Names a UTXO by the transaction that produced it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UtxoRef {
    #[serde(rename = "txID")]
    tx_id: TxId,
    #[serde(rename = "outputIndex")]
    output_index: u32,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AllBalancesArgs {
    address: String,
    include_partial: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AllBalancesReply {
    balances: Vec<AssetBalance>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AssetBalance {
    asset: String,
    balance: JsonU64,
}

/// Units of one asset that an address holds, and the outputs that hold them.
pub(super) fn get_balance(
    vm: &Xvm,
    args: BalanceArgs,
    context: &CallContext,
) -> Reply<BalanceReply> {
    let address = parse_balance_address(vm, &args.address)?;
    let asset = lookup_asset(vm, &args.asset_id)?;
    let view = vm.view()?;
    if context.is_brief() && view.has_more_utxos(&address, MAX_BRIEF)? {
        context.leave_short_lane();
        return Ok(BalanceReply::default());
    }
    let balance = view.balance(&address, &asset, args.include_partial, now_s(vm))?;
    let utxo_ids = balance.utxo_ids.into_iter().map(UtxoRef::from).collect();
    Ok(BalanceReply { balance: JsonU64(balance.amount), utxo_ids })
}

/// Units of every asset that an address holds; assets with an alias are shown by it.
pub(super) fn get_all_balances(vm: &Xvm, args: AllBalancesArgs) -> Reply<AllBalancesReply> {
    let address = parse_balance_address(vm, &args.address)?;
    let sums = vm.view()?.all_balances(&address, args.include_partial, now_s(vm))?;
    let balances = sums.into_iter().map(|(id, amount)| AssetBalance {
        asset: vm.assets().alias(&id).map_or_else(|| id.to_string(), str::to_owned),
        balance: JsonU64(amount),
    });
    Ok(AllBalancesReply { balances: balances.collect() })
}

impl From<UtxoId> for UtxoRef {
    fn from(id: UtxoId) -> Self {
        Self { tx_id: id.tx_id, output_index: id.output_index }
    }
}
