//! The bytes of headers and blocks.

use alloy_consensus::Header;
use alloy_rlp::{Decodable, Encodable};
use esker_evm_state::types::Transaction;

/// A block: header, transactions, headers of ommers, and withdrawals from Shanghai on.
pub type Block = alloy_consensus::Block<Transaction>;

/// Reads a header. Any bytes give a header or an error; only one encoding of a header is accepted.
///
/// # Errors
/// The bytes are no header, or more than one.
pub fn parse_header(bytes: &[u8]) -> alloy_rlp::Result<Header> {
    whole(bytes, "header is not in its canonical form")
}

/// Reads a block. Any bytes give a block or an error. No bytes may be left over, and only one encoding of a block is
/// accepted: its hash does not cover how its transactions are wrapped.
///
/// # Errors
/// The bytes are no block, or more than one.
pub fn parse_block(bytes: &[u8]) -> alloy_rlp::Result<Block> {
    whole(bytes, "block is not in its canonical form")
}

fn whole<T: Decodable + Encodable>(
    mut bytes: &[u8],
    not_canonical: &'static str,
) -> alloy_rlp::Result<T> {
    let all = bytes;
    let value = T::decode(&mut bytes)?;
    if !bytes.is_empty() {
        return Err(alloy_rlp::Error::UnexpectedLength);
    }
    if alloy_rlp::encode(&value) != all {
        return Err(alloy_rlp::Error::Custom(not_canonical));
    }
    Ok(value)
}
