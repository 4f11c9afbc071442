//! JSON as Go's `encoding/json` reads and writes it.
//!
//! Clients compare the reference's texts and bytes, so both directions follow Go where serde_json differs:
//!
//! - **Syntax**: the first value of the bytes is read, errors have Go's texts ([`SyntaxError`]),
//!   nesting ends at [`MAX_NESTING`]. Invalid UTF-8 and lone surrogates in strings become U+FFFD.
//! - **Structs** ([`decode`], [`Document::decode`]): members match fields in any letter case, an
//!   exact match first; unknown ones are ignored; of duplicates the last counts; `null` leaves the
//!   field at its default (so fields carry `#[serde(default)]`) and, as an element of an array, is
//!   the zero value. An array is no struct.
//! - **Numbers** keep their literal: an integer is digits, so `1.0` and `1e0` are none.
//! - **Arguments** ([`args`]): values that name the Go type that they do not fit.
//! - **Writing** ([`to_go_vec`]): HTML characters and line separators are escaped.
//!
//! Where it differs from Go, on purpose: decoding (not scanning) stops at [`MAX_DECODE_NESTING`]
//! levels, since types here nest on the stack; a member that a later duplicate replaces is not
//! decoded, so its type is not checked, and two objects are not merged. Field names are ASCII.
//! `#[serde(flatten)]` gives up the rules for names; list the fields instead.

pub mod args;
mod de;
mod decode_error;
mod document;
mod kind;
mod raw;
mod scan;
mod ser;
mod text;

pub use de::{MAX_DECODE_NESTING, decode};
pub use decode_error::DecodeError;
pub use document::{Document, GoValue, Name};
pub use kind::Kind;
pub use raw::{RawText, deserialize_raw};
pub use scan::{MAX_NESTING, SyntaxError};
pub use ser::{to_go_vec, write, write_str};
