//! Numbers in the forms of anvil and Hardhat.

use std::borrow::Cow;

use alloy_primitives::U256;
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
use esker_rpc::RpcError;

use crate::wire::number_of_text;

/// A number of at most 256 bits: an integer, or a text of decimal digits or of `0x` and hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number(pub(super) U256);

esker_rpc::schema!(Number, "Number", {
    "title": "number",
    "description": "A number, or a text of decimal digits or of `0x` and hex digits.",
    "anyOf": [
        { "type": "integer", "minimum": 0 },
        { "type": "string", "pattern": "^([0-9]+|0x[0-9a-fA-F]+)$" },
    ],
});

impl Number {
    pub(super) fn parse(text: &[u8]) -> Option<U256> {
        number_of_text(text)
    }

    /// The number, if it has at most 64 bits.
    pub(super) fn to_u64(self, name: &str) -> Result<u64, RpcError> {
        let Self(number) = self;
        u64::try_from(number)
            .map_err(|_| RpcError::new(format!("{name} {number} has more than 64 bits")))
    }
}

impl Argument for Number {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("number")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let bytes = value.as_bytes();
        let quoted = bytes.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
        Self::parse(quoted.unwrap_or(bytes)).map(Self).ok_or_else(|| {
            ArgumentError::text(
                "expected a number of at most 256 bits: an integer, decimal digits, or 0x and hex digits".to_owned(),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_numbers() {
        let max = format!("0x{}", "f".repeat(64));
        for (text, number) in [
            ("0", Some(0)),
            ("12", Some(12)),
            ("0x0c", Some(12)),
            ("0X1", Some(1)),
            ("", None),
            ("0x", None),
            ("-1", None),
            ("+1", None),
            ("1.0", None),
            ("1e3", None),
            ("0x1_0", None),
            ("a", None),
            ("null", None),
        ] {
            assert_eq!(Number::parse(text.as_bytes()), number.map(U256::from), "{text}");
        }
        assert_eq!(Number::parse(max.as_bytes()), Some(U256::MAX));
        assert_eq!(Number::parse(format!("{max}0").as_bytes()), None);
    }
}
