//! The `encoding` argument: how bytes become text.

use esker_primitives::hexfmt::{self, HexError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::RpcError;
use esker_go_json::{RawText, deserialize_raw};

/// The encoding of bytes in arguments and replies. Names have any letter case; the default is `hex`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encoding {
    /// `0x`, hex digits, and four bytes of checksum at the end.
    #[default]
    Hex,
    /// The same without the checksum.
    HexNc,
    /// The same as [`Encoding::Hex`].
    HexC,
    /// JSON objects, of values that have such a form; bytes have none.
    Json,
}

crate::text_schema!(
    Encoding,
    "Encoding",
    "encoding",
    "^([hH][eE][xX]([nN]?[cC])?|[jJ][sS][oO][nN])$",
    "`hex`: hex digits with a checksum, `hexnc`: without, `hexc`: as `hex`, `json`: objects. Any letter case."
);

/// The reason why a text does not decode to bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// The hex text is at fault.
    #[error(transparent)]
    Hex(#[from] HexError),
    /// Bytes have no JSON form.
    #[error("unsupported encoding in method")]
    Unsupported,
}

impl From<EncodingError> for RpcError {
    fn from(error: EncodingError) -> Self {
        Self::new(error.to_string())
    }
}

impl Encoding {
    /// The name as replies show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hex => "hex",
            Self::HexNc => "hexnc",
            Self::HexC => "hexc",
            Self::Json => "json",
        }
    }

    /// Bytes as text.
    pub fn encode(self, bytes: &[u8]) -> Result<String, EncodingError> {
        match self {
            Self::Hex | Self::HexC => Ok(hexfmt::encode_checked(bytes)),
            Self::HexNc => Ok(hexfmt::encode_plain(bytes)),
            Self::Json => Err(EncodingError::Unsupported),
        }
    }

    /// Text as bytes; the empty text stands for no bytes, in every encoding.
    pub fn decode(self, text: &str) -> Result<Vec<u8>, EncodingError> {
        match self {
            _ if text.is_empty() => Ok(Vec::new()),
            Self::Hex | Self::HexC => Ok(hexfmt::decode_checked(text)?),
            Self::HexNc => Ok(hexfmt::decode_plain(text)?),
            Self::Json => Err(EncodingError::Unsupported),
        }
    }
}

impl RawText for Encoding {
    const WANTED: &'static str = "the name of an encoding";

    fn from_raw_text(text: &str) -> Option<Self> {
        if text == "null" {
            return Some(Self::default());
        }
        let name = text.strip_prefix('"')?.strip_suffix('"')?;
        [Self::Hex, Self::HexNc, Self::HexC, Self::Json]
            .into_iter()
            .find(|encoding| name.eq_ignore_ascii_case(encoding.name()))
    }
}

impl<'de> Deserialize<'de> for Encoding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_raw(deserializer)
    }
}

impl Serialize for Encoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
