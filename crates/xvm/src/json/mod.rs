//! Rendering of transactions, outputs and blocks for the encoding `json` (x-chain.md 5).
//!
//! [`Json`] borrows a value and serialises it member by member, in the reference's order; nothing is copied
//! but the texts of IDs, addresses and bytes. Integers are JSON numbers here, unlike in service replies.

use std::borrow::Cow;

use esker_primitives::ids::ShortId;
use esker_primitives::{address, hexfmt};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::block::Block;

mod operation;
mod output;
mod tx;

/// How addresses are shown: those of a chain, on a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressFormat<'a> {
    /// The chain's primary alias, or its ID's text.
    pub alias: &'a str,
    /// The network's bech32 prefix.
    pub hrp: &'a str,
}

impl<'a> AddressFormat<'a> {
    /// `X-local1..`
    pub fn text(&self, address: &ShortId) -> String {
        address::format(self.alias, self.hrp, address)
    }

    /// `value` to be rendered in this format.
    pub const fn json<T: ?Sized>(self, value: &'a T) -> Json<'a, T> {
        Json::new(value, self)
    }
}

/// A value to be rendered: a [`Tx`](crate::txs::Tx), a [`Block`], an [`Output`](esker_utxo::Output) and what
/// they consist of.
#[derive(Debug)]
pub struct Json<'a, T: ?Sized> {
    value: &'a T,
    format: AddressFormat<'a>,
}

impl<'a, T: ?Sized> Json<'a, T> {
    /// Renders `value`, which has addresses in it, in `format`.
    pub const fn new(value: &'a T, format: AddressFormat<'a>) -> Self {
        Self { value, format }
    }
}

impl<T: Render + ?Sized> Serialize for Json<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.render(self.format, serializer)
    }
}

/// What has addresses in it, and so needs to know their format to be serialised.
pub trait Render {
    /// Serialises the value.
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error>;
}

/// Lists render each element.
impl<T: Render> Render for [T] {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(|element| format.json(element)))
    }
}

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

/// Bytes as `0x..`, without checksum.
struct Hex<'a>(&'a [u8]);

impl Serialize for Hex<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hexfmt::encode_plain(self.0))
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
