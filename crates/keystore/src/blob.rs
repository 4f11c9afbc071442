//! The reference's record forms of an exported user (docs/protocol/keystore.md, "Exported users").
//!
//! ```text
//! user    u16 0 | hash 32 | salt 16 | u32 n | n * ( u32 len | key | u32 len | value )    ascending by key
//! value   u16 0 | u32 len | ciphertext and tag | u32 24 | nonce                          no bound data
//! hash    argon2id(password, salt)      key of the values    sha256(password)
//! ```

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::hash::sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::cipher::{self, KEY_LEN, NONCE_LEN, SALT_LEN, SecretKey};
use crate::error::KeystoreError;

/// Longest blob in bytes, as in the reference.
pub const MAX_SIZE: usize = 1 << 30;

/// Longest key of an entry in bytes: the reference's have 52 or 64, and the store takes twice this.
pub const MAX_ENTRY_KEY: usize = 256;

/// An exported user: its values are encrypted, its keys are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedUser {
    hash: [u8; KEY_LEN],
    salt: [u8; SALT_LEN],
    entries: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Keys and values of a user in the clear; wiped when dropped.
pub(crate) type PlainEntries = Vec<(Vec<u8>, Zeroizing<Vec<u8>>)>;

impl ExportedUser {
    /// Reads a blob; total on any bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, CodecError> {
        Self::from_versioned_bytes(bytes, MAX_SIZE)
    }

    /// The blob's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_versioned_bytes()
    }

    /// Encrypts a user's entries. Costs one hash.
    pub(crate) fn encrypt(
        password: &str,
        salt: [u8; SALT_LEN],
        entries: &PlainEntries,
        mut nonce: impl FnMut() -> [u8; NONCE_LEN],
    ) -> Self {
        let hash = *cipher::password_key(password.as_bytes(), &salt);
        let key = value_key(password);
        let ciphertext = entries.iter().map(|(name, plain)| {
            let nonce = nonce();
            let mut w = Writer::default();
            w.u16(0);
            w.bytes(&cipher::encrypt(&key, &nonce, plain, &[]));
            w.bytes(&nonce);
            (name.clone(), w.into_vec())
        });
        Self { hash, salt, entries: ciphertext.collect() }
    }

    /// Checks the password and decrypts all entries; `None` if the password is wrong. Costs one hash.
    pub(crate) fn decrypt(&self, password: &str) -> Option<Result<PlainEntries, KeystoreError>> {
        let hash = cipher::password_key(password.as_bytes(), &self.salt);
        if !bool::from(hash.ct_eq(&self.hash)) {
            return None;
        }
        let key = value_key(password);
        let open = |(name, value): &(Vec<u8>, Vec<u8>)| {
            let fits = name.len() <= MAX_ENTRY_KEY;
            let plain = fits.then(|| open_value(&key, value)).flatten();
            let plain = plain.ok_or(KeystoreError::DamagedBlob)?;
            Ok((name.clone(), plain))
        };
        Some(self.entries.iter().map(open).collect())
    }
}

fn value_key(password: &str) -> SecretKey {
    Zeroizing::new(sha256(password.as_bytes()))
}

fn open_value(key: &SecretKey, value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut r = Reader::new(value);
    if r.u16().ok()? != 0 {
        return None;
    }
    let ciphertext = r.bytes().ok()?;
    let nonce = r.bytes().ok()?.try_into().ok()?;
    r.finish().ok()?;
    cipher::decrypt(key, nonce, ciphertext, &[])
}

impl Encode for ExportedUser {
    fn encode(&self, w: &mut Writer) {
        w.fixed(&self.hash);
        w.fixed(&self.salt);
        w.len(self.entries.len());
        for (key, value) in &self.entries {
            w.bytes(key);
            w.bytes(value);
        }
    }
}

impl Decode for ExportedUser {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let (hash, salt) = (r.fixed()?, r.fixed()?);
        let n = r.slice_len()?;
        let entries = (0..n)
            .map(|_| Ok((r.bytes()?.to_vec(), r.bytes()?.to_vec())))
            .collect::<Result<_, CodecError>>()?;
        Ok(Self { hash, salt, entries })
    }
}
