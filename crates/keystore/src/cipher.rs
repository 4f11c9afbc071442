//! The two primitives that everything here rests on: argon2id and XChaCha20-Poly1305.

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

/// Bytes of a salt.
pub(crate) const SALT_LEN: usize = 16;
/// Bytes of every key here.
pub(crate) const KEY_LEN: usize = 32;
/// Bytes of a nonce.
pub(crate) const NONCE_LEN: usize = 24;

/// argon2id with the reference's cost: time 1, 64 MiB, 4 lanes. About 60 ms of one core.
const PASSES: u32 = 1;
const MEMORY_KIB: u32 = 65_536;
const LANES: u32 = 4;

/// A secret key; wiped when dropped.
pub(crate) type SecretKey = Zeroizing<[u8; KEY_LEN]>;

/// The argon2id key of a password.
pub(crate) fn password_key(password: &[u8], salt: &[u8; SALT_LEN]) -> SecretKey {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, Some(KEY_LEN))
        .expect("the cost parameters are within argon2's limits");
    let mut key = SecretKey::default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(password, salt, key.as_mut_slice())
        .expect("salt and output have lengths that argon2 takes");
    key
}

/// Encrypts; `bound` is authenticated as well, so that a value cannot be moved to another place.
pub(crate) fn encrypt(
    key: &[u8; KEY_LEN],
    nonce: &[u8; NONCE_LEN],
    plain: &[u8],
    bound: &[u8],
) -> Vec<u8> {
    XChaCha20Poly1305::new(Key::from_slice(key))
        .encrypt(XNonce::from_slice(nonce), Payload { msg: plain, aad: bound })
        .expect("values are far below the cipher's limit")
}

/// Decrypts; `None` if key, place or bytes are not those of [`encrypt`].
pub(crate) fn decrypt(
    key: &[u8; KEY_LEN],
    nonce: &[u8; NONCE_LEN],
    ciphertext: &[u8],
    bound: &[u8],
) -> Option<Zeroizing<Vec<u8>>> {
    XChaCha20Poly1305::new(Key::from_slice(key))
        .decrypt(XNonce::from_slice(nonce), Payload { msg: ciphertext, aad: bound })
        .ok()
        .map(Zeroizing::new)
}
