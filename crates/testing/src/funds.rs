//! Keys of the local and development networks: public, therefore worthless.

use esker_primitives::keys::PrivateKey;

/// The well-known key that holds 300,000,000 native units at index 1 of the genesis.
pub const FUNDED: &str = "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN";

/// The funded key.
pub fn funded() -> PrivateKey {
    FUNDED.parse().expect("a well-known key")
}

/// A key without funds: the byte `n` (not zero) 32 times over.
pub fn key(n: u8) -> PrivateKey {
    PrivateKey::from_slice(&[n; 32]).expect("below the order of the curve, and not zero")
}
