//! Blocks: a position in the chain, a time, and transactions.

use std::fmt;

use bytes::Bytes;
use esker_primitives::codec::{self, CodecError, Reader, Writer};
use esker_primitives::ids::{BlockId, Id};
use esker_utxo::type_id::{self, interface};

use super::Tx;

/// A standard block, the only kind there is.
#[derive(Clone, PartialEq, Eq)]
pub struct Block {
    parent_id: BlockId,
    height: u64,
    time_s: u64,
    merkle_root: Id,
    txs: Vec<Tx>,
    bytes: Bytes,
    id: BlockId,
}

impl Block {
    /// Puts a block together. The merkle root is zero, as in every valid block.
    pub fn new(parent_id: BlockId, height: u64, time_s: u64, txs: Vec<Tx>) -> Self {
        let mut w = Writer::new();
        w.u16(codec::VERSION);
        w.type_id(type_id::STANDARD_BLOCK);
        w.id(&parent_id);
        w.u64(height);
        w.u64(time_s);
        w.id(&Id::ZERO);
        w.values(&txs);
        let bytes = Bytes::from(w.into_vec());
        let id = Id::sha256(&bytes);
        Self { parent_id, height, time_s, merkle_root: Id::ZERO, txs, bytes, id }
    }

    /// Decodes a block of at most [`codec::MAX_SIZE`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut r = Reader::versioned(bytes, codec::MAX_SIZE)?;
        let type_id = r.type_id()?;
        if type_id != type_id::STANDARD_BLOCK {
            return Err(type_id::wrong_type_id(type_id, interface::BLOCK));
        }
        let block = Self {
            parent_id: r.id()?,
            height: r.u64()?,
            time_s: r.u64()?,
            merkle_root: r.id()?,
            txs: r.values()?,
            bytes: Bytes::copy_from_slice(bytes),
            id: Id::sha256(bytes),
        };
        r.finish()?;
        Ok(block)
    }

    /// The block before; of the genesis block an ID that no block has.
    pub const fn parent_id(&self) -> BlockId {
        self.parent_id
    }

    /// Blocks before this one, the genesis block being 0.
    pub const fn height(&self) -> u64 {
        self.height
    }

    /// Unix seconds.
    pub const fn time_s(&self) -> u64 {
        self.time_s
    }

    /// Zero in a valid block.
    pub const fn merkle_root(&self) -> Id {
        self.merkle_root
    }

    /// Transactions, in the order of their execution.
    pub fn txs(&self) -> &[Tx] {
        &self.txs
    }

    /// Encoded form.
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// `sha256` of the encoded form.
    pub const fn id(&self) -> BlockId {
        self.id
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("id", &self.id)
            .field("parent_id", &self.parent_id)
            .field("height", &self.height)
            .field("time_s", &self.time_s)
            .field("txs", &self.txs)
            .finish_non_exhaustive()
    }
}
