//! The arguments of a call.

use std::fmt;

use alloy_primitives::{Address, I256, U256, hex};

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `uint256`
    Uint(U256),
    /// `int256`
    Int(I256),
    /// `string`; usually UTF-8, but code may pass any bytes.
    String(Vec<u8>),
    /// `bool`
    Bool(bool),
    /// `address`
    Address(Address),
    /// `bytes`, and `bytes1` to `bytes32`
    Bytes(Vec<u8>),
}

impl Value {
    /// Whether [`fmt::Display`] shows exactly this value: whether it is no string, or UTF-8.
    pub fn is_exact(&self) -> bool {
        match self {
            Self::String(bytes) => std::str::from_utf8(bytes).is_ok(),
            _ => true,
        }
    }
}

/// The text for `%s`. Bytes of a string that are not UTF-8 are shown as `\xff`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uint(number) => number.fmt(f),
            Self::Int(number) => number.fmt(f),
            Self::String(bytes) => bytes.utf8_chunks().try_for_each(|chunk| {
                f.write_str(chunk.valid())?;
                chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))
            }),
            Self::Bool(value) => value.fmt(f),
            Self::Address(address) => address.fmt(f),
            Self::Bytes(bytes) => f.write_str(&hex::encode_prefixed(bytes)),
        }
    }
}
