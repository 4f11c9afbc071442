//! Scalars as services read and write them.
//!
//! Under [`esker_go_json`] they read the raw text of their value, so that they distinguish literals such as `1.0`,
//! `-0` and `"\u0031"` as the reference does. Under any other serde format they read plain numbers and strings.

mod encoding;
mod integers;

pub use encoding::{Encoding, EncodingError};
pub use integers::{CappedLimit, JsonU8, JsonU32, JsonU64};

/// An argument of the reference's `byte` type: a JSON number from 0 to 255 and no string.
pub type Byte = u8;
