//! Reads the transactions that create assets.

use std::collections::{BTreeMap, BTreeSet};

use esker_fork::source::Call;
use esker_primitives::{AssetId, hexfmt};
use esker_transactions::xvm::{Tx, UnsignedTx};
use esker_utxo::Utxo;
use serde_json::{Value, json};

use super::source::{ADDRESSES, XSource, fault, shown};
use crate::wiring::error::StartError;

/// Most assets that are taken over.
pub(super) const MAX_ASSETS: usize = 1000;
/// Most bytes of their transactions.
const MAX_BYTES: usize = 64 << 20;
/// Transactions that are asked for at a time.
const TOGETHER: usize = 16;

const METHOD: &str = "avm.getTx";

/// Reads the assets of outputs but for those that this network has already. Each is checked by its ID, the hash of the transaction.
pub(super) async fn read<'a>(
    source: &XSource,
    outputs: impl Iterator<Item = &'a Utxo> + Clone,
    own: &AssetId,
) -> Result<Vec<Tx>, StartError> {
    let wanted: BTreeSet<AssetId> =
        outputs.clone().map(|utxo| utxo.asset_id).filter(|asset| asset != own).collect();
    if wanted.len() > MAX_ASSETS {
        let reason = format!("the addresses have more than {MAX_ASSETS} assets: give fewer");
        return Err(fault(ADDRESSES, reason));
    }
    let wanted: Vec<AssetId> = wanted.into_iter().collect();
    let mut assets = BTreeMap::new();
    let mut bytes = 0;
    for together in wanted.chunks(TOGETHER) {
        let call = |asset: &AssetId| {
            Call::new(METHOD, json!({ "txID": asset.to_string(), "encoding": "hex" }))
        };
        let calls: Vec<Call> = together.iter().map(call).collect();
        for (asset, answer) in together.iter().zip(source.calls(&calls).await?) {
            let tx = asset_of(source, asset, &answer)?;
            bytes += tx.bytes().len();
            assets.insert(*asset, tx);
        }
        if bytes > MAX_BYTES {
            let reason = format!("the assets have more than {} MiB: give fewer", MAX_BYTES >> 20);
            return Err(fault(ADDRESSES, reason));
        }
    }
    for utxo in outputs.filter(|utxo| utxo.asset_id != *own) {
        check_kind(source, utxo, assets.get(&utxo.asset_id))?;
    }
    Ok(assets.into_values().collect())
}

fn asset_of(source: &XSource, asset: &AssetId, answer: &Value) -> Result<Tx, StartError> {
    let wrong = |reason: String| source.garbage(METHOD, format!("asset {asset}: {reason}"));
    let text = answer["tx"].as_str().ok_or_else(|| wrong(shown(answer)))?;
    let bytes = hexfmt::decode_checked(text).map_err(|error| wrong(error.to_string()))?;
    let tx = Tx::parse_stored(&bytes).map_err(|error| wrong(error.to_string()))?;
    if tx.id() != *asset {
        return Err(wrong(format!("the answer is another transaction, {}", tx.id())));
    }
    match tx.unsigned() {
        UnsignedTx::CreateAsset(_) => Ok(tx),
        UnsignedTx::Base(_)
        | UnsignedTx::Operation(_)
        | UnsignedTx::Import(_)
        | UnsignedTx::Export(_) => Err(wrong("the transaction creates no asset".to_owned())),
    }
}

/// Checks that the asset can have such an output.
fn check_kind(source: &XSource, utxo: &Utxo, asset: Option<&Tx>) -> Result<(), StartError> {
    let fx = utxo.output.fx().index();
    let has_kind = asset.is_some_and(|tx| match tx.unsigned() {
        UnsignedTx::CreateAsset(asset) => asset.states.iter().any(|state| state.fx_index == fx),
        UnsignedTx::Base(_)
        | UnsignedTx::Operation(_)
        | UnsignedTx::Import(_)
        | UnsignedTx::Export(_) => false,
    });
    if has_kind {
        return Ok(());
    }
    let (id, asset) = (utxo.utxo_id, utxo.asset_id);
    let reason = format!("output {}:{} is not one of asset {asset}", id.tx_id, id.output_index);
    Err(source.garbage("avm.getUTXOs", reason))
}
