//! Rendering of transactions and blocks for the encoding `json` (docs/protocol/x-chain-transactions.md, "JSON form"),
//! over that of what they consist of ([`esker_utxo::json`]).

use std::borrow::Cow;

use esker_utxo::json::{AddressFormat, Render};
use serde::Serializer;
use serde::ser::SerializeMap;

use super::Block;

pub mod schema;
mod tx;

impl Render for Block {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(6))?;
        map.serialize_entry("parentID", &self.parent_id())?;
        map.serialize_entry("height", &self.height())?;
        map.serialize_entry("time", &self.time_s())?;
        map.serialize_entry("merkleRoot", &self.merkle_root())?;
        map.serialize_entry("txs", &format.json(self.txs()))?;
        map.serialize_entry("id", &self.id())?;
        map.end()
    }
}

/// Text of bytes as Go's JSON shows a string that is not UTF-8: U+FFFD for each byte that fits nowhere.
pub fn go_text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(text)
}
