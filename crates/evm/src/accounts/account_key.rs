//! The key of one account.

use std::fmt;
use std::sync::LazyLock;

use alloy_primitives::{Address, B256, Signature, U256};
use esker_primitives::PrivateKey;
use esker_primitives::keys::PublicKey;
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{Message, Secp256k1, VerifyOnly};

/// The tables that recovery needs, built once.
static CURVE: LazyLock<Secp256k1<VerifyOnly>> = LazyLock::new(Secp256k1::verification_only);

/// The key of an account. It is wiped when dropped, and never shown.
#[derive(Clone)]
pub struct AccountKey(PrivateKey);

impl AccountKey {
    /// Wraps a private key.
    pub const fn new(key: PrivateKey) -> Self {
        Self(key)
    }

    /// The address of the account.
    pub fn address(&self) -> Address {
        address_of_key(&self.0.public_key())
    }

    /// The key itself: handle with care.
    pub const fn private_key(&self) -> &PrivateKey {
        &self.0
    }

    /// Signs a hash: deterministic, the lower `s`.
    pub fn sign_hash(&self, hash: &B256) -> Signature {
        let signed = self.0.sign_hash(&hash.0);
        let [r, s] =
            [&signed.as_bytes()[..32], &signed.as_bytes()[32..64]].map(U256::from_be_slice);
        // Recovery codes 2 and 3 need an `r` above the order, which does not occur in practice.
        Signature::new(r, s, signed.as_bytes()[64] & 1 == 1)
    }
}

/// The account of a key: the end of the keccak hash of the uncompressed public key.
pub fn address_of_key(key: &PublicKey) -> Address {
    Address::from_raw_public_key(&key.to_uncompressed()[1..])
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountKey({})", self.address())
    }
}

/// The account that signed a hash. `rs` are `r` and `s`; `is_odd` says whether `y` is odd. A high `s` is accepted, as
/// in the reference.
pub fn recover_signer(hash: &B256, rs: &[u8; 64], is_odd: bool) -> Option<Address> {
    let recovery = if is_odd { RecoveryId::One } else { RecoveryId::Zero };
    let signature = RecoverableSignature::from_compact(rs, recovery).ok()?;
    let key = CURVE.recover_ecdsa(Message::from_digest(hash.0), &signature).ok()?;
    Some(Address::from_raw_public_key(&key.serialize_uncompressed()[1..]))
}
