//! The account in Ethereum's state trie.

use alloy_consensus::TrieAccount;
use alloy_rlp::Encodable;
use esker_evm_state::types::{Account, AccountCodec};

/// Accounts of four fields.
#[derive(Debug)]
pub(crate) struct FourFields;

impl AccountCodec for FourFields {
    fn encode_account(&self, account: &Account, out: &mut Vec<u8>) {
        let Account { nonce, balance, storage_root, code_hash, is_multi_coin: _ } = *account;
        TrieAccount { nonce, balance, storage_root, code_hash }.encode(out);
    }
}
