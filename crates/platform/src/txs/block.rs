//! Blocks of the P-Chain (docs/protocol/avalanchego.md, "Blocks of P").

use bytes::Bytes;
use esker_primitives::codec::{self, Reader};
use esker_primitives::{BlockId, Id};

use super::error::ParseError;
use super::fields::{list, unknown};
use super::tx::Tx;

/// Types of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A proposal, which a commit or an abort follows.
    Proposal,
    /// Rejects the proposal before it.
    Abort,
    /// Accepts the proposal before it.
    Commit,
    /// Transactions.
    Standard,
    /// One import or export, before Apricot Phase 5.
    Atomic,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// SHA-256 of the bytes.
    pub id: BlockId,
    /// The block before.
    pub parent_id: BlockId,
    /// The number of blocks before this one: genesis has height 0.
    pub height: u64,
    /// Unix seconds; `None` before Banff.
    pub time_s: Option<u64>,
    /// Its type.
    pub kind: BlockKind,
    /// Its transactions. That of a proposal, which never moves anything between chains, is the last.
    pub txs: Vec<Tx>,
    /// Its bytes.
    pub bytes: Bytes,
}

impl Block {
    /// Parses a block of at most [`codec::MAX_SIZE`] bytes. Any bytes give a block or an error.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::versioned(bytes, codec::MAX_SIZE)?;
        let (kind, is_banff) = match r.type_id()? {
            0 => (BlockKind::Proposal, false),
            1 => (BlockKind::Abort, false),
            2 => (BlockKind::Commit, false),
            3 => (BlockKind::Standard, false),
            4 => (BlockKind::Atomic, false),
            29 => (BlockKind::Proposal, true),
            30 => (BlockKind::Abort, true),
            31 => (BlockKind::Commit, true),
            32 => (BlockKind::Standard, true),
            other => return unknown("block", other),
        };
        let time_s = if is_banff { Some(r.u64()?) } else { None };
        let mut txs = match (kind, is_banff) {
            (BlockKind::Proposal, true) => list(&mut r, Tx::read)?,
            _ => Vec::new(),
        };
        let (parent_id, height) = (r.id()?, r.u64()?);
        match kind {
            BlockKind::Proposal | BlockKind::Atomic => txs.push(Tx::read(&mut r)?),
            BlockKind::Standard => txs = list(&mut r, Tx::read)?,
            BlockKind::Abort | BlockKind::Commit => {}
        }
        r.finish()?;
        let (id, bytes) = (Id::sha256(bytes), Bytes::copy_from_slice(bytes));
        Ok(Self { id, parent_id, height, time_s, kind, txs, bytes })
    }
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
