//! Numbers: hex without leading zeros.

use std::borrow::Cow;

use alloy_primitives::U256;
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
use esker_rpc::{schema_as, text_schema};
use serde::{Serialize, Serializer};

use super::data::between_quotes;
use super::hexutil::{self, Text};
use super::number_forms::{number_of_any_form, small_number_of_any_form};

/// Go's `hexutil.Uint64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uint64(pub u64);

/// Go's `hexutil.Uint`: counts and places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uint(pub u64);

/// Go's `hexutil.Big`: at most 256 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Big(pub U256);

impl Uint {
    /// A number of things.
    pub fn from_count(count: usize) -> Self {
        Self(u64::try_from(count).unwrap_or(u64::MAX))
    }
}

impl From<u64> for Uint64 {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl From<U256> for Big {
    fn from(number: U256) -> Self {
        Self(number)
    }
}

impl From<u128> for Big {
    fn from(number: u128) -> Self {
        Self(U256::from(number))
    }
}

macro_rules! small {
    ($name:ident, $go:literal) => {
        impl Argument for $name {
            fn go_type() -> Cow<'static, str> {
                Cow::Borrowed($go)
            }

            fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
                if let Some(number) = small_number_of_any_form(value) {
                    return Ok(Self(number));
                }
                let text = between_quotes(value)
                    .ok_or_else(|| ArgumentError::refused("non-string", $go))?;
                let number = hexutil::uint64(text);
                number.map(Self).map_err(|fault| ArgumentError::refused(fault.as_str(), $go))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(Text::<18>::format(format_args!("{:#x}", self.0)).as_str())
            }
        }
    };
}

text_schema!(
    Uint64,
    "Uint64",
    "quantity",
    "^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,15})$",
    "A number of 64 bits in hex without leading zeros."
);
schema_as!(Uint, "Uint64", Uint64);
text_schema!(
    Big,
    "Uint256",
    "quantity",
    "^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})$",
    "A number of 256 bits in hex without leading zeros."
);

small!(Uint64, "hexutil.Uint64");
small!(Uint, "hexutil.Uint");

impl Argument for Big {
    /// Go names the pointer: the methods that read it are the pointer's.
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("*hexutil.Big")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if let Some(number) = number_of_any_form(value) {
            return Ok(Self(number));
        }
        let text = between_quotes(value)
            .ok_or_else(|| ArgumentError::refused("non-string", Self::go_type()))?;
        let number = hexutil::big(text);
        number.map(Self).map_err(|fault| ArgumentError::refused(fault.as_str(), Self::go_type()))
    }
}

impl Serialize for Big {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Text::<66>::format(format_args!("{:#x}", self.0)).as_str())
    }
}
