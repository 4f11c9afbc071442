//! Rendering of outputs, inputs, operations and credentials for the encoding `json`
//! (docs/protocol/x-chain-transactions.md, "JSON form").
//!
//! [`Json`] borrows a value and serialises it member by member, in the reference's order; nothing is copied
//! but the texts of IDs, addresses and bytes. Integers are JSON numbers here, unlike in service replies.

use esker_primitives::ids::ShortId;
use esker_primitives::{address, hexfmt};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::signed::{SignedTx, Unsigned};

mod operation;
mod output;
pub mod schema;

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

/// A value to be rendered: an [`Output`](crate::Output), an input, a credential, or a chain's own that consists of them.
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

/// A type with addresses in it. It needs their format to be serialised.
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

impl<U: Unsigned<Slot: Render> + Render> Render for SignedTx<U> {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(3))?;
        map.serialize_entry("unsignedTx", &format.json(self.unsigned()))?;
        map.serialize_entry("credentials", &format.json(self.credentials()))?;
        map.serialize_entry("id", &self.id())?;
        map.end()
    }
}

/// Bytes as `0x..`, without checksum.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl Serialize for Hex<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hexfmt::encode_plain(self.0))
    }
}
