//! secp256k1 keys and recoverable signatures.
//!
//! Signatures are deterministic (RFC 6979) with the lower `s`. The public key is recovered from the signature and
//! never sent.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{All, Message, Secp256k1, SecretKey};
use zeroize::{Zeroize, Zeroizing};

use crate::cb58::{self, Cb58Error};
use crate::hash;
use crate::ids::ShortId;

/// The tables that signing and recovery need, built once.
static CURVE: LazyLock<Secp256k1<All>> = LazyLock::new(Secp256k1::new);

/// Half of the group's order. Anybody could flip a larger `s` without the key.
const HALF_ORDER: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
];

/// Bytes of `r` before the address that stands in place of a signature.
const ADDRESS_AT: usize = 12;

/// The reason why a private key is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrivateKeyError {
    /// The text lacks the prefix.
    #[error("private key missing {prefix} prefix", prefix = PrivateKey::PREFIX)]
    MissingPrefix,
    /// The part after the prefix is not cb58.
    #[error(transparent)]
    Cb58(#[from] Cb58Error),
    /// The key has another number of bytes.
    #[error("private key has unexpected length, expected {len}", len = PrivateKey::LEN)]
    Length,
    /// The number is zero, or not below the group's order.
    #[error("invalid private key")]
    OutOfRange,
}

/// A private key: a number from 1 to below the group's order. Its bytes are overwritten when it is dropped,
/// and `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey(Zeroizing<[u8; Self::LEN]>);

impl PrivateKey {
    /// Bytes of a key.
    pub const LEN: usize = 32;
    /// Prefix of the text.
    pub const PREFIX: &'static str = "PrivateKey-";

    /// A key of 32 bytes, big-endian.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, PrivateKeyError> {
        let bytes: [u8; Self::LEN] = bytes.try_into().map_err(|_| PrivateKeyError::Length)?;
        let key = Self(Zeroizing::new(bytes));
        let mut secret =
            SecretKey::from_byte_array(*key.0).map_err(|_| PrivateKeyError::OutOfRange)?;
        secret.non_secure_erase();
        Ok(key)
    }

    /// A new key of random bytes, which `fill` writes.
    pub fn generate(fill: &mut impl FnMut(&mut [u8])) -> Self {
        let mut bytes = Zeroizing::new([0; Self::LEN]);
        loop {
            fill(bytes.as_mut());
            // Nearly every try gives a key: one of 2^127 fails.
            if let Ok(key) = Self::from_slice(bytes.as_ref()) {
                return key;
            }
        }
    }

    /// Its bytes: handle with care.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// `PrivateKey-<cb58>`: handle with care.
    pub fn to_text(&self) -> String {
        let mut key = cb58::encode(self.0.as_ref());
        let text = format!("{}{key}", Self::PREFIX);
        key.zeroize();
        text
    }

    /// The public key.
    pub fn public_key(&self) -> PublicKey {
        self.with_secret(|secret| PublicKey(secret.public_key(&CURVE).serialize()))
    }

    /// The address of the public key.
    pub fn address(&self) -> ShortId {
        self.public_key().address()
    }

    /// Signs a hash; the same hash gives the same signature.
    pub fn sign_hash(&self, hash: &[u8; 32]) -> Signature {
        let message = Message::from_digest(*hash);
        let signed = self.with_secret(|secret| CURVE.sign_ecdsa_recoverable(message, secret));
        let (recovery, rs) = signed.serialize_compact();
        let mut bytes = [0; Signature::LEN];
        bytes[..64].copy_from_slice(&rs);
        bytes[64] = i32::from(recovery) as u8;
        Signature(bytes)
    }

    /// Signs the SHA-256 of `bytes`.
    pub fn sign(&self, bytes: &[u8]) -> Signature {
        self.sign_hash(&hash::sha256(bytes))
    }

    fn with_secret<R>(&self, f: impl FnOnce(&SecretKey) -> R) -> R {
        let mut secret = SecretKey::from_byte_array(*self.0).expect("checked when it was made");
        let result = f(&secret);
        secret.non_secure_erase();
        result
    }
}

impl FromStr for PrivateKey {
    type Err = PrivateKeyError;

    fn from_str(text: &str) -> Result<Self, PrivateKeyError> {
        let text = text.strip_prefix(Self::PREFIX).ok_or(PrivateKeyError::MissingPrefix)?;
        Self::from_slice(&Zeroizing::new(cb58::decode(text)?))
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

/// Address of a compressed public key: `ripemd160(sha256(key))`.
pub fn address_of(public_key: &[u8; PublicKey::LEN]) -> ShortId {
    ShortId::new(hash::ripemd160(&hash::sha256(public_key)))
}

/// A public key in its compressed form.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; Self::LEN]);

impl PublicKey {
    /// Bytes of a key.
    pub const LEN: usize = 33;

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The number 4, then both coordinates.
    pub fn to_uncompressed(&self) -> [u8; 65] {
        let point = secp256k1::PublicKey::from_slice(&self.0);
        point.expect("a public key is a point").serialize_uncompressed()
    }

    /// `ripemd160(sha256(key))`.
    pub fn address(&self) -> ShortId {
        address_of(&self.0)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", crate::hexfmt::encode_plain(&self.0))
    }
}

/// The reason why the signer can't be recovered. The texts are the reference's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// `s` is above half of the group's order.
    #[error("signature was mutated from its original format")]
    Mutated,
    /// The point does not exist, a number is out of range, or the recovery code is unknown.
    #[error("invalid signature")]
    Invalid,
    /// The recovery code is 4 to 7, which means a compressed key.
    #[error("wasn't expecting a compressed key")]
    Compressed,
}

/// A recoverable signature: `r`, `s` and the recovery code, 0 to 3 in a valid signature.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature([u8; Self::LEN]);

impl Signature {
    /// Bytes of a signature.
    pub const LEN: usize = 65;

    /// A signature of any bytes. [`Signature::recover`] checks them.
    pub const fn new(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// What stands in place of the signature of an impersonated address, on networks that allow it: `r` is the address, `s`
    /// and the code are 0. No key has such a signature.
    pub fn impersonating(address: &ShortId) -> Self {
        let mut bytes = [0; Self::LEN];
        bytes[ADDRESS_AT..][..ShortId::LEN].copy_from_slice(address.as_bytes());
        Self(bytes)
    }

    /// The address that stands in place of a signature.
    pub fn impersonated(&self) -> Option<ShortId> {
        let (head, rest) = self.0.split_at(ADDRESS_AT);
        let (address, tail) = rest.split_first_chunk::<{ ShortId::LEN }>()?;
        let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        (is_zero(head) && is_zero(tail)).then(|| ShortId::new(*address))
    }

    /// The key that signed `hash`, if the signature has the only accepted form.
    pub fn recover(&self, hash: &[u8; 32]) -> Result<PublicKey, SignatureError> {
        self.recover_point(hash).map(|point| PublicKey(point.serialize()))
    }

    /// Like [`Self::recover`], with the key in its uncompressed form: 4, x, y.
    pub fn recover_uncompressed(&self, hash: &[u8; 32]) -> Result<[u8; 65], SignatureError> {
        self.recover_point(hash).map(|point| point.serialize_uncompressed())
    }

    fn recover_point(&self, hash: &[u8; 32]) -> Result<secp256k1::PublicKey, SignatureError> {
        let (rs, code) = (&self.0[..64], self.0[64]);
        if is_over_half_order(&rs[32..]) {
            return Err(SignatureError::Mutated);
        }
        let key = recover(rs, code, hash).ok_or(SignatureError::Invalid)?;
        // This error is only reported for an otherwise valid signature.
        if code & 4 != 0 {
            return Err(SignatureError::Compressed);
        }
        Ok(key)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({})", crate::hexfmt::encode_plain(&self.0))
    }
}

/// The reference reduces `s` modulo the order before it compares. From the order upwards `s` counts as small here,
/// and the recovery refuses it.
fn is_over_half_order(s: &[u8]) -> bool {
    s > HALF_ORDER.as_slice() && s < secp256k1::constants::CURVE_ORDER.as_slice()
}

fn recover(rs: &[u8], code: u8, hash: &[u8; 32]) -> Option<secp256k1::PublicKey> {
    if code > 7 {
        return None;
    }
    let recovery = RecoveryId::try_from(i32::from(code & 3)).ok()?;
    let signature = RecoverableSignature::from_compact(rs, recovery).ok()?;
    CURVE.recover_ecdsa(Message::from_digest(*hash), &signature).ok()
}
