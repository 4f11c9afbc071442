//! Numbers in either notation.

use std::borrow::Cow;

use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
use esker_primitives::go;

use super::number_forms::small_number_of_any_form;

/// Go's `math.HexOrDecimal64`: with quotes or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HexOrDecimal(pub u64);

impl HexOrDecimal {
    fn parse(text: &[u8]) -> Option<u64> {
        let (digits, radix) = match text {
            [] => return Some(0),
            [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
            digits => (digits, 10),
        };
        // Rust would take a sign.
        let digits = str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
        u64::from_str_radix(digits, radix).ok()
    }
}

esker_rpc::schema!(HexOrDecimal, "HexOrDecimal", {
    "title": "number",
    "description": "A number, or a text of decimal digits or of `0x` and hex digits.",
    "anyOf": [
        { "type": "integer", "minimum": 0 },
        { "type": "string", "pattern": "^([0-9]+|0x[0-9a-fA-F]+)$" },
    ],
});

impl Argument for HexOrDecimal {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("math.HexOrDecimal64")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if let Some(number) = small_number_of_any_form(value) {
            return Ok(Self(number));
        }
        let bytes = value.as_bytes();
        let quoted = bytes.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
        let text = quoted.unwrap_or(bytes);
        Self::parse(text).map(Self).ok_or_else(|| {
            ArgumentError::text(format!("invalid hex or decimal integer {}", go::quote_bytes(text)))
        })
    }
}
