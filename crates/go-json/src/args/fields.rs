//! Go structs: members found by the names of their fields.

use super::{Argument, ArgumentError};
use crate::document::{Document, Name};
use crate::kind::Kind;

/// Where a member's value goes.
pub trait Slot {
    /// Decodes the value into the slot; of several values the last stays.
    fn set(&mut self, value: Document<'_>) -> Result<(), ArgumentError>;
}

impl<T: Argument> Slot for T {
    fn set(&mut self, value: Document<'_>) -> Result<(), ArgumentError> {
        *self = T::decode(value)?;
        Ok(())
    }
}

/// Decodes an object into a struct: each member into the slot of its name, by Go's rules (any letter
/// case, an exact match first, unknown members ignored, the last of duplicates counts). `null` leaves
/// everything as it is.
///
/// `go_type` is the struct's name in Go with its package; texts about a field show it without.
///
/// ```
/// use esker_go_json::Document;
/// use esker_go_json::args::decode_struct;
///
/// let (mut name, mut deep) = (String::new(), None::<bool>);
/// let decode = |text: &'static str, name: &mut String, deep: &mut Option<bool>| {
///     let value = Document::first(text.as_bytes()).unwrap();
///     decode_struct(value, "api.Config", &mut [("name", name), ("deep", deep)])
/// };
/// decode(r#"{"NAME": "a", "other": 1, "deep": true}"#, &mut name, &mut deep).unwrap();
/// assert_eq!((name.as_str(), deep), ("a", Some(true)));
/// assert_eq!(
///     decode(r#"{"deep": 1}"#, &mut name, &mut deep).unwrap_err().to_string(),
///     "json: cannot unmarshal number into Go struct field Config.deep of type bool",
/// );
/// ```
pub fn decode_struct(
    value: Document<'_>,
    go_type: &'static str,
    slots: &mut [(&'static str, &mut dyn Slot)],
) -> Result<(), ArgumentError> {
    match value.kind() {
        Kind::Null => return Ok(()),
        Kind::Object => {}
        kind => return Err(ArgumentError::kind(kind, go_type)),
    }
    let of = go_type.rsplit_once('.').map_or(go_type, |(_, name)| name);
    // Go reads on after a value of the wrong kind; an error of a decoder ends the reading.
    let (mut deferred, mut refused) = (None, None);
    let member = |name: Name<'_>, value: Document<'_>| {
        let exact = slots.iter().position(|(field, _)| name.text() == *field);
        let found = exact.or_else(|| slots.iter().position(|(field, _)| name.is(field)));
        let Some((field, slot)) = found.and_then(|at| slots.get_mut(at)) else { return };
        if refused.is_some() {
            return;
        }
        if let Err(error) = slot.set(value) {
            let error = error.in_field(of, field);
            let keep = if error.is_deferred() { &mut deferred } else { &mut refused };
            keep.get_or_insert(error);
        }
    };
    value.each_member(member);
    refused.or(deferred).map_or(Ok(()), Err)
}
