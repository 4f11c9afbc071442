//! The account in the state trie.

use alloy_primitives::{B256, U256};
use alloy_rlp::{RlpDecodable, RlpEncodable};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY};

/// An account: five fields, one more than Ethereum's (docs/protocol/c-chain-state.md, "Accounts"). Every state root
/// and account proof differs from Ethereum's because of the fifth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct Account {
    /// Transactions sent, or contracts created by a contract.
    pub nonce: u64,
    /// Wei.
    pub balance: U256,
    /// Root of the storage trie.
    pub storage_root: B256,
    /// Hash of the code; the hash of the empty string for an account without code.
    pub code_hash: B256,
    /// Whether it ever held another asset than the native one.
    pub is_multi_coin: bool,
}

/// The encoding of accounts as leaves of the account trie. The rules define it.
pub trait AccountCodec: Send + Sync + std::fmt::Debug + 'static {
    /// Writes an account as the trie's leaf.
    fn encode_account(&self, account: &Account, out: &mut Vec<u8>);
}

impl Default for Account {
    fn default() -> Self {
        Self {
            nonce: 0,
            balance: U256::ZERO,
            storage_root: EMPTY_ROOT_HASH,
            code_hash: KECCAK_EMPTY,
            is_multi_coin: false,
        }
    }
}

impl Account {
    /// Whether it is empty by EIP-161. An account that ever held another asset is not empty.
    pub fn is_empty(&self) -> bool {
        self.nonce == 0
            && self.balance.is_zero()
            && self.code_hash == KECCAK_EMPTY
            && !self.is_multi_coin
    }
}
