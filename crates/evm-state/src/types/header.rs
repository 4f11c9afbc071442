//! The block header. The C-Chain's has 22 fields, the last six optional (docs/protocol/c-chain-blocks.md, "Header").

use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U256, b256, keccak256};
use alloy_rlp::{Buf, BufMut, Decodable, EMPTY_STRING_CODE, Encodable, Header as RlpHeader};

/// Hash of an empty list of uncles, which every block has.
pub const EMPTY_OMMERS_HASH: B256 =
    b256!("0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347");

/// A block header, with the fields of all chains. The encoding of the traits here is the C-Chain's. Ethereum's order
/// of fields differs: here `ext_data_hash` stands between the nonce and the base fee, so the two can't be mistaken
/// for each other.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Header {
    /// Hash of the parent.
    pub parent_hash: B256,
    /// Hash of the uncles; [`EMPTY_OMMERS_HASH`] without any.
    pub ommers_hash: B256,
    /// Recipient of the fees; a fixed address in every block but genesis.
    pub coinbase: Address,
    /// Root of the state after the block.
    pub state_root: B256,
    /// Root of the transactions.
    pub transactions_root: B256,
    /// Root of the receipts.
    pub receipts_root: B256,
    /// Bloom filter of all logs.
    pub bloom: Bloom,
    /// 1 in every block but genesis.
    pub difficulty: U256,
    /// Blocks since genesis.
    pub number: u64,
    /// Gas limit of the block's transactions.
    pub gas_limit: u64,
    /// Gas of the block's transactions, without atomic transactions.
    pub gas_used: u64,
    /// Unix s.
    pub time: u64,
    /// Fee window and predicate results, by phase.
    pub extra: Bytes,
    /// Zero.
    pub mix_digest: B256,
    /// Zero.
    pub nonce: B64,
    /// Hash of the block's ext data; zero in genesis.
    pub ext_data_hash: B256,
    /// Base fee, wei a gas; from Apricot 3 on.
    pub base_fee: Option<U256>,
    /// Gas of the atomic transactions; from Apricot 4 on.
    pub ext_data_gas_used: Option<U256>,
    /// Gas that the tips must pay for; from Apricot 4 on.
    pub block_gas_cost: Option<U256>,
    /// 0; from Etna on.
    pub blob_gas_used: Option<u64>,
    /// 0; from Etna on.
    pub excess_blob_gas: Option<u64>,
    /// Zero hash; from Etna on.
    pub parent_beacon_root: Option<B256>,
    /// Root of the withdrawals (EIP-4895); `None` on the C-Chain.
    pub withdrawals_root: Option<B256>,
    /// Hash of the requests (EIP-7685); `None` on the C-Chain.
    pub requests_hash: Option<B256>,
}

impl Header {
    /// Whether the block has uncles.
    pub fn has_uncles(&self) -> bool {
        self.ommers_hash != EMPTY_OMMERS_HASH
    }

    /// keccak of the encoding; the block's hash.
    pub fn hash(&self) -> B256 {
        keccak256(alloy_rlp::encode(self))
    }

    /// Number of the six optional fields that are written: up to the last present one.
    fn optional_fields(&self) -> usize {
        let present = [
            self.base_fee.is_some(),
            self.ext_data_gas_used.is_some(),
            self.block_gas_cost.is_some(),
            self.blob_gas_used.is_some(),
            self.excess_blob_gas.is_some(),
            self.parent_beacon_root.is_some(),
        ];
        present.iter().rposition(|present| *present).map_or(0, |last| last + 1)
    }

    /// Calls `field` for every written field. An absent field before a present one is `None`, which is written as an
    /// empty string.
    fn each_field<'a>(&'a self, mut field: impl FnMut(Option<&'a dyn Encodable>)) {
        let fixed: [&dyn Encodable; 16] = [
            &self.parent_hash,
            &self.ommers_hash,
            &self.coinbase,
            &self.state_root,
            &self.transactions_root,
            &self.receipts_root,
            &self.bloom,
            &self.difficulty,
            &self.number,
            &self.gas_limit,
            &self.gas_used,
            &self.time,
            &self.extra,
            &self.mix_digest,
            &self.nonce,
            &self.ext_data_hash,
        ];
        fixed.into_iter().for_each(|value| field(Some(value)));
        fn erase<T: Encodable>(value: &Option<T>) -> Option<&dyn Encodable> {
            value.as_ref().map(|value| value as &dyn Encodable)
        }
        let optional = [
            erase(&self.base_fee),
            erase(&self.ext_data_gas_used),
            erase(&self.block_gas_cost),
            erase(&self.blob_gas_used),
            erase(&self.excess_blob_gas),
            erase(&self.parent_beacon_root),
        ];
        optional.into_iter().take(self.optional_fields()).for_each(field);
    }

    fn payload_length(&self) -> usize {
        let mut length = 0;
        self.each_field(|value| length += value.map_or(1, Encodable::length));
        length
    }
}

impl Encodable for Header {
    fn encode(&self, out: &mut dyn BufMut) {
        RlpHeader { list: true, payload_length: self.payload_length() }.encode(out);
        self.each_field(|value| match value {
            Some(value) => value.encode(out),
            None => out.put_u8(EMPTY_STRING_CODE),
        });
    }

    fn length(&self) -> usize {
        let payload_length = self.payload_length();
        RlpHeader { list: true, payload_length }.length_with_payload()
    }
}

impl Decodable for Header {
    fn decode(buf: &mut &[u8]) -> alloy_rlp::Result<Self> {
        let mut list = RlpHeader::decode_bytes(buf, true)?;
        let b = &mut list;
        let header = Self {
            parent_hash: Decodable::decode(b)?,
            ommers_hash: Decodable::decode(b)?,
            coinbase: Decodable::decode(b)?,
            state_root: Decodable::decode(b)?,
            transactions_root: Decodable::decode(b)?,
            receipts_root: Decodable::decode(b)?,
            bloom: Decodable::decode(b)?,
            difficulty: Decodable::decode(b)?,
            number: Decodable::decode(b)?,
            gas_limit: Decodable::decode(b)?,
            gas_used: Decodable::decode(b)?,
            time: Decodable::decode(b)?,
            extra: Decodable::decode(b)?,
            mix_digest: Decodable::decode(b)?,
            nonce: Decodable::decode(b)?,
            ext_data_hash: Decodable::decode(b)?,
            base_fee: optional(b)?,
            ext_data_gas_used: optional(b)?,
            block_gas_cost: optional(b)?,
            blob_gas_used: optional(b)?,
            excess_blob_gas: optional(b)?,
            parent_beacon_root: optional_hash(b)?,
            withdrawals_root: None,
            requests_hash: None,
        };
        if b.is_empty() { Ok(header) } else { Err(alloy_rlp::Error::UnexpectedLength) }
    }
}

/// The next optional number. An empty string is zero, as in the reference.
fn optional<T: Decodable>(buf: &mut &[u8]) -> alloy_rlp::Result<Option<T>> {
    if buf.has_remaining() { T::decode(buf).map(Some) } else { Ok(None) }
}

fn optional_hash(buf: &mut &[u8]) -> alloy_rlp::Result<Option<B256>> {
    optional(buf)
}
