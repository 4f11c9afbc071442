//! Nonces, which exports use up.

use alloy_primitives::Address;

/// A nonce of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountNonce {
    /// The account.
    pub account: Address,
    /// The nonce.
    pub nonce: u64,
}

impl AccountNonce {
    /// The nonce before this one; none before the first.
    pub fn previous(self) -> Option<Self> {
        Some(Self { nonce: self.nonce.checked_sub(1)?, ..self })
    }
}
