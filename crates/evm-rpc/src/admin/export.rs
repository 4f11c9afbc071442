//! `exportChain`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use alloy_primitives::B256;
use esker_evm::view::ChainReader;
use esker_rpc::RpcError;
use tokio::sync::OwnedSemaphorePermit;

use super::stream::{Output, is_compressed};
use super::{ChainFiles, step};
use crate::error::read_error;
use crate::files::{PartialFile, exists, open_error, system_text};

/// Most blocks that one step writes.
const BLOCKS_OF_STEP: usize = 64;

/// Writes accepted blocks to a new file: all of them, those from a height on, or those of a range.
pub(super) async fn export_chain(
    files: Arc<ChainFiles>,
    (name, first, last): (String, Option<u64>, Option<u64>),
) -> Result<bool, RpcError> {
    if first.is_none() && last.is_some() {
        return Err(RpcError::new("last cannot be specified without first"));
    }
    let turn = files.turn()?;
    let range = (first.unwrap_or(0), last.unwrap_or_else(|| files.chain.head().header.number));
    let mut export = step(move || Export::begin(&files, &name, range, turn)).await??;
    while !export.is_done() {
        export = step(move || export.write_some()).await??;
    }
    step(move || export.finish()).await??;
    Ok(true)
}

/// A file under construction. It is removed unless it is finished.
struct Export {
    chain: Arc<dyn ChainReader>,
    output: Output,
    file: PartialFile,
    name: String,
    path: PathBuf,
    next: u64,
    last: u64,
    /// Hash of the block that was written last.
    parent: Option<B256>,
    _turn: OwnedSemaphorePermit,
}

impl Export {
    fn begin(
        files: &ChainFiles,
        name: &str,
        (first, last): (u64, u64),
        turn: OwnedSemaphorePermit,
    ) -> Result<Self, RpcError> {
        let path = files.folder.new_file(name)?;
        let (output, file) =
            PartialFile::create(&path, |path| Output::create(path, is_compressed(name)))
                .map_err(|error| open_error(name, &error))?;
        if first > last {
            return Err(RpcError::new(format!(
                "export failed: first ({first}) is greater than last ({last})"
            )));
        }
        let (chain, name) = (Arc::clone(&files.chain), name.to_owned());
        Ok(Self { chain, output, file, name, path, next: first, last, parent: None, _turn: turn })
    }

    fn is_done(&self) -> bool {
        self.next > self.last
    }

    fn write_some(mut self) -> Result<Self, RpcError> {
        for _ in 0..BLOCKS_OF_STEP {
            if self.is_done() {
                break;
            }
            self.write_next()?;
        }
        Ok(self)
    }

    fn write_next(&mut self) -> Result<(), RpcError> {
        let number = self.next;
        let block = self.chain.encoded_block(number).map_err(read_error)?;
        let missing = || RpcError::new(format!("export failed on #{number}: not found"));
        let block = block.ok_or_else(missing)?;
        if self.parent.is_some_and(|parent| parent != block.parent_hash) {
            return Err(RpcError::new("export failed: chain reorg during export"));
        }
        self.parent = Some(block.hash);
        self.output.write(&block.bytes).map_err(|error| self.write_error(&error))?;
        self.next += 1;
        Ok(())
    }

    fn write_error(&self, error: &io::Error) -> RpcError {
        RpcError::new(format!("write {}: {}", self.name, system_text(error)))
    }

    /// Gives the file its name.
    fn finish(self) -> Result<(), RpcError> {
        let Self { output, file, name, path, .. } = self;
        let written = output.finish().and_then(|()| file.rename(&path));
        written.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(),
            _ => RpcError::new(format!("write {name}: {}", system_text(&error))),
        })
    }
}
