//! getAssetDescription, getTxFee.

use esker_primitives::AssetId;
use esker_rpc::NoArgs;
use esker_rpc::wire::{JsonU8, JsonU64};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reply, ServiceError, lookup_asset};
use crate::chain::Xvm;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct AssetArgs {
    #[serde(rename = "assetID")]
    asset_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AssetReply {
    #[serde(rename = "assetID")]
    asset_id: AssetId,
    name: String,
    symbol: String,
    denomination: JsonU8,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TxFeeReply {
    tx_fee: JsonU64,
    create_asset_tx_fee: JsonU64,
}

/// Name, symbol and decimal places of an asset.
pub(super) fn get_asset_description(vm: &Xvm, args: AssetArgs) -> Reply<AssetReply> {
    let asset_id = lookup_asset(vm, &args.asset_id)?;
    let view = vm.view()?;
    let Some(asset) = view.asset(&asset_id)? else {
        let exists = view.state().has_tx(&asset_id)?;
        return Err(if exists { ServiceError::NotAnAsset } else { ServiceError::NotFound });
    };
    let (name, symbol) = (asset.name, asset.symbol);
    Ok(AssetReply { asset_id, name, symbol, denomination: JsonU8(asset.denomination) })
}

/// Fees in nano-units of the asset that pays them.
pub(super) fn get_tx_fee(vm: &Xvm, _: NoArgs) -> Reply<TxFeeReply> {
    let params = vm.params();
    let (tx_fee, create_asset_tx_fee) =
        (JsonU64(params.tx_fee), JsonU64(params.create_asset_tx_fee));
    Ok(TxFeeReply { tx_fee, create_asset_tx_fee })
}
