//! `importChain`.

use std::collections::VecDeque;
use std::sync::Arc;

use alloy_primitives::B256;
use bytes::Bytes;
use esker_evm::view::ChainReader;
use esker_rpc::RpcError;
use tokio::sync::OwnedSemaphorePermit;

use super::stream::{BlockFile, is_compressed};
use super::{ChainFiles, ImportError, step};
use crate::error::read_error;
use crate::files::open_error;

/// Most blocks that are made final in one call of the machine, which does nothing else meanwhile.
const GROUP_LEN: usize = 16;
/// Bytes of blocks at which a group is complete.
const GROUP_BYTES: usize = 1 << 20;
/// Bytes of blocks that one step reads, existing blocks included.
const READ_BYTES: usize = 4 << 20;
/// Blocks of a batch of the reference: its error texts count these.
const BATCH_LEN: u64 = 2500;
/// How often the node may accept other blocks before the import gives up.
const MAX_OVERTAKEN: usize = 100;

/// Takes the blocks of a file, each verified as one of another validator. Those that are there already are skipped, so
/// that an import which was stopped goes on when it is called again.
pub(super) async fn import_chain(
    files: Arc<ChainFiles>,
    (name,): (String,),
) -> Result<bool, RpcError> {
    let turn = files.turn()?;
    let opened = Arc::clone(&files);
    let mut source = step(move || Source::open(&opened, &name, turn)).await??;
    loop {
        let (read, group, is_end) = step(move || source.next_group()).await??;
        source = read;
        take(&files, group).await?;
        if is_end {
            return Ok(true);
        }
    }
}

/// A block of the file.
struct Block {
    /// The number of blocks before it, genesis not counted.
    index: u64,
    height: u64,
    hash: B256,
    bytes: Bytes,
}

impl Block {
    fn refused(&self, reason: &dyn std::fmt::Display) -> RpcError {
        let batch = self.index / BATCH_LEN;
        RpcError::new(format!("batch {batch}: failed to insert: {reason}"))
    }
}

/// The file while it is read.
struct Source {
    chain: Arc<dyn ChainReader>,
    input: BlockFile,
    /// Blocks read so far, genesis not counted.
    blocks: u64,
    read_bytes: usize,
    _turn: OwnedSemaphorePermit,
}

impl Source {
    fn open(files: &ChainFiles, name: &str, turn: OwnedSemaphorePermit) -> Result<Self, RpcError> {
        let path = files.folder.existing_file(name)?;
        let input = BlockFile::open_as(&path, is_compressed(name));
        let input = input.map_err(|error| open_error(name, &error))?;
        Ok(Self { chain: Arc::clone(&files.chain), input, blocks: 0, read_bytes: 0, _turn: turn })
    }

    /// Reads the next group: new blocks, and whether the file ends with them.
    fn next_group(mut self) -> Result<(Self, VecDeque<Block>, bool), RpcError> {
        let (mut group, mut bytes) = (VecDeque::new(), 0);
        let end = self.read_bytes + READ_BYTES;
        while self.read_bytes < end && group.len() < GROUP_LEN && bytes < GROUP_BYTES {
            let block = match self.next_block()? {
                NextEntry::End => return Ok((self, group, true)),
                NextEntry::Genesis => continue,
                NextEntry::Block(block) => block,
            };
            if !is_there(self.chain.as_ref(), &block)? {
                bytes += block.bytes.len();
                group.push_back(block);
            }
        }
        Ok((self, group, false))
    }

    fn next_block(&mut self) -> Result<NextEntry, RpcError> {
        let index = self.blocks;
        let failed = |error: &dyn std::fmt::Display| {
            RpcError::new(format!("block {index}: failed to parse: {error}"))
        };
        let Some(bytes) = self.input.next_block().map_err(|error| failed(&error))? else {
            return Ok(NextEntry::End);
        };
        self.read_bytes += bytes.len();
        let rules = self.chain.rules();
        let block = rules.decode_block(&bytes).map_err(|error| failed(&error))?;
        let height = block.header.number;
        if height == self.chain.genesis_number() {
            return Ok(NextEntry::Genesis);
        }
        self.blocks += 1;
        let hash = rules.block_hash(&block.header);
        Ok(NextEntry::Block(Block { index, height, hash, bytes: bytes.into() }))
    }
}

/// The next entry of the file.
enum NextEntry {
    End,
    /// The genesis block, which every chain has already.
    Genesis,
    Block(Block),
}

/// Whether the block is accepted. An error if another block of its height is.
fn is_there(chain: &dyn ChainReader, block: &Block) -> Result<bool, RpcError> {
    match chain.header_at(block.height).map_err(read_error)? {
        None => Ok(false),
        Some(found) if found.hash == block.hash => Ok(true),
        Some(_) => {
            let reason = format!("another block {} is accepted", block.height);
            Err(block.refused(&reason))
        }
    }
}

/// Makes blocks final, even if the node makes others final meanwhile.
async fn take(files: &ChainFiles, mut group: VecDeque<Block>) -> Result<(), RpcError> {
    let mut overtaken = 0;
    loop {
        while let Some(block) = group.front() {
            if !is_there(files.chain.as_ref(), block)? {
                break;
            }
            group.pop_front();
        }
        let Some(first) = group.front() else { return Ok(()) };
        let mut next = files.chain.head().header.number;
        let follows = |block: &&Block| {
            next += 1;
            block.height == next
        };
        let blocks: Vec<_> =
            group.iter().take_while(follows).map(|block| block.bytes.clone()).collect();
        if blocks.is_empty() {
            return Err(first.refused(&"unknown ancestor"));
        }
        match files.importer.import(blocks).await {
            Ok(()) => {}
            Err(ImportError::Overtaken) if overtaken < MAX_OVERTAKEN => overtaken += 1,
            Err(error) => return Err(first.refused(&error)),
        }
    }
}
