//! One JSON value as text that is known to be valid: borrowed, and owned.

use std::{borrow::Cow, fmt, ops::Range};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

use crate::de::decode_accepted;
use crate::decode_error::DecodeError;
use crate::kind::Kind;
use crate::raw::{RawText, deserialize_raw};
use crate::scan::{self, SyntaxError, first_value, is_space};
use crate::text;

/// One JSON value, as it was written, without white space around it.
///
/// ```
/// use esker_go_json::{Document, Kind};
///
/// let document = Document::first(br#" {"id": 1.50} trailing"#)?;
/// assert_eq!(document.kind(), Kind::Object);
/// assert_eq!(document.as_bytes(), br#"{"id": 1.50}"#);
/// # Ok::<(), esker_go_json::SyntaxError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    bytes: &'a [u8],
    takes_any_number_form: bool,
}

impl<'a> Document<'a> {
    /// `{}`.
    pub const EMPTY_OBJECT: Document<'static> = Document::of_valid(b"{}");

    /// Reads the first value of these bytes as a stream decoder does: what follows it is not looked
    /// at. Any bytes give a document or an error.
    pub fn first(bytes: &'a [u8]) -> Result<Self, SyntaxError> {
        first_value(bytes, |_, _| {}).map(|place| Self::of_valid(&bytes[place]))
    }

    /// The value of bytes that [`Document::as_bytes`] gave before. Other bytes give a value of no use, and no error.
    #[must_use]
    pub const fn of_valid(bytes: &'a [u8]) -> Self {
        Self { bytes, takes_any_number_form: false }
    }

    /// Like [`Document::first`]; if the value is an object, its members' names and values as well.
    ///
    /// `on_member` gets both as they are written, in order, duplicates included; names with their quotes.
    /// It has been called for the members before an error.
    pub fn first_with_members(
        bytes: &'a [u8],
        mut on_member: impl FnMut(Name<'a>, Self),
    ) -> Result<Self, SyntaxError> {
        let member = |name: Range<usize>, value: Range<usize>| {
            on_member(Name(&bytes[name]), Self::of_valid(&bytes[value]));
        };
        first_value(bytes, member).map(|place| Self::of_valid(&bytes[place]))
    }

    /// Reads bytes that hold one value and nothing else but white space, with the errors of Go's
    /// `json.Unmarshal`: what ends too early is `unexpected end of JSON input`.
    pub fn whole(bytes: &'a [u8]) -> Result<Self, SyntaxError> {
        let place = first_value(bytes, |_, _| {}).map_err(|error| match error {
            SyntaxError::Eof | SyntaxError::UnexpectedEof => SyntaxError::UnexpectedEnd,
            invalid => invalid,
        })?;
        match bytes[place.end..].iter().position(|byte| !is_space(*byte)) {
            None => Ok(Self::of_valid(&bytes[place])),
            Some(after) => Err(SyntaxError::Invalid {
                byte: bytes[place.end + after],
                context: "after top-level value",
                offset: place.end + after + 1,
            }),
        }
    }

    /// The same value, and those in it, whose numbers may have any form that says which number is meant, if their type has
    /// such forms ([`Document::takes_any_number_form`]).
    #[must_use]
    pub const fn with_any_number_form(self) -> Self {
        Self { takes_any_number_form: true, ..self }
    }

    /// Whether numbers may have any form.
    #[must_use]
    pub const fn takes_any_number_form(self) -> bool {
        self.takes_any_number_form
    }

    /// The same value in other memory, with the bytes that [`Document::as_bytes`] gave.
    #[must_use]
    pub const fn at<'b>(self, bytes: &'b [u8]) -> Document<'b> {
        Document { bytes, takes_any_number_form: self.takes_any_number_form }
    }

    /// The members of an object, as in [`Document::first_with_members`]; none of anything else.
    pub fn each_member(self, mut on_member: impl FnMut(Name<'a>, Self)) {
        let member = |name: Name<'a>, value: Self| on_member(name, self.at(value.bytes));
        // The value has been scanned before, so scanning it again cannot fail.
        let scanned = Self::first_with_members(self.bytes, member);
        debug_assert!(scanned.is_ok(), "a document is valid JSON");
    }

    /// The value as it was written. It need not be UTF-8 inside strings.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The kind of the value.
    #[must_use]
    pub fn kind(self) -> Kind {
        Kind::from_first_byte(self.bytes.first().copied())
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        Name(self.bytes).literal().map(text::unquote)
    }

    /// The first element of an array.
    #[must_use]
    pub fn first_element(self) -> Option<Self> {
        self.elements().next()
    }

    /// The elements of an array; none of anything else.
    pub fn elements(self) -> impl Iterator<Item = Self> {
        let mut at = 1;
        std::iter::from_fn(move || {
            if self.kind() != Kind::Array {
                return None;
            }
            while self.bytes.get(at).is_some_and(|byte| is_space(*byte) || *byte == b',') {
                at += 1;
            }
            if matches!(self.bytes.get(at), None | Some(b']')) {
                return None;
            }
            let start = at;
            at = scan::skip_value(self.bytes, start);
            Some(self.at(&self.bytes[start..at]))
        })
    }

    /// The first number here, in arrays of arrays to that depth, that is too large for Go's `float64`: what Go decodes
    /// numbers of no given type to.
    pub fn overflowing_number(self, depth: usize) -> Option<&'a str> {
        match self.kind() {
            Kind::Number => {
                let literal = std::str::from_utf8(self.bytes).ok()?;
                let is_finite = literal.parse().is_ok_and(f64::is_finite);
                (!is_finite).then_some(literal)
            }
            Kind::Array if depth > 0 => {
                self.elements().find_map(|element| element.overflowing_number(depth - 1))
            }
            Kind::Array | Kind::Null | Kind::Bool | Kind::String | Kind::Object => None,
        }
    }

    /// Decodes the value into `T` by the rules of [`super`].
    pub fn decode<T: DeserializeOwned>(self) -> Result<T, DecodeError> {
        decode_accepted(self.bytes)
    }

    /// Appends the value without white space between its tokens, `<`, `>`, `&` and the line
    /// separators escaped: how Go writes a raw message.
    pub fn write_compact(self, out: &mut Vec<u8>) {
        super::ser::compact(self.bytes, out);
    }
}

impl fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({})", String::from_utf8_lossy(self.bytes))
    }
}

/// A member's name as it was written.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// The name.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        text::unquote(self.literal().unwrap_or_default())
    }

    /// Whether it stands for the field of that ASCII name, in any letter case.
    #[must_use]
    pub fn is(self, field: &str) -> bool {
        // Nearly every client writes the name just so.
        self.literal() == Some(field.as_bytes()) || text::same_name(&self.text(), field)
    }

    /// The bytes between the quotes, escapes as they are.
    #[must_use]
    pub fn literal(self) -> Option<&'a [u8]> {
        self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")
    }
}

/// One JSON value of any kind, owned: what a service takes where the reference takes
/// `interface{}` or `json.RawMessage`, to be decoded later.
///
/// It is kept as text, so there is no tree to build, walk or drop. Bytes that are no UTF-8 have
/// been replaced by U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoValue(Box<str>);

impl GoValue {
    /// Reads the first value of these bytes.
    pub fn first(bytes: &[u8]) -> Result<Self, SyntaxError> {
        Document::first(bytes).map(Self::from)
    }

    /// The value.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        Document::of_valid(self.0.as_bytes())
    }

    /// The value as it was written.
    #[must_use]
    pub fn as_text(&self) -> &str {
        &self.0
    }

    /// The kind of the value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.document().kind()
    }

    /// Decodes the value into `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        self.document().decode()
    }
}

impl Default for GoValue {
    fn default() -> Self {
        Self("null".into())
    }
}

impl From<Document<'_>> for GoValue {
    fn from(document: Document<'_>) -> Self {
        Self(text::lossy(document.bytes).into())
    }
}

impl RawText for GoValue {
    const WANTED: &'static str = "a JSON value";

    fn from_raw_text(text: &str) -> Option<Self> {
        Some(Self(text.into()))
    }
}

impl<'de> Deserialize<'de> for GoValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_raw(deserializer)
    }
}

impl Serialize for GoValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue =
            serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}
