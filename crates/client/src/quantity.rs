//! Numbers and bytes as the C-Chain's JSON has them.

use alloy_primitives::{U256, hex};
use serde_json::Value;

use crate::rpc::CallError;

fn unexpected(what: &str, value: &Value) -> CallError {
    CallError::Unexpected(format!("expected {what}: {value}"))
}

/// A number, `0x` and hex digits without leading zeros.
pub(crate) fn encode(number: impl Into<U256>) -> String {
    format!("{:#x}", number.into())
}

/// Bytes, `0x` and two digits each.
pub(crate) fn encode_bytes(bytes: &[u8]) -> String {
    hex::encode_prefixed(bytes)
}

/// A number of up to 256 bits.
pub(crate) fn parse(value: &Value) -> Result<U256, CallError> {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x"));
    digits
        .and_then(|digits| U256::from_str_radix(digits, 16).ok())
        .ok_or_else(|| unexpected("a quantity", value))
}

/// A number of up to 64 bits.
pub(crate) fn parse_u64(value: &Value) -> Result<u64, CallError> {
    parse(value)?.try_into().map_err(|_| unexpected("a quantity of 64 bits", value))
}

/// Bytes.
pub(crate) fn parse_bytes(value: &Value) -> Result<Vec<u8>, CallError> {
    let bytes = value.as_str().and_then(|text| hex::decode(text).ok());
    bytes.ok_or_else(|| unexpected("bytes", value))
}

/// An address, a hash or a word.
pub(crate) fn parse_fixed<T: std::str::FromStr>(value: &Value) -> Result<T, CallError> {
    let fixed = value.as_str().and_then(|text| text.parse().ok());
    fixed.ok_or_else(|| unexpected("bytes of a fixed length", value))
}

/// Like [`parse_fixed`]; none of null.
pub(crate) fn parse_optional<T: std::str::FromStr>(value: &Value) -> Result<Option<T>, CallError> {
    if value.is_null() { Ok(None) } else { parse_fixed(value).map(Some) }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, address};
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers() {
        for (number, text) in [(0, "0x0"), (16, "0x10"), (u64::MAX, "0xffffffffffffffff")] {
            assert_eq!(encode(U256::from(number)), text);
            assert_eq!(parse_u64(&json!(text)).unwrap(), number);
        }
        for bad in [json!(1), json!("1"), json!("0xg"), json!(null), json!("0x10000000000000000")] {
            assert!(parse_u64(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bytes() {
        assert_eq!(encode_bytes(&[1, 0xff]), "0x01ff");
        assert_eq!(parse_bytes(&json!("0x01ff")).unwrap(), [1, 0xff]);
        assert!(parse_bytes(&json!("0x1")).is_err());
        let text = json!("0x00000000000000000000000000000000000000a1");
        let expected = address!("0x00000000000000000000000000000000000000a1");
        assert_eq!(parse_fixed::<Address>(&text).unwrap(), expected);
        assert_eq!(parse_optional::<Address>(&json!(null)).unwrap(), None);
        assert!(parse_fixed::<Address>(&json!("0x1")).is_err());
    }
}
