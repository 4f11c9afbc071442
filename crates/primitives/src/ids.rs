//! Identifiers: 32 bytes for hashes, 20 bytes for addresses and nodes. Their text form is cb58.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::cb58::{self, Cb58Error};
use crate::hash;

/// Id of a transaction: SHA-256 of its signed bytes.
pub type TxId = Id;
/// Id of a block: SHA-256 of its bytes.
pub type BlockId = Id;
/// Id of an asset: the id of the transaction that created it.
pub type AssetId = Id;
/// Id of a blockchain: the id of the transaction that created it; zero for the P-Chain.
pub type ChainId = Id;
/// Id of a group of validators; zero for the primary network.
pub type SubnetId = Id;

/// The reason why a text or a slice is not an identifier. The texts are the reference's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is not cb58.
    #[error(transparent)]
    Cb58(#[from] Cb58Error),
    /// The text is cb58 of another number of bytes.
    #[error("invalid hash length: expected {expected} bytes but got {got}")]
    Length {
        /// Bytes of this kind of identifier.
        expected: usize,
        /// Bytes of the text.
        got: usize,
    },
    /// The text of a node id lacks its prefix.
    #[error("ID: {0} is missing the prefix: {prefix}", prefix = NodeId::PREFIX)]
    MissingPrefix(String),
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $len:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name([u8; $len]);

        impl $name {
            /// Bytes of an identifier.
            pub const LEN: usize = $len;
            /// The identifier with all bytes zero.
            pub const ZERO: Self = Self([0; $len]);

            /// An identifier of these bytes.
            pub const fn new(bytes: [u8; $len]) -> Self {
                Self(bytes)
            }

            /// Its bytes.
            pub const fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }

            /// An identifier of a slice, which must have the right length.
            pub fn from_slice(bytes: &[u8]) -> Result<Self, IdError> {
                let fault = IdError::Length { expected: $len, got: bytes.len() };
                bytes.try_into().map(Self).map_err(|_| fault)
            }

            /// Whether all bytes are zero.
            pub fn is_zero(&self) -> bool {
                *self == Self::ZERO
            }
        }

        impl From<[u8; $len]> for $name {
            fn from(bytes: [u8; $len]) -> Self {
                Self(bytes)
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                cb58::with_text(&self.0, |text| f.pad(text))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::from_slice(&cb58::decode(text)?)
            }
        }

        text_serde!($name);
        text_schema!($name, "ID", "^[1-9A-HJ-NP-Za-km-z]+$", "An ID in cb58.");
    };
}

/// The JSON schema of the text form, for documentation.
macro_rules! text_schema {
    ($name:ident, $title:literal, $pattern:literal, $description:literal) => {
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "title": $title,
                    "description": $description,
                    "type": "string",
                    "pattern": $pattern,
                })
            }
        }
    };
}

/// Serde through the text form, for wire types and configuration; consensus bytes come from the codec.
macro_rules! text_serde {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_option(TextVisitor(std::marker::PhantomData))
            }
        }
    };
}

struct TextVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: FromStr<Err = IdError> + Default> Visitor<'de> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an identifier in cb58")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    /// As in the reference, `null` is the zero ID, also within a list.
    fn visit_none<E: serde::de::Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

identifier! {
    /// 32 bytes, nearly always a SHA-256. Ordered by its bytes.
    Id, 32
}

identifier! {
    /// 20 bytes: the hash of a public key. Ordered by its bytes.
    ShortId, 20
}

impl Id {
    /// SHA-256 of `bytes`.
    pub fn sha256(bytes: &[u8]) -> Self {
        Self(hash::sha256(bytes))
    }

    /// `sha256(be64(prefix) || id)`: the id of the transaction's output with this index.
    #[must_use]
    pub fn prefixed(&self, prefix: u64) -> Self {
        Self(hash::sha256_parts(&[&prefix.to_be_bytes(), &self.0]))
    }

    /// The bytes of a name, padded with zeros at the right, for ids of virtual machines and feature extensions.
    ///
    /// # Panics
    /// The name has more than 32 bytes. Use [`Id::try_from_ascii_name`] for names from outside.
    pub const fn from_ascii_name(name: &str) -> Self {
        match Self::try_from_ascii_name(name) {
            Some(id) => id,
            None => panic!("a name that becomes an id takes at most 32 bytes"),
        }
    }

    /// Like [`Id::from_ascii_name`]; `None` for more than 32 bytes.
    pub const fn try_from_ascii_name(name: &str) -> Option<Self> {
        let mut bytes = [0; Self::LEN];
        match bytes.split_at_mut_checked(name.len()) {
            Some((start, _)) => start.copy_from_slice(name.as_bytes()),
            None => return None,
        }
        Some(Self(bytes))
    }
}

/// Id of a node, written `NodeID-<cb58>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub ShortId);

impl NodeId {
    /// Prefix of the text.
    pub const PREFIX: &'static str = "NodeID-";
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for NodeId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let missing = || IdError::MissingPrefix(text.to_owned());
        text.strip_prefix(Self::PREFIX).ok_or_else(missing)?.parse().map(Self)
    }
}

text_serde!(NodeId);
text_schema!(NodeId, "node ID", "^NodeID-[1-9A-HJ-NP-Za-km-z]+$", "ID of a node.");
