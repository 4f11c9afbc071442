//! The data that validators sign.

use std::sync::{Arc, LazyLock};

use esker_chain::Bundle;
use esker_engine_bft::CertificateVerifier;
use esker_primitives::{Id, Randomness};
use esker_validators::ValidatorKey;

/// The network of the inputs.
const NETWORK: u32 = 7;

/// Its four validators, with fixed keys.
static VERIFIER: LazyLock<CertificateVerifier> = LazyLock::new(|| {
    let validators = [1, 2, 3, 4].map(|n| ValidatorKey::from_bytes(&[n; 32]).public_key());
    let randomness: Randomness = Arc::new(|bytes: &mut [u8]| bytes.fill(0x5a));
    CertificateVerifier::new(NETWORK, Id::ZERO, &validators, randomness).expect("four validators")
});

/// A certificate of a fixed bundle.
pub(super) fn certificate(bytes: &[u8]) -> bool {
    let (version, parent, commitment) =
        (Bundle::VERSION, Id::sha256(b"parent"), Id::sha256(b"state"));
    let bundle =
        Bundle { version, parent, height: 5, timestamp_ms: 1_000, commitment, blocks: Vec::new() };
    let is_valid = VERIFIER.verify(&bundle, bytes).is_ok();
    assert!(!is_valid || VERIFIER.verify(&Bundle { height: 6, ..bundle }, bytes).is_err());
    is_valid
}
