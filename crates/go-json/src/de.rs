//! Decoding into types, by the rules of Go, straight from the text.

use std::{borrow::Cow, cell::Cell};

use esker_primitives::{excerpt, thread_memory};
use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
};

use crate::decode_error::DecodeError;
use crate::kind::Kind;
use crate::raw::RAW_TEXT;
use crate::scan::{first_value, is_space, skip_string, skip_value};
use crate::text;

/// Levels of nesting that decoding follows; what lies deeper can be skipped or kept as
/// [`super::GoValue`], not decoded. It bounds the stack that a request can take.
pub const MAX_DECODE_NESTING: usize = 128;

/// Decodes the first value of these bytes into `T`.
///
/// ```
/// #[derive(serde::Deserialize, Default, PartialEq, Debug)]
/// #[serde(rename_all = "camelCase", default)]
/// struct Arguments { tx_id: String, limit: u32 }
///
/// let arguments: Arguments = esker_go_json::decode(
///     br#"{"TXID": "first", "txid": "last", "limit": null, "unknown": {}}"#,
/// )?;
/// assert_eq!(arguments, Arguments { tx_id: "last".into(), limit: 0 });
/// # Ok::<(), esker_go_json::DecodeError>(())
/// ```
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let place = first_value(bytes, |_, _| {})?;
    decode_accepted(&bytes[place])
}

/// Decodes the value that this text, which the scanner has accepted, begins with. Of members that name one field
/// the last counts, and each must fit the field, as in Go.
pub(super) fn decode_accepted<T: DeserializeOwned>(text: &[u8]) -> Result<T, DecodeError> {
    let last = Pass::default();
    let value = T::deserialize(&mut Reader::new(text, &last));
    for number in 0..last.duplicates.get().min(MAX_DUPLICATES) {
        let earlier = Pass { number: Some(number), ..Pass::default() };
        T::deserialize(&mut Reader::new(text, &earlier))?;
    }
    value
}

/// Earlier members of a field that are looked at: it bounds the work for a text.
const MAX_DUPLICATES: usize = 16;

/// Which of the members that name one field is decoded.
#[derive(Debug, Default)]
struct Pass {
    /// The value of this number, or the last where there are not so many; `None`: the last.
    number: Option<usize>,
    /// Values beside the first that a field had at most.
    duplicates: Cell<usize>,
}

impl Pass {
    fn note_duplicates(&self, count: usize) {
        self.duplicates.set(self.duplicates.get().max(count));
    }

    /// Whether the value of this number takes the place of the one before it.
    fn prefers(&self, number: usize) -> bool {
        self.number.is_none_or(|wanted| number <= wanted)
    }
}

/// Reads values one after the other from text that the scanner has accepted.
pub(super) struct Reader<'p, 'de> {
    text: &'de [u8],
    at: usize,
    depth: usize,
    pass: &'p Pass,
    /// The member about to be read was followed by a duplicate that is `null`.
    nulled: bool,
}

impl<'p, 'de> Reader<'p, 'de> {
    const fn new(text: &'de [u8], pass: &'p Pass) -> Self {
        Self { text, at: 0, depth: 0, pass, nulled: false }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn kind(&self) -> Kind {
        Kind::from_first_byte(self.peek())
    }

    /// Goes to the next value, name or end of a container.
    fn skip_to_next(&mut self) {
        while self.peek().is_some_and(|byte| is_space(byte) || matches!(byte, b',' | b':')) {
            self.at += 1;
        }
    }

    /// Takes the value that comes next.
    fn raw(&mut self) -> &'de [u8] {
        let start = self.at;
        self.at = skip_value(self.text, start);
        &self.text[start..self.at]
    }

    /// Takes the string that comes next.
    fn string(&mut self) -> Cow<'de, str> {
        let start = self.at + 1;
        self.at = skip_string(self.text, self.at);
        text::unquote(self.text.get(start..self.at - 1).unwrap_or_default())
    }

    /// Takes the number that comes next.
    fn number(&mut self) -> &'de str {
        std::str::from_utf8(self.raw()).unwrap_or_default()
    }

    /// Takes the value that comes next, which is none that fits.
    fn mismatch<T>(&mut self, wanted: &str) -> Result<T, DecodeError> {
        let kind = self.kind();
        let text = format!("json: cannot unmarshal {kind} into Go value of type {wanted}");
        self.raw();
        Err(DecodeError::Type(text))
    }

    fn enter(&mut self) -> Result<(), DecodeError> {
        if self.depth == MAX_DECODE_NESTING {
            return Err(DecodeError::Type("exceeded max depth".to_owned()));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Takes what is left of the container whose end `at` has not passed yet.
    fn leave(&mut self, ended: bool) {
        if !ended {
            loop {
                self.skip_to_next();
                match self.peek() {
                    None => break,
                    Some(b']' | b'}') => {
                        self.at += 1;
                        break;
                    }
                    Some(_) => {
                        self.raw();
                    }
                }
            }
        }
        self.depth -= 1;
    }

    /// Takes the object that comes next and finds the values that count for these fields.
    fn fields(&mut self, names: &'static [&'static str]) -> Result<Fields<'p, 'de>, DecodeError> {
        self.enter()?;
        let mut found: Vec<Option<Found>> = vec![None; names.len()];
        loop {
            self.skip_to_next();
            if matches!(self.peek(), None | Some(b'}')) {
                break;
            }
            let name = self.string();
            self.skip_to_next();
            let start = self.at;
            self.raw();
            let exact = names.iter().position(|field| *field == name);
            let field = exact.or_else(|| names.iter().position(|f| text::same_name(&name, f)));
            let Some(slot) = field.and_then(|field| found.get_mut(field)) else { continue };
            if self.text.get(start) == Some(&b'n') {
                if let Some(earlier) = slot {
                    earlier.nulled = true;
                }
            } else {
                let count = slot.map_or(0, |earlier| earlier.count);
                self.pass.note_duplicates(count);
                if slot.is_none() || self.pass.prefers(count) {
                    *slot = Some(Found { start, nulled: false, count });
                }
                if let Some(found) = slot {
                    found.count = count + 1;
                }
            }
        }
        self.leave(false);
        let depth = self.depth + 1;
        let next = Self { text: self.text, at: 0, depth, pass: self.pass, nulled: false };
        Ok(Fields { names, found, field: 0, reader: next })
    }
}

/// The value that counts for a field.
#[derive(Clone, Copy)]
struct Found {
    start: usize,
    nulled: bool,
    /// Values so far, `null` aside.
    count: usize,
}

/// The members of an object that are fields of a struct, in the order of the fields.
struct Fields<'p, 'de> {
    names: &'static [&'static str],
    found: Vec<Option<Found>>,
    /// The first field that has not been handed out.
    field: usize,
    reader: Reader<'p, 'de>,
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = DecodeError;

    fn next_key_seed<K>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError>
    where
        K: DeserializeSeed<'de>,
    {
        for (name, found) in self.names.iter().zip(&self.found).skip(self.field) {
            self.field += 1;
            if let Some(Found { start, nulled, .. }) = *found {
                (self.reader.at, self.reader.nulled) = (start, nulled);
                return seed.deserialize((*name).into_deserializer()).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V>(&mut self, seed: V) -> Result<V::Value, DecodeError>
    where
        V: DeserializeSeed<'de>,
    {
        seed.deserialize(&mut self.reader)
    }
}

/// The elements of an array or the members of a map, as they come.
struct Items<'a, 'p, 'de> {
    reader: &'a mut Reader<'p, 'de>,
    ended: bool,
    /// Elements so far.
    taken: usize,
}

impl Items<'_, '_, '_> {
    /// The bytes that a list of these elements takes at once for the next one: it doubles, and exists twice
    /// meanwhile.
    fn growth<T>(&self) -> usize {
        if self.taken.is_power_of_two() { 2 * self.taken * size_of::<T>() } else { 0 }
    }

    /// Goes to the next item; false at the end.
    fn more(&mut self) -> bool {
        if !self.ended {
            self.reader.skip_to_next();
            if matches!(self.reader.peek(), None | Some(b']' | b'}')) {
                self.reader.at += 1;
                self.ended = true;
            }
        }
        !self.ended
    }
}

/// Ends the decoding if it takes more memory than the caller allows ([`thread_memory::limited`]), or would with so many
/// bytes more.
fn check_memory(bytes: usize) -> Result<(), DecodeError> {
    match thread_memory::is_exceeded_by(bytes) {
        false => Ok(()),
        true => Err(DecodeError::Type("the value takes too much memory".to_owned())),
    }
}

impl<'de> SeqAccess<'de> for Items<'_, '_, 'de> {
    type Error = DecodeError;

    fn next_element_seed<T>(&mut self, seed: T) -> Result<Option<T::Value>, DecodeError>
    where
        T: DeserializeSeed<'de>,
    {
        if !self.more() {
            return Ok(None);
        }
        check_memory(self.growth::<T::Value>())?;
        self.taken += 1;
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> MapAccess<'de> for Items<'_, '_, 'de> {
    type Error = DecodeError;

    fn next_key_seed<K>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError>
    where
        K: DeserializeSeed<'de>,
    {
        if !self.more() {
            return Ok(None);
        }
        check_memory(0)?;
        let name = self.reader.string();
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<V>(&mut self, seed: V) -> Result<V::Value, DecodeError>
    where
        V: DeserializeSeed<'de>,
    {
        self.reader.skip_to_next();
        seed.deserialize(&mut *self.reader)
    }
}

/// A number type: its literal or nothing else, `null` is zero.
macro_rules! numbers {
    ($($method:ident, $visit:ident, $of:ty, $name:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.kind() {
                Kind::Null => {
                    self.raw();
                    visitor.$visit(<$of>::default())
                }
                Kind::Number => {
                    let literal = self.number();
                    match literal.parse::<$of>() {
                        Ok(value) => visitor.$visit(value),
                        Err(_) => Err(DecodeError::Type(format!(
                            "json: cannot unmarshal number {} into Go value of type {}",
                            excerpt(literal),
                            $name
                        ))),
                    }
                }
                _ => self.mismatch($name),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'_, 'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.kind() {
            Kind::Null => {
                self.raw();
                visitor.visit_unit()
            }
            Kind::Bool => self.deserialize_bool(visitor),
            Kind::String => self.deserialize_str(visitor),
            Kind::Array => self.deserialize_seq(visitor),
            Kind::Object => self.deserialize_map(visitor),
            Kind::Number => {
                let literal = self.number();
                if let Ok(value) = literal.parse() {
                    visitor.visit_u64(value)
                } else if let Ok(value) = literal.parse() {
                    visitor.visit_i64(value)
                } else {
                    visitor.visit_f64(float(literal)?)
                }
            }
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.kind() {
            Kind::Bool | Kind::Null => visitor.visit_bool(self.raw() == b"true"),
            _ => self.mismatch("bool"),
        }
    }

    numbers! {
        deserialize_u8, visit_u8, u8, "uint8";
        deserialize_u16, visit_u16, u16, "uint16";
        deserialize_u32, visit_u32, u32, "uint32";
        deserialize_u64, visit_u64, u64, "uint64";
        deserialize_u128, visit_u128, u128, "uint128";
        deserialize_i8, visit_i8, i8, "int8";
        deserialize_i16, visit_i16, i16, "int16";
        deserialize_i32, visit_i32, i32, "int32";
        deserialize_i64, visit_i64, i64, "int64";
        deserialize_i128, visit_i128, i128, "int128";
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.kind() {
            Kind::Null => {
                self.raw();
                visitor.visit_f64(0.0)
            }
            Kind::Number => visitor.visit_f64(float(self.number())?),
            _ => self.mismatch("float64"),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.kind() {
            Kind::Null => {
                self.raw();
                visitor.visit_borrowed_str("")
            }
            Kind::String => match self.string() {
                Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                Cow::Owned(text) => visitor.visit_string(text),
            },
            _ => self.mismatch("string"),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if std::mem::take(&mut self.nulled) {
            return visitor.visit_none();
        }
        match self.kind() {
            Kind::Null => {
                self.raw();
                visitor.visit_none()
            }
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.kind() {
            Kind::Null => {
                self.raw();
                visitor.visit_unit()
            }
            _ => self.mismatch("nil"),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.kind() {
            Kind::Null | Kind::Object => {
                self.raw();
                visitor.visit_unit()
            }
            _ => self.mismatch(name),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        // A pointer to this constant, or another text like it: both mean the same.
        if name == RAW_TEXT {
            return visitor.visit_borrowed_bytes(self.raw());
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let nulled = std::mem::take(&mut self.nulled);
        match self.kind() {
            Kind::Array if !nulled => {
                self.enter()?;
                let mut items = Items { reader: self, ended: false, taken: 0 };
                let value = visitor.visit_seq(&mut items)?;
                let ended = items.ended;
                self.leave(ended);
                Ok(value)
            }
            Kind::Array | Kind::Null => {
                self.raw();
                visitor.visit_seq(SeqDeserializer::new(std::iter::empty::<()>()))
            }
            _ => self.mismatch("slice"),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let nulled = std::mem::take(&mut self.nulled);
        match self.kind() {
            Kind::Object if !nulled => {
                self.enter()?;
                let mut items = Items { reader: self, ended: false, taken: 0 };
                let value = visitor.visit_map(&mut items)?;
                let ended = items.ended;
                self.leave(ended);
                Ok(value)
            }
            Kind::Object | Kind::Null => {
                self.raw();
                visitor.visit_map(MapDeserializer::new(std::iter::empty::<((), ())>()))
            }
            _ => self.mismatch("map"),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.nulled = false;
        match self.kind() {
            Kind::Object => visitor.visit_map(self.fields(fields)?),
            Kind::Null => {
                self.raw();
                visitor.visit_map(MapDeserializer::new(std::iter::empty::<((), ())>()))
            }
            _ => self.mismatch(name),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.kind() {
            Kind::String => visitor.visit_enum(self.string().into_deserializer()),
            _ => self.mismatch(name),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.raw();
        visitor.visit_unit()
    }
}

/// A number that a float can hold.
fn float(literal: &str) -> Result<f64, DecodeError> {
    literal.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| {
        DecodeError::Type(format!(
            "json: cannot unmarshal number {} into Go value of type float64",
            excerpt(literal)
        ))
    })
}
