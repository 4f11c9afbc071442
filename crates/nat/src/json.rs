//! Atomic transactions as JSON, with the addresses of the chains that a node has.

use esker_chain::ChainContext;
use esker_transactions::nat::AtomicTx;
use esker_utxo::json::AddressFormat;
use serde_json::value::RawValue;

/// A transaction as JSON. Owners on the asset chains are shown as addresses of the chain that the transaction
/// exchanges assets with, accounts in lower case.
pub fn tx_json(tx: &AtomicTx, context: &ChainContext) -> Box<RawValue> {
    let peer = tx.unsigned().peer_chain();
    let alias = context.aliases.primary_alias(&peer).unwrap_or_else(|| peer.to_string());
    let format = AddressFormat { alias: &alias, hrp: &context.hrp };
    serde_json::value::to_raw_value(&format.json(tx.signed()))
        .expect("texts and numbers can be written")
}
