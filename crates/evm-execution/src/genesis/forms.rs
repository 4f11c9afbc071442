//! Reads values from JSON as Go's Ethereum packages do.

use alloy_primitives::{Address, B256, Bytes, U256};
use esker_go_json::{Document, Kind};

use super::json_error::{HexError, JsonError};

/// The place of a value for error texts: the Go struct and the field.
#[derive(Clone, Copy)]
pub(super) struct FieldPath {
    pub(super) struct_name: &'static str,
    pub(super) field: &'static str,
}

impl FieldPath {
    pub(super) fn mismatch(self, value: impl Into<String>, go_type: &'static str) -> JsonError {
        let Self { struct_name, field } = self;
        JsonError::Mismatch { value: value.into(), struct_name, field, go_type }
    }
}

/// `math.HexOrDecimal64`: hex or decimal, as a string or a number.
pub(super) fn number(value: Document<'_>) -> Result<u64, JsonError> {
    let text = literal(value);
    let parsed = match hex_digits(&text) {
        _ if text.is_empty() => Some(0),
        Some(hex) => digits(hex, 16).and_then(|_| u64::from_str_radix(hex, 16).ok()),
        None => digits(&text, 10).and_then(|_| text.parse().ok()),
    };
    parsed.ok_or(JsonError::Number(text))
}

/// `math.HexOrDecimal256`.
pub(super) fn big_number(value: Document<'_>) -> Result<U256, JsonError> {
    let text = literal(value);
    let parsed = match hex_digits(&text) {
        _ if text.is_empty() => Some(U256::ZERO),
        Some(hex) => digits(hex, 16).and_then(|_| U256::from_str_radix(hex, 16).ok()),
        None => digits(&text, 10).and_then(|_| U256::from_str_radix(&text, 10).ok()),
    };
    parsed.ok_or(JsonError::Number(text))
}

/// `*big.Int` of at most 256 bits: a JSON integer.
pub(super) fn integer(value: Document<'_>, place: FieldPath) -> Result<U256, JsonError> {
    let text = String::from_utf8_lossy(value.as_bytes());
    let parsed = digits(&text, 10).and_then(|_| U256::from_str_radix(&text, 10).ok());
    parsed.ok_or_else(|| match value.kind() {
        Kind::Number => place.mismatch(format!("number {text}"), "*big.Int"),
        kind => place.mismatch(kind_name(kind), "*big.Int"),
    })
}

/// `*uint64`: a JSON integer.
pub(super) fn time(value: Document<'_>, place: FieldPath) -> Result<u64, JsonError> {
    let text = String::from_utf8_lossy(value.as_bytes());
    digits(&text, 10).and_then(|_| text.parse().ok()).ok_or_else(|| match value.kind() {
        Kind::Number => place.mismatch(format!("number {text}"), "uint64"),
        kind => place.mismatch(kind_name(kind), "uint64"),
    })
}

/// `hexutil.Bytes`.
pub(super) fn bytes(value: Document<'_>, place: FieldPath) -> Result<Bytes, JsonError> {
    const TYPE: &str = "hexutil.Bytes";
    let text = value.as_str().ok_or_else(|| place.mismatch("non-string", TYPE))?;
    prefixed(&text).map(Bytes::from).map_err(|error| place.mismatch(error.to_string(), TYPE))
}

/// `common.Hash`.
pub(super) fn hash(value: Document<'_>, place: FieldPath) -> Result<B256, JsonError> {
    fixed(value, place, "common.Hash").map(B256::new)
}

/// `common.Address`.
pub(super) fn address(value: Document<'_>, place: FieldPath) -> Result<Address, JsonError> {
    fixed(value, place, "common.Address").map(Address::new)
}

fn fixed<const N: usize>(
    value: Document<'_>,
    place: FieldPath,
    go_type: &'static str,
) -> Result<[u8; N], JsonError> {
    let text = value.as_str().ok_or_else(|| place.mismatch("non-string", go_type))?;
    let mismatch = |error: HexError| place.mismatch(error.to_string(), go_type);
    let raw = hex_digits(&text).ok_or_else(|| {
        mismatch(if text.is_empty() { HexError::Empty } else { HexError::NoPrefix })
    })?;
    if raw.len() % 2 == 1 {
        return Err(mismatch(HexError::OddLength));
    }
    sized(raw, go_type)?.ok_or_else(|| mismatch(HexError::Invalid))
}

/// A map key of type `common.Hash` or `common.UnprefixedAddress`. The latter may lack the prefix.
pub(super) fn key<const N: usize>(
    text: &str,
    go_type: &'static str,
    prefix: bool,
) -> Result<[u8; N], JsonError> {
    let raw = match (hex_digits(text), prefix) {
        (Some(raw), _) => raw,
        (None, false) => text,
        (None, true) if text.is_empty() => return Err(HexError::Empty.into()),
        (None, true) => return Err(HexError::NoPrefix.into()),
    };
    if raw.len() % 2 == 1 {
        return Err(HexError::OddLength.into());
    }
    sized(raw, go_type)?.ok_or(JsonError::Hex(HexError::Invalid))
}

fn sized<const N: usize>(raw: &str, go_type: &'static str) -> Result<Option<[u8; N]>, JsonError> {
    if raw.len() != N * 2 {
        return Err(JsonError::Length { length: raw.len(), expected: N * 2, go_type });
    }
    let mut out = [0; N];
    Ok(decode(raw).map(|decoded| {
        out.copy_from_slice(&decoded);
        out
    }))
}

/// A storage key or value: at most 64 hex digits, padded on the left.
pub(super) fn storage_word(text: &str) -> Result<B256, JsonError> {
    let raw = text.strip_prefix("0x").unwrap_or(text);
    if raw.len() > 64 {
        return Err(JsonError::LongStorageWord(raw.to_owned()));
    }
    let decoded = decode(raw).ok_or_else(|| JsonError::StorageWord(raw.to_owned()))?;
    Ok(B256::left_padding_from(&decoded))
}

fn prefixed(text: &str) -> Result<Vec<u8>, HexError> {
    if text.is_empty() {
        return Err(HexError::Empty);
    }
    let raw = hex_digits(text).ok_or(HexError::NoPrefix)?;
    if raw.len() % 2 == 1 {
        return Err(HexError::OddLength);
    }
    decode(raw).ok_or(HexError::Invalid)
}

fn decode(raw: &str) -> Option<Vec<u8>> {
    alloy_primitives::hex::decode(raw).ok().filter(|_| !raw.starts_with("0x"))
}

/// A string without its quotes; the text of any other value.
fn literal(value: Document<'_>) -> String {
    match value.as_str() {
        Some(text) => text.into_owned(),
        None => String::from_utf8_lossy(value.as_bytes()).into_owned(),
    }
}

fn hex_digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))
}

/// `Some` if the text consists of digits only: Rust's parsers also accept signs and separators.
fn digits(text: &str, radix: u32) -> Option<()> {
    (!text.is_empty() && text.chars().all(|c| c.is_digit(radix))).then_some(())
}

/// Go's name of a kind of value.
pub(super) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "bool",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    }
}
