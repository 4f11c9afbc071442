//! Integers that travel as decimal strings.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use esker_go_json::{RawText, deserialize_raw};

/// Defines an integer of services: written as a decimal string, read as a JSON integer, a decimal
/// string or a `0x` hex string; `null` is zero.
macro_rules! json_integer {
    ($(#[$doc:meta])* $name:ident, $schema_name:literal, $of:ty, $wanted:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $of);

        impl RawText for $name {
            const WANTED: &'static str = $wanted;

            fn from_raw_text(text: &str) -> Option<Self> {
                <$of>::try_from(parse(text)?.exact()?).ok().map(Self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserialize_raw(deserializer)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed($schema_name)
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                number_schema(generator, $wanted, <$of>::MAX.into())
            }
        }

        impl From<$of> for $name {
            fn from(value: $of) -> Self {
                Self(value)
            }
        }

        impl From<$name> for $of {
            fn from(value: $name) -> Self {
                value.0
            }
        }
    };
}

json_integer! {
    /// A `u64` of the service layer.
    ///
    /// ```
    /// use esker_rpc::{wire::JsonU64};
    /// for text in ["12", "\"12\"", "\"0xc\""] {
    ///     assert_eq!(esker_go_json::decode::<JsonU64>(text.as_bytes()).unwrap(), JsonU64(12));
    /// }
    /// assert_eq!(esker_go_json::to_go_vec(&JsonU64(12)).unwrap(), b"\"12\"");
    /// ```
    JsonU64, "Uint64", u64, "an unsigned 64-bit integer"
}
json_integer! {
    /// A `u32` of the service layer, in the forms of [`JsonU64`].
    JsonU32, "Uint32", u32, "an unsigned 32-bit integer"
}
json_integer! {
    /// A `u8` of the service layer, in the forms of [`JsonU64`].
    JsonU8, "Uint8", u8, "an unsigned 8-bit integer"
}

/// A page size: an integer in the forms of [`JsonU64`] that is lowered, not refused, when it is
/// larger than what is allowed, however large. Absent, `null` and 0 ask for the largest page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CappedLimit(u64);

impl CappedLimit {
    /// A limit as a client would give it.
    #[must_use]
    pub const fn new(limit: u64) -> Self {
        Self(limit)
    }

    /// The page size to use: what was asked for, or `most` where that is 0 or more than `most`.
    #[must_use]
    pub fn at_most(self, most: usize) -> usize {
        match usize::try_from(self.0) {
            Ok(0) | Err(_) => most,
            Ok(asked) => asked.min(most),
        }
    }
}

impl RawText for CappedLimit {
    const WANTED: &'static str = "an unsigned integer";

    fn from_raw_text(text: &str) -> Option<Self> {
        parse(text).map(|number| Self(number.exact().unwrap_or(u64::MAX)))
    }
}

impl<'de> Deserialize<'de> for CappedLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_raw(deserializer)
    }
}

impl Serialize for CappedLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl JsonSchema for CappedLimit {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Limit")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = number_schema(
            generator,
            "a page size, where 0 or more than is allowed means the largest page",
            u64::MAX,
        );
        schema.insert("title".to_owned(), "number or text".into());
        schema
    }
}

/// A number of services as it is read, or as it is written.
fn number_schema(generator: &SchemaGenerator, description: &str, most: u64) -> Schema {
    if generator.contract().is_serialize() {
        return json_schema!({
            "title": "number as text",
            "description": format!("Decimal digits: {description}."),
            "type": "string",
            "pattern": "^[0-9]+$",
        });
    }
    json_schema!({
        "title": "number or text",
        "description": format!("A number, or a text of decimal digits or of `0x` and hex digits: {description}."),
        "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": most },
            { "type": "string", "pattern": "^([0-9]+|0x[0-9a-fA-F]+)$" },
        ],
    })
}

enum Number {
    Exact(u64),
    TooLarge,
}

impl Number {
    fn exact(self) -> Option<u64> {
        match self {
            Self::Exact(value) => Some(value),
            Self::TooLarge => None,
        }
    }
}

/// Reads digits only: no sign, point, exponent, space or separator, in quotes or without; `0x` and
/// hex digits only in quotes, as JSON has no such literal.
fn parse(text: &str) -> Option<Number> {
    if text == "null" {
        return Some(Number::Exact(0));
    }
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let (digits, radix) = match quoted.and_then(|inner| inner.strip_prefix("0x")) {
        Some(digits) => (digits, 16),
        None => (quoted.unwrap_or(text), 10),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    // The digits are fine, so what can go wrong is their number.
    Some(u64::from_str_radix(digits, radix).map_or(Number::TooLarge, Number::Exact))
}
