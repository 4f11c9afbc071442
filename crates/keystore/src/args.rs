//! Arguments and replies that methods with users and keys have in common.

use esker_primitives::hexfmt;
use esker_primitives::keys::PrivateKey;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::Password;

/// A user alone.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Credentials {
    /// Its name.
    pub username: String,
    /// Its password.
    pub password: Password,
}

/// A private key as an argument: `PrivateKey-..`.
#[derive(Debug)]
pub struct KeyArgument(pub PrivateKey);

esker_rpc::text_schema!(
    KeyArgument,
    "PrivateKey",
    "private key",
    "^PrivateKey-[1-9A-HJ-NP-Za-km-z]+$",
    "A private key in cb58."
);

impl<'de> Deserialize<'de> for KeyArgument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl Visitor<'_> for KeyVisitor {
            type Value = KeyArgument;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a private key")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<KeyArgument, E> {
                text.parse().map(KeyArgument).map_err(E::custom)
            }

            fn visit_string<E: Error>(self, text: String) -> Result<KeyArgument, E> {
                self.visit_str(&Zeroizing::new(text))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}

/// A private key in a reply; wiped after use, never shown otherwise.
pub struct KeyText(Zeroizing<String>);

impl KeyText {
    /// `PrivateKey-..`
    pub fn new(key: &PrivateKey) -> Self {
        Self(Zeroizing::new(key.to_text()))
    }

    /// `0x` and the key's bytes in hex.
    pub fn hex(key: &PrivateKey) -> Self {
        Self(Zeroizing::new(hexfmt::encode_plain(key.as_bytes())))
    }
}

esker_rpc::text_schema!(
    KeyText,
    "PrivateKeyText",
    "private key",
    "^(PrivateKey-[1-9A-HJ-NP-Za-km-z]+|0x[0-9a-f]{64})$",
    "A private key in cb58, or in hex."
);

impl std::fmt::Debug for KeyText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyText(..)")
    }
}

impl Serialize for KeyText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
