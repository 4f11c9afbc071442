//! Imports the blocks of a file before the node answers (`import` of `esker evm`).

use std::path::Path;
use std::sync::Arc;

use alloy_primitives::B256;
use bytes::Bytes;
use esker_chain::{
    AdjustableClock, ChainMachine as _, ChainVm as _, EngineError, FinalizeError, Machine, Shutdown,
};
use esker_evm::chain::Evm;
use esker_evm::view::ChainReader as _;
use esker_evm_rpc::{BlockFile, BlockFileError};
use esker_primitives::ChainId;
use esker_primitives::clock::Clock;

use super::StartError;
use super::chain_file_error::ChainFileError;
use crate::chains::advance_to_last;
use crate::progress::Progress;

/// Most blocks that the machine gets at once.
const GROUP_LEN: usize = 256;
/// Bytes of blocks at which a group is complete.
const GROUP_BYTES: usize = 4 << 20;
/// Time between two lines of the log about an import.
const LOG_INTERVAL_MS: u64 = 10_000;

/// Imports the blocks of a file. A stop request ends it with what is imported by then.
pub(super) async fn import(
    path: &Path,
    chain: &Evm,
    (machine, clock): (&Machine, Option<&AdjustableClock>),
    (node_clock, stop): (&Arc<dyn Clock>, &mut Shutdown),
) -> Result<(), StartError> {
    let failed = |error| ChainFileError::Read { path: path.to_owned(), error };
    let file = BlockFile::open(path).map_err(failed)?;
    let id = chain.context().chain_id;
    let mut progress = ImportProgress::new(path, file.size(), node_clock);
    let mut import = Import { path, id, chain, machine, clock, file, group: Vec::new(), bytes: 0 };
    let before = chain.head().header.number;
    loop {
        if stop.is_triggered() {
            import.finalize().await?;
            return Err(StartError::Stopped);
        }
        // The blocks before a bad one become final.
        let next = match import.next_block() {
            Ok(next) => next,
            Err(error) => {
                import.finalize().await?;
                return Err(error);
            }
        };
        let Some(block) = next else { break };
        import.take(block).await?;
        progress.report(chain.head().header.number, import.file.position());
    }
    import.finalize().await?;
    let last = chain.head().header.number;
    tracing::info!(file = %path.display(), blocks = last.saturating_sub(before), last, "imported a file of blocks");
    Ok(())
}

/// Shows an import on the terminal, and logs it now and then.
struct ImportProgress<'a> {
    path: &'a Path,
    /// Bytes of the file, if they are known.
    size: Option<u64>,
    clock: &'a Arc<dyn Clock>,
    line: Progress,
    logged_ms: u64,
}

impl<'a> ImportProgress<'a> {
    fn new(path: &'a Path, size: Option<u64>, clock: &'a Arc<dyn Clock>) -> Self {
        let line = Progress::on_terminal(Arc::clone(clock));
        Self { path, size, clock, line, logged_ms: clock.now_ms() }
    }

    /// Reports the last accepted block and the bytes that are read.
    fn report(&mut self, block: u64, bytes: u64) {
        let (path, size) = (self.path.display(), self.size);
        self.line.show(|| match size {
            Some(size) => format!("importing {path}: block {block}, {bytes} of {size} bytes"),
            None => format!("importing {path}: block {block}, {bytes} bytes"),
        });
        let now_ms = self.clock.now_ms();
        if now_ms.abs_diff(self.logged_ms) >= LOG_INTERVAL_MS {
            self.logged_ms = now_ms;
            tracing::info!(file = %path, block, bytes, size, "importing a file of blocks");
        }
    }
}

/// A block of the file.
struct FileBlock {
    number: u64,
    position: u64,
    hash: B256,
    parent: B256,
    time_s: u64,
    bytes: Bytes,
}

struct Import<'a> {
    path: &'a Path,
    id: ChainId,
    chain: &'a Evm,
    machine: &'a Machine,
    /// The clock of a chain with controls, whose blocks may be ahead of the node's.
    clock: Option<&'a AdjustableClock>,
    file: BlockFile,
    /// Consecutive blocks that the machine has not got yet.
    group: Vec<FileBlock>,
    /// Their bytes.
    bytes: usize,
}

impl Import<'_> {
    /// Height of the last block, those of the group included.
    fn last(&self) -> u64 {
        let final_height = self.chain.head().header.number;
        self.group.last().map_or(final_height, |block| block.number)
    }

    fn refused(&self, (number, position): (u64, u64), reason: impl ToString) -> StartError {
        let (path, reason) = (self.path.to_owned(), reason.to_string());
        ChainFileError::Block { path, number, position, reason }.into()
    }

    fn next_block(&mut self) -> Result<Option<FileBlock>, StartError> {
        let position = self.file.position();
        let next = (self.last() + 1, position);
        let bytes = match self.file.next_block() {
            Ok(bytes) => bytes,
            Err(BlockFileError::Io(error)) => {
                return Err(ChainFileError::Read { path: self.path.to_owned(), error }.into());
            }
            Err(error) => return Err(self.refused(next, error)),
        };
        let Some(bytes) = bytes else { return Ok(None) };
        let rules = &self.chain.params().rules;
        let block = rules.decode_block(&bytes).map_err(|error| self.refused(next, error))?;
        let header = &block.header;
        Ok(Some(FileBlock {
            number: header.number,
            position,
            hash: rules.block_hash(header),
            parent: header.parent_hash,
            time_s: header.time,
            bytes: bytes.into(),
        }))
    }

    /// Takes the next block: into the group, unless it is there already.
    async fn take(&mut self, block: FileBlock) -> Result<(), StartError> {
        if block.number <= self.last() {
            self.finalize().await?;
            return self.check_known(&block);
        }
        let last = self.last();
        let place = (block.number, block.position);
        if block.number > last + 1 {
            self.finalize().await?;
            return Err(self.refused(place, format!("the last block before it is {last}")));
        }
        if block.number == 1 {
            self.check_genesis(&block)?;
        }
        self.bytes += block.bytes.len();
        self.group.push(block);
        if self.group.len() >= GROUP_LEN || self.bytes >= GROUP_BYTES {
            self.finalize().await?;
        }
        Ok(())
    }

    /// A block of a height that is accepted must be the accepted one.
    fn check_known(&self, block: &FileBlock) -> Result<(), StartError> {
        let known = self.hash_at(block.number)?;
        let place = (block.number, block.position);
        match known {
            Some(known) if known == block.hash => Ok(()),
            Some(known) if block.number == self.chain.genesis_number() => Err(self.refused(
                place,
                format!("the file follows genesis {}, this chain begins with {known}", block.hash),
            )),
            _ => Err(self.refused(place, "another block of this height is accepted")),
        }
    }

    /// The first block follows this chain's genesis.
    fn check_genesis(&self, block: &FileBlock) -> Result<(), StartError> {
        match self.hash_at(self.chain.genesis_number())? {
            Some(genesis) if genesis != block.parent => Err(self.refused(
                (block.number, block.position),
                format!(
                    "the file follows genesis {}, this chain begins with {genesis}",
                    block.parent
                ),
            )),
            _ => Ok(()),
        }
    }

    fn hash_at(&self, number: u64) -> Result<Option<B256>, StartError> {
        let header = self.chain.header_at(number);
        let header = header.map_err(|error| self.refused((number, self.file.position()), error))?;
        Ok(header.map(|header| header.hash))
    }

    /// Makes the blocks of the group final.
    async fn finalize(&mut self) -> Result<(), StartError> {
        self.bytes = 0;
        let mut group = std::mem::take(&mut self.group);
        while !group.is_empty() {
            let (before, on) = self.machine.last_final();
            let blocks = group.iter().map(|block| (self.id, block.bytes.clone())).collect();
            let outcome = self.machine.finalize_blocks(&on, blocks).await;
            let done = self.machine.last_final().0.saturating_sub(before);
            group.drain(..usize::try_from(done).unwrap_or(usize::MAX).min(group.len()));
            let Some(first) = group.first() else { break };
            match outcome {
                Err(FinalizeError::NotYet { .. }) if self.follow_time(&group) => {}
                Err(FinalizeError::Invalid(reason) | FinalizeError::NotYet { reason, .. })
                    if done == 0 =>
                {
                    return Err(self.refused((first.number, first.position), reason));
                }
                // Where a block is refused, the verdict on the final state is the one to report.
                Ok(()) | Err(FinalizeError::Invalid(_) | FinalizeError::NotYet { .. }) => {}
                Err(error) => return Err(EngineError::from(error).into()),
            }
        }
        Ok(())
    }

    /// Moves the clock of a chain with controls to the last time of the blocks; false if it is there, or can't be moved.
    fn follow_time(&self, group: &[FileBlock]) -> bool {
        let times_s = group.iter().map(|block| block.time_s);
        self.clock.is_some_and(|clock| advance_to_last(clock, times_s))
    }
}
