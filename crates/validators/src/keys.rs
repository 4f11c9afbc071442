//! Keys of validators: ed25519 (RFC 8032).

use std::fmt;
use std::str::FromStr;

use curve25519_dalek::EdwardsPoint;
use curve25519_dalek::edwards::CompressedEdwardsY;
use sha2::{Digest as _, Sha512};
use thiserror::Error;
use zeroize::Zeroizing;

/// The reason why bytes or a text are not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// Not 64 hex digits.
    #[error("a validator's key has 64 hex digits")]
    Hex,
    /// The bytes are not a point of the curve.
    #[error("these bytes are not an ed25519 public key")]
    Point,
}

/// The ed25519 key with which a validator votes and proves its identity to its peers. Its debug form shows only the
/// public key.
#[derive(Clone)]
pub struct ValidatorKey(Zeroizing<[u8; 32]>);

impl ValidatorKey {
    /// Bytes of a key.
    pub const LEN: usize = 32;

    /// The key with these secret bytes. Any bytes are a key.
    #[must_use]
    pub fn from_bytes(secret: &[u8; Self::LEN]) -> Self {
        Self(Zeroizing::new(*secret))
    }

    /// Its public part.
    #[must_use]
    pub fn public_key(&self) -> ValidatorPublicKey {
        let hash = Zeroizing::new(<[u8; 64]>::from(Sha512::digest(self.0.as_slice())));
        let mut scalar = Zeroizing::new([0; 32]);
        scalar.copy_from_slice(&hash[..32]);
        ValidatorPublicKey(EdwardsPoint::mul_base_clamped(*scalar).compress().to_bytes())
    }

    /// The secret bytes, for the engine that signs with them.
    #[must_use]
    pub fn secret_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl FromStr for ValidatorKey {
    type Err = KeyError;

    /// 64 hex digits; white space around them is ignored.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        Ok(Self::from_bytes(&bytes_of(text)?))
    }
}

impl fmt::Debug for ValidatorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ValidatorKey(of {})", self.public_key())
    }
}

/// The public key of a validator, which is its identity. Its text form is 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValidatorPublicKey([u8; 32]);

impl ValidatorPublicKey {
    /// The key with these bytes.
    ///
    /// # Errors
    /// They are no point of the curve.
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, KeyError> {
        let point = CompressedEdwardsY(bytes).decompress();
        point.map(|_| Self(bytes)).ok_or(KeyError::Point)
    }

    /// The bytes of the key.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for ValidatorPublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::from_bytes(bytes_of(text)?)
    }
}

impl fmt::Display for ValidatorPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ValidatorPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn bytes_of(text: &str) -> Result<[u8; 32], KeyError> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text.trim(), &mut bytes).map_err(|_| KeyError::Hex)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 1.
    const SECRET: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    #[test]
    fn keys_have_the_public_key_of_the_standard_and_hide_the_secret() {
        let key: ValidatorKey = format!("{SECRET}\n").parse().unwrap();
        assert_eq!(key.public_key().to_string(), PUBLIC);
        assert_eq!(format!("{key:?}"), format!("ValidatorKey(of {PUBLIC})"));
        let public: ValidatorPublicKey = PUBLIC.parse().unwrap();
        assert_eq!(public, key.public_key());
    }

    #[test]
    fn texts_that_are_no_keys_are_refused() {
        for text in ["", "00", "zz", &SECRET[1..], &format!("{SECRET}00")] {
            assert_eq!(text.parse::<ValidatorKey>().unwrap_err(), KeyError::Hex, "{text}");
        }
        // y = 2 is not a point of the curve.
        let mut no_point = [0; 32];
        no_point[0] = 2;
        assert_eq!(ValidatorPublicKey::from_bytes(no_point), Err(KeyError::Point));
    }
}
