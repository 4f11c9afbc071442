//! Why the JSON of a genesis is refused.

use esker_go_json::SyntaxError;
use esker_primitives::go::quote;
use thiserror::Error;

/// Why the JSON of a genesis is refused. The texts are those of Go's Ethereum packages.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JsonError {
    /// The text is not JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The document is not an object.
    #[error("json: cannot unmarshal {kind} into Go value of type core.Genesis")]
    NotAnObject {
        /// Go's name of the kind of value.
        kind: &'static str,
    },
    /// A field has a value of another type.
    #[error(
        "json: cannot unmarshal {value} into Go struct field {struct_name}.{field} of type {go_type}"
    )]
    Mismatch {
        /// The value, or what is wrong with it.
        value: String,
        /// The Go struct.
        struct_name: &'static str,
        /// The field of the struct.
        field: &'static str,
        /// The Go type of the field.
        go_type: &'static str,
    },
    /// A required field is missing.
    #[error("missing required field '{field}' for {struct_name}")]
    Missing {
        /// The field.
        field: &'static str,
        /// The Go struct.
        struct_name: &'static str,
    },
    /// The text is not a number, or the number has too many bits.
    #[error("invalid hex or decimal integer {}", quote(.0))]
    Number(String),
    /// A key is not hexadecimal.
    #[error(transparent)]
    Hex(#[from] HexError),
    /// A hexadecimal key has another length.
    #[error("hex string has length {length}, want {expected} for {go_type}")]
    Length {
        /// Digits of the key.
        length: usize,
        /// Digits of the type.
        expected: usize,
        /// The Go type.
        go_type: &'static str,
    },
    /// A storage key or value has more than 64 digits.
    #[error("too many hex characters in storage key/value {}", quote(.0))]
    LongStorageWord(String),
    /// A storage key or value is not hexadecimal.
    #[error("invalid hex storage key/value {}", quote(.0))]
    StorageWord(String),
}

/// Why a text is not hexadecimal. The texts are those of Go's package `hexutil`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HexError {
    /// The text is empty.
    #[error("empty hex string")]
    Empty,
    /// The text does not begin with `0x`.
    #[error("hex string without 0x prefix")]
    NoPrefix,
    /// The last byte has only one digit.
    #[error("hex string of odd length")]
    OddLength,
    /// A character is not a digit.
    #[error("invalid hex string")]
    Invalid,
}
