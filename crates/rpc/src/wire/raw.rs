//! A value's raw text, whatever decodes it.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserializer,
    de::{Error, Visitor},
};

/// Name under which the deserialisers of [`crate::go_json`] hand out the raw text of a value.
pub(crate) const RAW_TEXT: &str = "$esker_rpc::RawText";

/// A type that reads the JSON text of its value itself.
pub(crate) trait FromRawText: Sized {
    /// What it wants, for the texts of other formats' errors.
    const WANTED: &'static str;

    /// Reads one compact JSON value; `None` refuses it.
    fn from_raw_text(text: &str) -> Option<Self>;
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromRawText,
    D: Deserializer<'de>,
{
    deserializer.deserialize_newtype_struct(RAW_TEXT, RawVisitor(PhantomData))
}

struct RawVisitor<T>(PhantomData<T>);

impl<'de, T: FromRawText> Visitor<'de> for RawVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WANTED)
    }

    fn visit_bytes<E: Error>(self, text: &[u8]) -> Result<T, E> {
        let refused = || E::custom(format_args!("not {}", T::WANTED));
        let text = std::str::from_utf8(text).map_err(|_| refused())?;
        T::from_raw_text(text).ok_or_else(refused)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, other: D) -> Result<T, D::Error> {
        other.deserialize_any(self)
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        self.visit_bytes(b"null")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        self.visit_bytes(value.to_string().as_bytes())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        self.visit_bytes(value.to_string().as_bytes())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<T, E> {
        // None of these types takes a text that would need an escape.
        let quoted: Cow<'_, str> = format!("\"{value}\"").into();
        self.visit_bytes(quoted.as_bytes())
    }
}
