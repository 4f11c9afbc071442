//! `esker fork`: the file of a fork, which runs without a network (docs/forking.md, "One file").

mod cli;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use alloy_primitives::B256;
use esker_fork::cache::{CacheFile, FOLDER, PackSummary, cache_files, pack_cache, verify_pack};
use esker_fork::{FileError, ForkOptions};
use esker_settings::exit_code;
use thiserror::Error;

pub(crate) use cli::{command, parse};

/// The parsed arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkCommand {
    /// Write a file.
    Pack(PackCommand),
    /// Check a file.
    Verify(VerifyCommand),
}

/// The arguments of `esker fork pack`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackCommand {
    /// The file to write.
    pub file: PathBuf,
    /// The data folder.
    pub data_dir: PathBuf,
    /// The block; `None`: the folder's only one.
    pub block_hash: Option<B256>,
}

/// The arguments of `esker fork verify`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyCommand {
    /// The file.
    pub file: PathBuf,
    /// The block that it is to be of.
    pub block_hash: Option<B256>,
}

/// The reason why a file is not written, or not good.
#[derive(Debug, Error)]
pub enum ForkCommandError {
    /// The folder has nothing of a fork.
    #[error("{} has nothing that a fork has read: choose the --data-dir of esker evm or esker dev with --fork-url", .0.display())]
    NoFork(PathBuf),
    /// The folder has nothing of this block.
    #[error("{} has nothing of block {hash}: it has {}", .folder.display(), list(.found))]
    NoBlock {
        /// The folder.
        folder: PathBuf,
        /// The block.
        hash: B256,
        /// What is there.
        found: Vec<CacheFile>,
    },
    /// It is not clear which block is meant.
    #[error("{} has several blocks, choose one with --block-hash: {}", .folder.display(), list(.found))]
    Several {
        /// The folder.
        folder: PathBuf,
        /// What is there.
        found: Vec<CacheFile>,
    },
    /// A file is damaged, or can't be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

fn list(files: &[CacheFile]) -> String {
    let hashes: Vec<_> = files.iter().map(|file| file.hash.to_string()).collect();
    hashes.join(", ")
}

impl ForkCommandError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoFork(_) | Self::NoBlock { .. } | Self::Several { .. } => exit_code::CONFIG,
            Self::File(_) => exit_code::FAILURE,
        }
    }
}

/// Executes the command and returns its output.
///
/// # Errors
/// The file is not written, or not good.
pub fn run(command: &ForkCommand) -> Result<String, ForkCommandError> {
    match command {
        ForkCommand::Pack(command) => pack(command),
        ForkCommand::Verify(VerifyCommand { file, block_hash }) => {
            let summary =
                verify_pack(file, *block_hash, ForkOptions::default().max_state_bytes as u64)?;
            Ok(text(file, &summary))
        }
    }
}

fn pack(command: &PackCommand) -> Result<String, ForkCommandError> {
    let PackCommand { file, data_dir, block_hash } = command;
    let cache = cache_of(data_dir, *block_hash)?;
    let (summary, cut) = pack_cache(&cache.path, u64::MAX, file)?;
    let mut out = text(file, &summary);
    if let Some(cut) = cut {
        // The node may be writing this record now.
        let _infallible = writeln!(out, "left out: {cut}");
    }
    Ok(out)
}

fn cache_of(folder: &Path, hash: Option<B256>) -> Result<CacheFile, ForkCommandError> {
    let found = cache_files(&folder.join(FOLDER))?;
    let folder = folder.to_owned();
    match (hash, &found[..]) {
        (_, []) => Err(ForkCommandError::NoFork(folder)),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(ForkCommandError::Several { folder, found }),
        (Some(hash), _) => match found.iter().find(|file| file.hash == hash) {
            Some(file) => Ok(file.clone()),
            None => Err(ForkCommandError::NoBlock { folder, hash, found }),
        },
    }
}

/// What is in a file: what is proved, and what only the source vouches for.
fn text(file: &Path, summary: &PackSummary) -> String {
    let PackSummary { pin, accounts, slots, claimed, codes, ancestors, nodes, bytes } = summary;
    let (number, hash, chain) = (pin.header.number, pin.hash, pin.chain_id);
    let header = if pin.is_verified() {
        "the header has this hash"
    } else {
        "the header's form is not known"
    };
    format!(
        "{}: {bytes} bytes\nblock {number} of chain {chain}: {hash} ({header})\nproven by the state root {}: {accounts} accounts, \
         {slots} slots ({nodes} trie nodes)\nproven by their hashes: {codes} codes, {ancestors} headers of earlier blocks\n\
         claimed by the source, not proven: {claimed} accounts and slots\n",
        file.display(),
        pin.header.state_root,
    )
}
