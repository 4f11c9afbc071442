//! Scalars as services read and write them.
//!
//! All of them read the raw text of their value where [`crate::go_json`] decodes, so that literals
//! such as `1.0`, `-0` or `"\u0031"` are told apart as the reference does; under any other serde
//! format they read plain numbers and strings.

mod encoding;
mod integers;
mod raw;

pub use encoding::{Encoding, EncodingError};
pub use integers::{CappedLimit, JsonU8, JsonU32, JsonU64};
pub(crate) use raw::RAW_TEXT;
pub use raw::{RawText, deserialize_raw};

/// An argument of the reference's `byte` type: a JSON number from 0 to 255 and no string.
pub type Byte = u8;
