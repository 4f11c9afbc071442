//! The bytes of accounts, headers and blocks.

use alloy_consensus::{Header as EthereumHeader, TrieAccount};
use alloy_rlp::{Decodable, Encodable, Header as RlpHeader};
use esker_evm_execution::rules::BlockCodec;
use esker_evm_state::types::{Account, AccountCodec, Block, Header};

use super::ethereum::EthereumRules;
use crate::block::{
    decode_stored, encode_block, encode_stored, from_state_header, standard_form, to_state_header,
};

/// Four fields.
impl AccountCodec for EthereumRules {
    fn encode_account(&self, account: &Account, out: &mut Vec<u8>) {
        let Account { nonce, balance, storage_root, code_hash, is_multi_coin: _ } = *account;
        TrieAccount { nonce, balance, storage_root, code_hash }.encode(out);
    }
}

impl BlockCodec for EthereumRules {
    fn decode_block(&self, bytes: &[u8]) -> alloy_rlp::Result<Block> {
        decode_stored(bytes)
    }

    fn decode_header_of(&self, block: &[u8]) -> alloy_rlp::Result<Header> {
        let mut list = RlpHeader::decode_bytes(&mut standard_form(block)?, true)?;
        EthereumHeader::decode(&mut list).map(to_state_header)
    }

    fn encode_block(&self, block: &Block) -> Vec<u8> {
        encode_stored(block)
    }

    fn published_block(&self, block: &Block) -> Vec<u8> {
        encode_block(block)
    }

    fn encode_header(&self, header: &Header) -> Vec<u8> {
        alloy_rlp::encode(from_state_header(header))
    }
}
