//! Files of blocks: one block after the other, without a separator.

use alloy_rlp::Header as RlpHeader;
use thiserror::Error;

use super::body::{Block, parse_block};

/// Reads the blocks of a file in their order. It ends after the first error.
#[derive(Debug)]
pub struct ChainFile<'a> {
    rest: &'a [u8],
    index: usize,
    offset: usize,
}

/// Why a file can't be read any further.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("at block {index} of the file, byte {offset}: {reason}")]
pub struct ChainFileError {
    /// Blocks before this one.
    pub index: usize,
    /// Bytes before this block.
    pub offset: usize,
    /// What is wrong.
    pub reason: alloy_rlp::Error,
}

impl<'a> ChainFile<'a> {
    /// A file with these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, index: 0, offset: 0 }
    }

    fn next_block(&mut self) -> alloy_rlp::Result<(Block, &'a [u8])> {
        let mut after = self.rest;
        RlpHeader::decode_bytes(&mut after, true)?;
        let (bytes, after) = self.rest.split_at(self.rest.len() - after.len());
        let block = parse_block(bytes)?;
        self.rest = after;
        self.index += 1;
        self.offset += bytes.len();
        Ok((block, bytes))
    }
}

/// Blocks with their bytes.
impl<'a> Iterator for ChainFile<'a> {
    type Item = Result<(Block, &'a [u8]), ChainFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let (index, offset) = (self.index, self.offset);
        let block = self.next_block().map_err(|reason| {
            self.rest = &[];
            ChainFileError { index, offset, reason }
        });
        Some(block)
    }
}
