//! Reads the unspent outputs of addresses.

use std::collections::BTreeMap;

use esker_primitives::codec::{Decode as _, MAX_SIZE};
use esker_primitives::ids::ShortId;
use esker_primitives::{address, hexfmt};
use esker_utxo::{Utxo, UtxoId};
use serde_json::{Value, json};

use super::source::{ADDRESSES, XSource, fault, shown};
use crate::wiring::error::StartError;

/// Most outputs that are taken over.
pub(super) const MAX_OUTPUTS: usize = 100_000;
/// Most bytes of all of them.
const MAX_BYTES: usize = 64 << 20;
/// Outputs of a page, as many as AvalancheGo gives at most.
const PAGE: usize = 1024;
/// Most pages of a read: sources give some outputs several times.
const MAX_PAGES: usize = 2 * MAX_OUTPUTS / PAGE + 1024;
/// Most reads until the chain stands still for the time of one.
const MAX_READS: usize = 6;

const METHOD: &str = "avm.getUTXOs";

/// Outputs by their IDs.
pub(super) type Outputs = BTreeMap<UtxoId, Utxo>;

/// Reads all outputs of the addresses as of one moment: the height was the same before and after, or two reads found the same.
/// Returns the height, too.
pub(super) async fn read(
    source: &XSource,
    (hrp, addresses): (&str, &[ShortId]),
) -> Result<(Outputs, u64), StartError> {
    let texts: Vec<String> =
        addresses.iter().map(|short_id| address::format("X", hrp, short_id)).collect();
    let mut last: Option<Outputs> = None;
    for _ in 0..MAX_READS {
        let before = source.height().await?;
        let outputs = read_once(source, &texts, addresses).await?;
        let after = source.height().await?;
        if before == after || last.as_ref() == Some(&outputs) {
            return Ok((outputs, after));
        }
        last = Some(outputs);
    }
    let reason =
        format!("the outputs changed during each of {MAX_READS} reads: try again, or with fewer");
    Err(source.garbage(METHOD, reason))
}

async fn read_once(
    source: &XSource,
    texts: &[String],
    addresses: &[ShortId],
) -> Result<Outputs, StartError> {
    let mut outputs = Outputs::new();
    let mut bytes = 0;
    let mut start = Value::Null;
    for _ in 0..MAX_PAGES {
        let mut params = json!({ "addresses": texts, "limit": PAGE, "encoding": "hex" });
        if !start.is_null() {
            params["startIndex"] = start.clone();
        }
        let mut page = source.call(METHOD, params).await?;
        let given = page["utxos"].as_array().ok_or_else(|| source.garbage(METHOD, shown(&page)))?;
        if given.is_empty() {
            return Ok(outputs);
        }
        for text in given {
            bytes += add(source, text, addresses, &mut outputs)?;
            if outputs.len() > MAX_OUTPUTS || bytes > MAX_BYTES {
                let limits = format!("{MAX_OUTPUTS} outputs or {} MiB of them", MAX_BYTES >> 20);
                return Err(fault(ADDRESSES, format!("more than {limits}: give fewer addresses")));
            }
        }
        let end = page["endIndex"].take();
        // A full page may be followed by another one, and with outputs of several owners AvalancheGo ends pages early.
        if end.is_null() || end == start {
            return Ok(outputs);
        }
        start = end;
    }
    Err(source.garbage(METHOD, format!("more than {MAX_PAGES} pages")))
}

/// Adds an output of a page. Returns its bytes, 0 if it is known.
fn add(
    source: &XSource,
    text: &Value,
    addresses: &[ShortId],
    outputs: &mut Outputs,
) -> Result<usize, StartError> {
    let wrong = |reason: String| source.garbage(METHOD, format!("an output {reason}"));
    let text = text.as_str().ok_or_else(|| wrong("is no text".to_owned()))?;
    let bytes =
        hexfmt::decode_checked(text).map_err(|error| wrong(format!("is damaged: {error}")))?;
    let utxo = Utxo::from_versioned_bytes(&bytes, MAX_SIZE)
        .map_err(|error| wrong(format!("does not decode: {error}")))?;
    let id = utxo.utxo_id;
    let named = |reason: &str| wrong(format!("{}:{} {reason}", id.tx_id, id.output_index));
    if let Err(error) = utxo.output.verify() {
        return Err(named(&format!("is not valid: {error}")));
    }
    let owners = &utxo.output.owners().addresses;
    if !owners.iter().any(|owner| addresses.binary_search(owner).is_ok()) {
        return Err(named("is of none of the addresses"));
    }
    if outputs.get(&id).is_some_and(|known| *known != utxo) {
        return Err(named("is given with two contents"));
    }
    let is_new = outputs.insert(id, utxo).is_none();
    Ok(if is_new { bytes.len() } else { 0 })
}
