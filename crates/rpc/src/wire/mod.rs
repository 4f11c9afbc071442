//! Scalars as services read and write them.
//!
//! All of them read the raw text of their value where [`esker_go_json`] decodes, so that literals
//! such as `1.0`, `-0` or `"\u0031"` are told apart as the reference does; under any other serde
//! format they read plain numbers and strings.

mod encoding;
mod integers;

pub use encoding::{Encoding, EncodingError};
pub use integers::{CappedLimit, JsonU8, JsonU32, JsonU64};

/// An argument of the reference's `byte` type: a JSON number from 0 to 255 and no string.
pub type Byte = u8;
