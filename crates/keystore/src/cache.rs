//! Passwords that were verified recently, so that not every call of a client costs a hash.
//!
//! A password is kept as a digest under a key of this process. Its data key is kept encrypted under another such
//! digest. So memory holds neither the password nor the data key.

use std::num::NonZeroUsize;

use esker_primitives::sync::Mutex;
use hmac::{Hmac, Mac};
use lru::LruCache;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::cipher::{self, KEY_LEN, NONCE_LEN, SALT_LEN, SecretKey};

/// Most users whose password is cached.
const MAX_REMEMBERED: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

#[derive(Debug)]
struct CachedPassword {
    digest: [u8; KEY_LEN],
    encrypted_data_key: Vec<u8>,
}

/// Verified passwords by the salt of their user's record, which is new with every record.
#[derive(Debug)]
pub(crate) struct PasswordCache {
    process_key: SecretKey,
    entries: Mutex<LruCache<[u8; SALT_LEN], CachedPassword>>,
}

impl PasswordCache {
    pub(crate) fn new(process_key: SecretKey) -> Self {
        let entries = Mutex::new_named("keystore.cache", LruCache::new(MAX_REMEMBERED));
        Self { process_key, entries }
    }

    fn digest(&self, purpose: &[u8], salt: &[u8; SALT_LEN], password: &str) -> SecretKey {
        let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(self.process_key.as_slice())
            .expect("HMAC takes keys of any length");
        mac.update(purpose);
        mac.update(salt);
        mac.update(password.as_bytes());
        Zeroizing::new(mac.finalize().into_bytes().into())
    }

    pub(crate) fn insert(&self, salt: &[u8; SALT_LEN], password: &str, data_key: &[u8; KEY_LEN]) {
        // Each key encrypts this one value, so the nonce may be fixed.
        let key = self.digest(b"seal", salt, password);
        let encrypted_data_key = cipher::encrypt(&key, &[0; NONCE_LEN], data_key, &[]);
        let digest = *self.digest(b"check", salt, password);
        self.entries.lock().put(*salt, CachedPassword { digest, encrypted_data_key });
    }

    /// The data key, if this password is cached.
    pub(crate) fn get(&self, salt: &[u8; SALT_LEN], password: &str) -> Option<SecretKey> {
        let digest = self.digest(b"check", salt, password);
        let ciphertext = {
            let mut entries = self.entries.lock();
            let entry = entries.get(salt)?;
            if !bool::from(entry.digest.ct_eq(&*digest)) {
                return None;
            }
            entry.encrypted_data_key.clone()
        };
        let key = self.digest(b"seal", salt, password);
        let plain = cipher::decrypt(&key, &[0; NONCE_LEN], &ciphertext, &[])?;
        plain.as_slice().try_into().ok().map(Zeroizing::new)
    }

    pub(crate) fn remove(&self, salt: &[u8; SALT_LEN]) {
        self.entries.lock().pop(salt);
    }
}
