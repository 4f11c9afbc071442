//! The tables of accepted blocks: blocks, receipts and locations. Their tags are 0x50 to 0x54, 0x57 and 0x5a of the
//! chain's scope. The pool uses 0x58 and 0x59 for the reasons of dropped transactions.

use alloy_primitives::B256;
use esker_storage::{Table, ValueCodec};

use crate::state::StoredSum;
use crate::types::StoredReceipts;

/// A hash as a key.
pub type HashKey = [u8; 32];

/// Bytes of accepted blocks by height.
pub const BLOCKS: Table<u64, Vec<u8>> = Table::new(0x50, "block");
/// Heights of accepted blocks by hash.
pub const HEIGHTS: Table<HashKey, u64> = Table::new(0x51, "block height");
/// Receipts of accepted blocks by height.
pub const RECEIPTS: Table<u64, StoredReceipts> = Table::new(0x52, "receipts");
/// Locations of accepted transactions by hash.
pub const LOCATIONS: Table<HashKey, Location> = Table::new(0x53, "transaction location");
/// The last accepted block, in one row.
pub const TIP: Table<(), Tip> = Table::new(0x54, "tip");
/// Wei that contracts destroyed in the block at a height. No row holds zero.
pub const DESTROYED: Table<u64, StoredSum> = Table::new(0x57, "destroyed");
/// Sums of the difficulties from the first block up to the one at a height, both included. Only blocks with a
/// difficulty have a row, and only if the chain's rules need it.
pub const TOTAL_DIFFICULTIES: Table<u64, StoredSum> = Table::new(0x5a, "total difficulty");

/// The location of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Height of its block.
    pub height: u64,
    /// Index in the block, from 0.
    pub index: u32,
}

/// The last accepted block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Height of the block.
    pub height: u64,
    /// Hash of the block.
    pub hash: B256,
    /// No state below this height can be read.
    pub oldest_state: u64,
}

impl ValueCodec for Location {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.height.to_be_bytes());
        out.extend_from_slice(&self.index.to_be_bytes());
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        let (height, index) = bytes.split_first_chunk()?;
        let (height, index) = (u64::from_be_bytes(*height), index.try_into().ok()?);
        Some(Self { height, index: u32::from_be_bytes(index) })
    }
}

impl ValueCodec for Tip {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.height.to_be_bytes());
        out.extend_from_slice(self.hash.as_slice());
        out.extend_from_slice(&self.oldest_state.to_be_bytes());
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        let (height, rest) = bytes.split_first_chunk()?;
        let (hash, oldest) = rest.split_first_chunk::<32>()?;
        Some(Self {
            height: u64::from_be_bytes(*height),
            hash: B256::from(*hash),
            oldest_state: u64::from_be_bytes(oldest.try_into().ok()?),
        })
    }
}
