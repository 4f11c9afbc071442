//! JSON as Go's `encoding/json` reads and writes it.

use serde::{Serialize, de::DeserializeOwned};

/// One JSON value, still as text.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a>(&'a [u8]);

/// Why a value does not decode into a type.
pub type DecodeError = serde_json::Error;

impl<'a> Document<'a> {
    /// `{}`.
    pub const EMPTY_OBJECT: Document<'static> = Document(b"{}");

    /// Decodes the value into `T`.
    pub fn decode<T: DeserializeOwned>(self) -> Result<T, DecodeError> {
        serde_json::from_slice(self.0)
    }
}

/// The value as JSON text.
pub fn to_go_vec(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(value)
}

/// Appends the value to `out`.
pub fn write(value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    serde_json::to_writer(out, value)
}

/// Decodes the first value of these bytes.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    Document(bytes).decode()
}
