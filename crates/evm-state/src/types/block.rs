//! The block: five items (docs/protocol/c-chain-blocks.md, "Block bytes").

use alloy_consensus::TxEnvelope;
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{B256, Bytes, b256, keccak256};
use alloy_rlp::{BufMut, Decodable, Encodable, Header as RlpHeader};
use alloy_trie::root::ordered_trie_root_with_encoder;

use super::Header;

/// A signed transaction of any of Ethereum's types. Types above 2 decode, so that they can be refused with their
/// name. No block holds such a transaction.
pub type Transaction = TxEnvelope;

/// [`ext_data_hash`] of empty ext data.
pub const EMPTY_EXT_DATA_HASH: B256 =
    b256!("0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

/// keccak of the RLP string of a block's ext data (docs/protocol/c-chain-blocks.md, "Ext data hash").
pub fn ext_data_hash(ext_data: &[u8]) -> B256 {
    if ext_data.is_empty() {
        return EMPTY_EXT_DATA_HASH;
    }
    keccak256(alloy_rlp::encode(ext_data))
}

/// A block. The C-Chain's has a header, transactions, uncles (never any), a version (always 0), and the bytes of its
/// atomic transactions; its encoding is that of the traits here. Other chains have their own
/// (`esker_evm_execution::rules::BlockCodec`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The header.
    pub header: Header,
    /// The transactions.
    pub transactions: Vec<Transaction>,
    /// Headers of uncles. A block of the C-Chain with uncles decodes, but is refused.
    pub uncles: Vec<Header>,
    /// 0.
    pub version: u32,
    /// Atomic transactions; empty for none.
    pub ext_data: Bytes,
    /// Withdrawals of validators (EIP-4895); `None` on the C-Chain.
    pub withdrawals: Option<Vec<Withdrawal>>,
}

impl Block {
    /// Reads a block. Any bytes give a block or an error. No bytes may be left over, and only one encoding of a block
    /// is accepted: its hash does not cover how its transactions are wrapped.
    pub fn parse(mut bytes: &[u8]) -> alloy_rlp::Result<Self> {
        let all = bytes;
        let block = Self::decode(&mut bytes)?;
        if !bytes.is_empty() {
            return Err(alloy_rlp::Error::UnexpectedLength);
        }
        if block.to_bytes() != all {
            return Err(alloy_rlp::Error::Custom("block is not in its canonical form"));
        }
        Ok(block)
    }

    /// The block's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        alloy_rlp::encode(self)
    }

    /// The block's hash.
    pub fn hash(&self) -> B256 {
        self.header.hash()
    }

    /// Root of the transactions.
    pub fn transactions_root(&self) -> B256 {
        ordered_trie_root_with_encoder(&self.transactions, |tx, out| tx.encode_2718(out))
    }

    fn transactions_length(&self) -> usize {
        self.transactions.iter().map(Encodable2718::network_len).sum()
    }

    fn payload_length(&self) -> usize {
        let payload_length = self.transactions_length();
        self.header.length()
            + RlpHeader { list: true, payload_length }.length_with_payload()
            + self.uncles.length()
            + self.version.length()
            + self.ext_data.length()
    }
}

impl Encodable for Block {
    fn encode(&self, out: &mut dyn BufMut) {
        RlpHeader { list: true, payload_length: self.payload_length() }.encode(out);
        self.header.encode(out);
        RlpHeader { list: true, payload_length: self.transactions_length() }.encode(out);
        self.transactions.iter().for_each(|tx| tx.network_encode(out));
        self.uncles.encode(out);
        self.version.encode(out);
        self.ext_data.encode(out);
    }

    fn length(&self) -> usize {
        let payload_length = self.payload_length();
        RlpHeader { list: true, payload_length }.length_with_payload()
    }
}

impl Decodable for Block {
    fn decode(buf: &mut &[u8]) -> alloy_rlp::Result<Self> {
        let mut list = RlpHeader::decode_bytes(buf, true)?;
        let header = Header::decode(&mut list)?;
        let mut encoded = RlpHeader::decode_bytes(&mut list, true)?;
        let mut transactions = Vec::new();
        while !encoded.is_empty() {
            transactions.push(Transaction::network_decode(&mut encoded)?);
        }
        let uncles = Vec::<Header>::decode(&mut list)?;
        let version = u32::decode(&mut list)?;
        let ext_data = Bytes::decode(&mut list)?;
        if !list.is_empty() {
            return Err(alloy_rlp::Error::UnexpectedLength);
        }
        Ok(Self { header, transactions, uncles, version, ext_data, withdrawals: None })
    }
}
