//! getAddressTxs.

use esker_primitives::TxId;
use esker_rpc::wire::JsonU64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reply, ServiceError, parse_address};
use crate::chain::Xvm;
use crate::state::MAX_ADDRESS_TXS_PAGE;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AddressTxsArgs {
    address: String,
    cursor: JsonU64,
    #[serde(rename = "assetID")]
    asset_id: String,
    page_size: JsonU64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AddressTxsReply {
    #[serde(rename = "txIDs")]
    tx_ids: Vec<TxId>,
    cursor: JsonU64,
    /// Of a node that joined from a snapshot: height of its first block. The list has no transactions before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    history_start: Option<JsonU64>,
}

/// Transactions that changed an address' holdings of an asset, in the order of acceptance.
pub(super) fn get_address_txs(vm: &Xvm, args: AddressTxsArgs) -> Reply<AddressTxsReply> {
    let limit = page_size(args.page_size.0)?;
    let address = parse_address(vm, &args.address).map_err(ServiceError::AddressArgument)?;
    let asset = vm
        .assets()
        .lookup(&args.asset_id)
        .ok_or_else(|| ServiceError::InvalidAsset(args.asset_id.clone()))?;
    let tx_ids = vm.view()?.address_txs(&address, &asset, args.cursor.0, limit)?;
    let found = u64::try_from(tx_ids.len()).unwrap_or(u64::MAX);
    let cursor = JsonU64(args.cursor.0.saturating_add(found));
    let history_start = Some(JsonU64(vm.first_block())).filter(|first| first.0 > 0);
    Ok(AddressTxsReply { tx_ids, cursor, history_start })
}

/// 0 asks for the largest page; a larger one is refused.
fn page_size(asked: u64) -> Reply<usize> {
    match usize::try_from(asked) {
        Ok(0) => Ok(MAX_ADDRESS_TXS_PAGE),
        Ok(size) if size <= MAX_ADDRESS_TXS_PAGE => Ok(size),
        Ok(_) | Err(_) => Err(ServiceError::PageSize(MAX_ADDRESS_TXS_PAGE)),
    }
}
