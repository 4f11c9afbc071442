//! The port to who learns what is read of a state.

use alloy_primitives::{Address, Bytes, U256};

/// Learns what is read of a state ([`super::StateView::with_recorder`]), also what is not there.
pub trait StateRecorder: Sync {
    /// An account was read.
    fn account(&self, address: &Address);

    /// A slot was read.
    fn slot(&self, address: &Address, slot: U256);

    /// Code was read.
    fn code(&self, code: &Bytes);

    /// A node of the account trie or of a storage trie was read: its RLP.
    fn node(&self, rlp: &[u8]);
}
