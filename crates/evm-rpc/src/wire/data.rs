//! Bytes: hex with two digits each.

use std::borrow::Cow;

use alloy_primitives::{Address, B256, Bytes, hex};
use esker_go_json::args::{Argument, ArgumentError};
use esker_go_json::{Document, Kind};
use esker_primitives::Id;
use esker_rpc::text_schema;
use serde::{Serialize, Serializer};

use super::hexutil::{self, FixedBytesError};

/// Go's `hexutil.Bytes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data(pub Bytes);

/// Go's `common.Hash`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hash(pub B256);

/// Go's `common.Address`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Addr(pub Address);

/// Bytes that are only written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HexRef<'a>(pub &'a [u8]);

/// An asset's ID in cb58; `null` is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssetId(pub Id);

/// The bytes between the quotes of a JSON string, escapes as they are; `None` for other values.
pub(super) fn between_quotes(value: Document<'_>) -> Option<&[u8]> {
    value.as_bytes().strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// Decodes data of a fixed length as the Go type of this name.
fn fixed<const N: usize>(
    value: Document<'_>,
    name: &'static str,
) -> Result<[u8; N], ArgumentError> {
    let text = between_quotes(value).ok_or_else(|| ArgumentError::refused("non-string", name))?;
    fixed_text(text, name)
}

/// Decodes what stands between the quotes of data of a fixed length.
pub(in crate::wire) fn fixed_text<const N: usize>(
    text: &[u8],
    name: &'static str,
) -> Result<[u8; N], ArgumentError> {
    hexutil::fixed(text, name).map_err(|fault| match fault {
        FixedBytesError::Hex(fault) => ArgumentError::refused(fault.as_str(), name),
        length @ FixedBytesError::Length { .. } => ArgumentError::text(length.to_string()),
    })
}

text_schema!(Data, "Data", "data", "^0x([0-9a-fA-F]{2})*$", "Bytes in hex.");
text_schema!(HexRef<'_>, "Data", "data", "^0x([0-9a-fA-F]{2})*$", "Bytes in hex.");
text_schema!(Hash, "Hash", "hash", "^0x[0-9a-fA-F]{64}$", "32 bytes in hex.");
text_schema!(Addr, "Address", "address", "^0x[0-9a-fA-F]{40}$", "20 bytes in hex.");
text_schema!(AssetId, "AssetId", "asset ID", "^[1-9A-HJ-NP-Za-km-z]+$", "ID of an asset in cb58.");

impl Argument for Data {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("hexutil.Bytes")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let text = between_quotes(value)
            .ok_or_else(|| ArgumentError::refused("non-string", Self::go_type()))?;
        let bytes = hexutil::bytes(text);
        bytes
            .map(|bytes| Self(bytes.into()))
            .map_err(|fault| ArgumentError::refused(fault.as_str(), Self::go_type()))
    }
}

impl Argument for Hash {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("common.Hash")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        fixed(value, "common.Hash").map(|bytes| Self(bytes.into()))
    }
}

impl Argument for Addr {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("common.Address")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        fixed(value, "common.Address").map(|bytes| Self(bytes.into()))
    }
}

impl Argument for AssetId {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("ids.ID")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if value.kind() == Kind::Null {
            return Ok(Self::default());
        }
        let quotes = || ArgumentError::text("first and last characters should be quotes");
        let text = String::from_utf8_lossy(between_quotes(value).ok_or_else(quotes)?);
        let id = text.parse();
        id.map(Self)
            .map_err(|error| ArgumentError::text(format!("couldn't decode ID to bytes: {error}")))
    }
}

impl Serialize for HexRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Nearly everything is a hash or an address.
        match self.0.try_into() {
            Ok(hash) => serializer.serialize_str(hex::Buffer::<32, true>::new().format(hash)),
            Err(_) => serializer.serialize_str(&hex::encode_prefixed(self.0)),
        }
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        HexRef(self.0.as_slice()).serialize(serializer)
    }
}

impl Serialize for Addr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex::Buffer::<20, true>::new().format(&self.0))
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        HexRef(&self.0).serialize(serializer)
    }
}
