//! The account in Ethereum's state trie.

use alloy_rlp::{Encodable, Header};
use esker_evm_state::types::{Account, AccountCodec};

/// Accounts of four fields.
#[derive(Debug)]
pub(crate) struct FourFields;

impl AccountCodec for FourFields {
    fn encode_account(&self, account: &Account, out: &mut Vec<u8>) {
        let fields: [&dyn Encodable; 4] =
            [&account.nonce, &account.balance, &account.storage_root, &account.code_hash];
        let payload_length = fields.iter().map(|field| field.length()).sum();
        Header { list: true, payload_length }.encode(out);
        fields.iter().for_each(|field| field.encode(out));
    }
}
