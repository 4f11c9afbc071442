//! Fields of JSON objects of JSON-RPC.

use alloy_primitives::{Address, B256, Bytes, FixedBytes, U256, hex};
use esker_primitives::excerpt;
use serde_json::Value;
use thiserror::Error;

/// A field that is missing or has another form.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("field {field:?}: expected {expected}, got {found}")]
pub struct FieldError {
    /// The name of the field; empty for the whole result.
    pub field: String,
    /// What it should be.
    pub expected: &'static str,
    /// What it is, shortened.
    pub found: String,
}

impl FieldError {
    pub(crate) fn new(field: &str, expected: &'static str, found: Option<&Value>) -> Self {
        let found = found.map_or_else(|| "nothing".to_owned(), Value::to_string);
        Self { field: field.to_owned(), expected, found: excerpt(&found).into_owned() }
    }
}

/// The fields of an object. Null counts as absent.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(&'a Value);

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &'a Value) -> Result<Self, FieldError> {
        match value {
            Value::Object(_) => Ok(Self(value)),
            other => Err(FieldError::new("", "an object", Some(other))),
        }
    }

    pub(crate) fn get(self, field: &str) -> Option<&'a Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    fn read<T>(
        self,
        field: &str,
        expected: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, FieldError> {
        let found = self.get(field);
        found.and_then(read).ok_or_else(|| FieldError::new(field, expected, found))
    }

    /// A field that may be absent, but has the right form if it is there.
    pub(crate) fn optional<T>(
        self,
        field: &str,
        read: impl FnOnce(Self, &str) -> Result<T, FieldError>,
    ) -> Result<Option<T>, FieldError> {
        self.get(field).map(|_| read(self, field)).transpose()
    }

    pub(crate) fn u64(self, field: &str) -> Result<u64, FieldError> {
        self.read(field, "a number of at most 64 bits", |value| {
            u64::try_from(quantity(value)?).ok()
        })
    }

    pub(crate) fn u256(self, field: &str) -> Result<U256, FieldError> {
        self.read(field, "a number of at most 256 bits", quantity)
    }

    pub(crate) fn hash(self, field: &str) -> Result<B256, FieldError> {
        self.read(field, "32 bytes in hexadecimal", fixed)
    }

    pub(crate) fn address(self, field: &str) -> Result<Address, FieldError> {
        self.read(field, "20 bytes in hexadecimal", |value| fixed(value).map(Address))
    }

    pub(crate) fn fixed<const N: usize>(self, field: &str) -> Result<FixedBytes<N>, FieldError> {
        self.read(field, "bytes of a fixed length in hexadecimal", fixed)
    }

    pub(crate) fn bytes(self, field: &str) -> Result<Bytes, FieldError> {
        self.read(field, "bytes in hexadecimal", bytes)
    }

    pub(crate) fn list(self, field: &str) -> Result<&'a [Value], FieldError> {
        let found = self.get(field);
        let list = found.and_then(Value::as_array);
        list.map(Vec::as_slice).ok_or_else(|| FieldError::new(field, "a list", found))
    }

    /// A list of byte strings; an absent one is empty.
    pub(crate) fn byte_strings(self, field: &str) -> Result<Vec<Bytes>, FieldError> {
        if self.get(field).is_none() {
            return Ok(Vec::new());
        }
        let list = self.list(field)?;
        let read = |value| {
            bytes(value).ok_or_else(|| FieldError::new(field, "a list of bytes", Some(value)))
        };
        list.iter().map(read).collect()
    }
}

/// A number such as `0x1f`. Leading zeros are accepted: keys of slots have them.
pub(crate) fn quantity(value: &Value) -> Option<U256> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || digits.is_empty() || digits.len() > 64 {
        return None;
    }
    U256::from_str_radix(digits, 16).ok()
}

/// Bytes of a fixed length in hexadecimal.
pub(crate) fn fixed<const N: usize>(value: &Value) -> Option<FixedBytes<N>> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    let mut fixed = FixedBytes::ZERO;
    hex::decode_to_slice(digits, fixed.as_mut_slice()).ok()?;
    Some(fixed)
}

/// Bytes such as `0x1f00`.
pub(crate) fn bytes(value: &Value) -> Option<Bytes> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    hex::decode(digits).ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms() {
        let value =
            json!({"n": "0x0a", "h": B256::ZERO.to_string(), "x": null, "b": "0x0", "s": "12"});
        let fields = Fields::of(&value).unwrap();
        assert_eq!(fields.u64("n"), Ok(10));
        assert_eq!(fields.hash("h"), Ok(B256::ZERO));
        assert_eq!(fields.optional("x", Fields::hash), Ok(None));
        assert_eq!(fields.byte_strings("x"), Ok(Vec::new()));
        for error in [
            fields.bytes("b").unwrap_err(),
            fields.u256("s").unwrap_err(),
            fields.hash("n").unwrap_err(),
            fields.u64("missing").unwrap_err(),
            fields.optional("b", Fields::bytes).unwrap_err(),
        ] {
            assert!(error.to_string().starts_with("field \""), "{error}");
        }
        assert!(Fields::of(&json!([])).is_err());
    }
}
