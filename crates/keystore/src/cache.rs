//! Passwords that were verified lately, so that a client's every call need not cost a hash.
//!
//! A password is kept as a digest under a key of this process, and the data key that it opens is kept
//! encrypted under another such digest: memory holds neither password nor data key.

use std::num::NonZeroUsize;

use esker_primitives::sync::Mutex;
use hmac::{Hmac, Mac};
use lru::LruCache;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::cipher::{self, KEY_LEN, NONCE_LEN, SALT_LEN, SecretKey};

/// Users whose password is remembered.
const MAX_REMEMBERED: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

#[derive(Debug)]
struct Remembered {
    digest: [u8; KEY_LEN],
    sealed_data_key: Vec<u8>,
}

/// Remembered passwords by the salt of their user's record, which is new with every record.
#[derive(Debug)]
pub(crate) struct Cache {
    process_key: SecretKey,
    entries: Mutex<LruCache<[u8; SALT_LEN], Remembered>>,
}

impl Cache {
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

    pub(crate) fn remember(&self, salt: &[u8; SALT_LEN], password: &str, data_key: &[u8; KEY_LEN]) {
        // Each sealing key seals this one value, so that the nonce may be fixed.
        let key = self.digest(b"seal", salt, password);
        let sealed_data_key = cipher::seal(&key, &[0; NONCE_LEN], data_key, &[]);
        let digest = *self.digest(b"check", salt, password);
        self.entries.lock().put(*salt, Remembered { digest, sealed_data_key });
    }

    /// The data key, if this very password was remembered.
    pub(crate) fn recall(&self, salt: &[u8; SALT_LEN], password: &str) -> Option<SecretKey> {
        let digest = self.digest(b"check", salt, password);
        let sealed = {
            let mut entries = self.entries.lock();
            let entry = entries.get(salt)?;
            if !bool::from(entry.digest.ct_eq(&*digest)) {
                return None;
            }
            entry.sealed_data_key.clone()
        };
        let key = self.digest(b"seal", salt, password);
        let plain = cipher::open(&key, &[0; NONCE_LEN], &sealed, &[])?;
        plain.as_slice().try_into().ok().map(Zeroizing::new)
    }

    pub(crate) fn forget(&self, salt: &[u8; SALT_LEN]) {
        self.entries.lock().pop(salt);
    }
}
