//! The two hash functions of the X-Chain.

use ripemd::Ripemd160;
use sha2::{Digest, Sha256};

/// Bytes of the checksum that cb58 and checksummed hex append.
pub const CHECKSUM_LEN: usize = 4;

/// SHA-256, in hardware if the processor supports it.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// SHA-256 of the concatenation of the parts.
pub fn sha256_parts(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// RIPEMD-160.
pub fn ripemd160(bytes: &[u8]) -> [u8; 20] {
    Ripemd160::digest(bytes).into()
}

/// The *last* four bytes of a *single* SHA-256.
pub fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_LEN] {
    let [.., a, b, c, d] = sha256(bytes);
    [a, b, c, d]
}
