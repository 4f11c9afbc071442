//! Values as Go's Ethereum packages read them from JSON, with their texts.

use alloy_primitives::{Address, B256, Bytes, U256};
use esker_go_json::{Document, Kind};
use esker_primitives::go::quote;

/// Where a value stands, for the texts: the Go struct and the field.
#[derive(Clone, Copy)]
pub(super) struct FieldPath {
    pub(super) struct_name: &'static str,
    pub(super) field: &'static str,
}

impl FieldPath {
    pub(super) fn mismatch(self, value: &str, go_type: &str) -> String {
        let Self { struct_name, field } = self;
        format!(
            "json: cannot unmarshal {value} into Go struct field {struct_name}.{field} of type {go_type}"
        )
    }
}

/// `math.HexOrDecimal64`: hex or decimal, as a string or a number.
pub(super) fn number(value: Document<'_>) -> Result<u64, String> {
    let text = literal(value);
    let parsed = match hex_digits(&text) {
        _ if text.is_empty() => Some(0),
        Some(hex) => digits(hex, 16).and_then(|_| u64::from_str_radix(hex, 16).ok()),
        None => digits(&text, 10).and_then(|_| text.parse().ok()),
    };
    parsed.ok_or_else(|| not_a_number(&text))
}

/// `math.HexOrDecimal256`.
pub(super) fn big_number(value: Document<'_>) -> Result<U256, String> {
    let text = literal(value);
    let parsed = match hex_digits(&text) {
        _ if text.is_empty() => Some(U256::ZERO),
        Some(hex) => digits(hex, 16).and_then(|_| U256::from_str_radix(hex, 16).ok()),
        None => digits(&text, 10).and_then(|_| U256::from_str_radix(&text, 10).ok()),
    };
    parsed.ok_or_else(|| not_a_number(&text))
}

/// `*big.Int`, as far as 256 bits: a JSON integer.
pub(super) fn integer(value: Document<'_>, place: FieldPath) -> Result<U256, String> {
    let text = String::from_utf8_lossy(value.as_bytes());
    let parsed = digits(&text, 10).and_then(|_| U256::from_str_radix(&text, 10).ok());
    parsed.ok_or_else(|| match value.kind() {
        Kind::Number => place.mismatch(&format!("number {text}"), "*big.Int"),
        kind => place.mismatch(kind_name(kind), "*big.Int"),
    })
}

/// `*uint64`: a JSON integer.
pub(super) fn time(value: Document<'_>, place: FieldPath) -> Result<u64, String> {
    let text = String::from_utf8_lossy(value.as_bytes());
    digits(&text, 10).and_then(|_| text.parse().ok()).ok_or_else(|| match value.kind() {
        Kind::Number => place.mismatch(&format!("number {text}"), "uint64"),
        kind => place.mismatch(kind_name(kind), "uint64"),
    })
}

/// `hexutil.Bytes`.
pub(super) fn bytes(value: Document<'_>, place: FieldPath) -> Result<Bytes, String> {
    const TYPE: &str = "hexutil.Bytes";
    let text = value.as_str().ok_or_else(|| place.mismatch("non-string", TYPE))?;
    prefixed(&text).map(Bytes::from).map_err(|fault| place.mismatch(fault, TYPE))
}

/// `common.Hash`.
pub(super) fn hash(value: Document<'_>, place: FieldPath) -> Result<B256, String> {
    fixed(value, place, "common.Hash").map(B256::new)
}

/// `common.Address`.
pub(super) fn address(value: Document<'_>, place: FieldPath) -> Result<Address, String> {
    fixed(value, place, "common.Address").map(Address::new)
}

fn fixed<const N: usize>(
    value: Document<'_>,
    place: FieldPath,
    go_type: &str,
) -> Result<[u8; N], String> {
    let text = value.as_str().ok_or_else(|| place.mismatch("non-string", go_type))?;
    let raw = hex_digits(&text).ok_or_else(|| {
        place.mismatch(
            if text.is_empty() { "empty hex string" } else { "hex string without 0x prefix" },
            go_type,
        )
    })?;
    if raw.len() % 2 == 1 {
        return Err(place.mismatch("hex string of odd length", go_type));
    }
    sized(raw, go_type)?.ok_or_else(|| place.mismatch("invalid hex string", go_type))
}

/// A map key of type `common.Hash` or `common.UnprefixedAddress`: with or without 0x for the latter.
pub(super) fn key<const N: usize>(
    text: &str,
    go_type: &str,
    prefix: bool,
) -> Result<[u8; N], String> {
    let raw = match (hex_digits(text), prefix) {
        (Some(raw), _) => raw,
        (None, false) => text,
        (None, true) if text.is_empty() => return Err("empty hex string".into()),
        (None, true) => return Err("hex string without 0x prefix".into()),
    };
    if raw.len() % 2 == 1 {
        return Err("hex string of odd length".into());
    }
    sized(raw, go_type)?.ok_or_else(|| "invalid hex string".into())
}

fn sized<const N: usize>(raw: &str, go_type: &str) -> Result<Option<[u8; N]>, String> {
    if raw.len() != N * 2 {
        let (length, want) = (raw.len(), N * 2);
        return Err(format!("hex string has length {length}, want {want} for {go_type}"));
    }
    let mut out = [0; N];
    Ok(decode(raw).map(|decoded| {
        out.copy_from_slice(&decoded);
        out
    }))
}

/// A storage key or value: at most 64 hex digits, padded on the left.
pub(super) fn storage_word(text: &str) -> Result<B256, String> {
    let raw = text.strip_prefix("0x").unwrap_or(text);
    if raw.len() > 64 {
        return Err(format!("too many hex characters in storage key/value {}", quote(raw)));
    }
    let decoded =
        decode(raw).ok_or_else(|| format!("invalid hex storage key/value {}", quote(raw)))?;
    Ok(B256::left_padding_from(&decoded))
}

fn prefixed(text: &str) -> Result<Vec<u8>, &'static str> {
    if text.is_empty() {
        return Err("empty hex string");
    }
    let raw = hex_digits(text).ok_or("hex string without 0x prefix")?;
    if raw.len() % 2 == 1 {
        return Err("hex string of odd length");
    }
    decode(raw).ok_or("invalid hex string")
}

fn decode(raw: &str) -> Option<Vec<u8>> {
    alloy_primitives::hex::decode(raw).ok().filter(|_| !raw.starts_with("0x"))
}

/// A string without its quotes, anything else as it is written.
fn literal(value: Document<'_>) -> String {
    match value.as_str() {
        Some(text) => text.into_owned(),
        None => String::from_utf8_lossy(value.as_bytes()).into_owned(),
    }
}

fn hex_digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))
}

/// Some, if there are digits and nothing else: Rust's parsers take signs, and separators.
fn digits(text: &str, radix: u32) -> Option<()> {
    (!text.is_empty() && text.chars().all(|c| c.is_digit(radix))).then_some(())
}

fn not_a_number(text: &str) -> String {
    format!("invalid hex or decimal integer {}", quote(text))
}

/// What Go calls a kind of value.
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
