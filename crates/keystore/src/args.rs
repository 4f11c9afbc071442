//! Arguments and replies that methods with users and keys have in common.

use esker_primitives::Password;
use esker_primitives::hexfmt;
use esker_primitives::keys::{PrivateKey, PrivateKeyError};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Arguments that name a user.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Credentials {
    /// Its name.
    pub username: String,
    /// Its password.
    pub password: Password,
}

/// A private key as an argument: `PrivateKey-..`, or `0x` and 64 hex digits.
#[derive(Debug)]
pub struct KeyArgument(pub PrivateKey);

esker_rpc::text_schema!(
    KeyArgument,
    "PrivateKey",
    "private key",
    "^(PrivateKey-[1-9A-HJ-NP-Za-km-z]+|0x[0-9a-fA-F]{64})$",
    "A private key in cb58, or in hex."
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
                let key = if text.starts_with("0x") { key_of_hex(text) } else { text.parse() };
                key.map(KeyArgument).map_err(E::custom)
            }

            fn visit_string<E: Error>(self, text: String) -> Result<KeyArgument, E> {
                self.visit_str(&Zeroizing::new(text))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}

/// The key of `0x` and 64 hex digits.
fn key_of_hex(text: &str) -> Result<PrivateKey, PrivateKeyError> {
    let bytes = hexfmt::decode_plain(text).map_err(|_| PrivateKeyError::Length)?;
    PrivateKey::from_slice(&Zeroizing::new(bytes))
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

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer as _;
    use serde::de::value::Error;

    use super::*;

    const HEX: &str = "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027";

    fn key(text: &str) -> Result<KeyArgument, Error> {
        KeyArgument::deserialize(text.into_deserializer())
    }

    #[test]
    fn a_key_is_cb58_or_hex() {
        let cb58 = key("PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN").unwrap();
        for hex in [format!("0x{HEX}"), format!("0x{}", HEX.to_uppercase())] {
            assert_eq!(key(&hex).unwrap().0, cb58.0, "{hex}");
        }
        let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
        for (bad, reason) in [
            (HEX.to_owned(), "missing PrivateKey- prefix"),
            (format!("0X{HEX}"), "missing PrivateKey- prefix"),
            (format!("PrivateKey-0x{HEX}"), ""),
            (format!("0x{}", &HEX[2..]), "unexpected length, expected 32"),
            (format!("0x{}", &HEX[1..]), "unexpected length, expected 32"),
            (format!("0x{HEX}00"), "unexpected length, expected 32"),
            (format!("0x{}zz", &HEX[2..]), "unexpected length, expected 32"),
            ("0x".to_owned(), "unexpected length, expected 32"),
            (format!("0x{}", "0".repeat(64)), "invalid private key"),
            (format!("0x{order}"), "invalid private key"),
        ] {
            let error = key(&bad).unwrap_err().to_string();
            assert!(error.contains(reason), "{bad}: {error}");
            assert!(!error.contains(&HEX[2..]), "an error shows no key: {error}");
        }
    }
}
