//! A value's raw text, whatever decodes it.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};

/// Name under which the deserialisers of this crate hand out the raw text of a value.
pub(crate) const RAW_TEXT: &str = "$esker_go_json::RawText";

/// A type that reads the JSON text of its value itself.
pub trait RawText: Sized {
    /// The name of the expected form, for the error texts of other forms.
    const WANTED: &'static str;

    /// Reads one compact JSON value; `None` refuses it.
    fn from_raw_text(text: &str) -> Option<Self>;
}

/// Reads a value as its type reads its text.
pub fn deserialize_raw<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: RawText,
    D: Deserializer<'de>,
{
    deserializer.deserialize_newtype_struct(RAW_TEXT, RawVisitor(PhantomData))
}

struct RawVisitor<T>(PhantomData<T>);

impl<'de, T: RawText> Visitor<'de> for RawVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WANTED)
    }

    fn visit_bytes<E: Error>(self, text: &[u8]) -> Result<T, E> {
        let text = crate::text::lossy(text);
        T::from_raw_text(&text).ok_or_else(|| E::custom(format_args!("not {}", T::WANTED)))
    }

    /// Another format, which has no text to hand out.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, other: D) -> Result<T, D::Error> {
        let value = serde_json::Value::deserialize(other)?;
        self.visit_bytes(value.to_string().as_bytes())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        self.visit_bytes(value.to_string().as_bytes())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<T, E> {
        let mut quoted = Vec::with_capacity(value.len() + 2);
        crate::ser::write_str(value, &mut quoted);
        self.visit_bytes(&quoted)
    }
}
