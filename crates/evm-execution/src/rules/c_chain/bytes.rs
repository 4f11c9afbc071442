//! The bytes of accounts, headers and blocks.

use alloy_rlp::{Decodable, Encodable, Header as RlpHeader};
use esker_evm_state::types::{Account, AccountCodec, Block, Header};

use super::rules::CChainRules;
use crate::rules::interface::BlockCodec;

impl AccountCodec for CChainRules {
    fn encode_account(&self, account: &Account, out: &mut Vec<u8>) {
        account.encode(out);
    }
}

impl BlockCodec for CChainRules {
    fn decode_block(&self, bytes: &[u8]) -> alloy_rlp::Result<Block> {
        Block::parse(bytes)
    }

    fn decode_header_of(&self, mut block: &[u8]) -> alloy_rlp::Result<Header> {
        let mut list = RlpHeader::decode_bytes(&mut block, true)?;
        Header::decode(&mut list)
    }

    fn encode_block(&self, block: &Block) -> Vec<u8> {
        block.to_bytes()
    }

    fn encode_header(&self, header: &Header) -> Vec<u8> {
        alloy_rlp::encode(header)
    }
}
