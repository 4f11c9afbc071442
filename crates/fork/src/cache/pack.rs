//! Packs: everything that a fork has read, with its proofs, in one file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use alloy_primitives::B256;
use esker_primitives::read_bounded;

use super::check::{Checked, check_file};
use super::file::{entries, file_bytes, replace};
use super::store::record_error;
use crate::error::FileError;
use crate::pin::Pin;
use crate::state::{Fact, is_checked};

/// The content of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackSummary {
    /// The block.
    pub pin: Pin,
    /// Accounts that are proved.
    pub accounts: usize,
    /// Slots that are proved.
    pub slots: usize,
    /// Accounts and slots that only the source vouched for.
    pub claimed: usize,
    /// Codes. Each has its hash.
    pub codes: usize,
    /// Headers before that of the block. Each has the parent hash of the next one.
    pub ancestors: usize,
    /// Trie nodes of the proofs.
    pub nodes: usize,
    /// Length of the file.
    pub bytes: u64,
}

impl PackSummary {
    fn new(pin: Pin, facts: &[Fact], bytes: u64) -> Self {
        let mut summary = Self {
            pin,
            accounts: 0,
            slots: 0,
            claimed: 0,
            codes: 0,
            ancestors: 0,
            nodes: 0,
            bytes,
        };
        for fact in facts {
            let counter = match fact {
                Fact::Node { .. } => &mut summary.nodes,
                Fact::Account { is_proven: true, .. } => &mut summary.accounts,
                Fact::Slot { is_proven: true, .. } => &mut summary.slots,
                Fact::Account { .. } | Fact::Slot { .. } => &mut summary.claimed,
                Fact::Code { .. } => &mut summary.codes,
                Fact::Ancestor { .. } => &mut summary.ancestors,
                Fact::Text { .. } => continue,
            };
            *counter += 1;
        }
        summary
    }

    /// Checks that the header has its hash.
    pub(crate) fn check_header(&self, path: &Path) -> Result<(), FileError> {
        if self.pin.is_verified() {
            return Ok(());
        }
        let hash = self.pin.hash;
        let reason = format!(
            "its fields don't give the hash {hash}: one was altered, or the chain has another form of headers"
        );
        Err(FileError::Record { path: path.to_owned(), index: 0, offset: 8, kind: "pin", reason })
    }

    /// Whether the header's hash was recomputed and all values are proved.
    pub fn is_verified(&self) -> bool {
        self.pin.is_verified() && self.claimed == 0
    }
}

/// Writes a pack, in place of an older file.
pub(crate) fn write_facts(
    path: &Path,
    pin: &Pin,
    facts: &[Fact],
) -> Result<PackSummary, FileError> {
    let bytes = file_bytes(pin, facts);
    replace(path, &bytes)?;
    Ok(PackSummary::new(pin.clone(), facts, bytes.len() as u64))
}

/// Reads a pack of at most `max` bytes. Every record is checked; one fault refuses the file.
pub(crate) fn read_facts(path: &Path, max: u64) -> Result<(PackSummary, Vec<Fact>), FileError> {
    let bytes = read_bounded(path, max).map_err(|error| FileError::io(path, error))?;
    let checked = check_file(&bytes);
    let Checked { pin, facts, faults, surplus } =
        checked.map_err(|reason| FileError::Foreign { path: path.to_owned(), reason })?;
    if let Some(fault) = faults.into_iter().chain(surplus).next() {
        return Err(record_error(path, fault));
    }
    Ok((PackSummary::new(pin, &facts, bytes.len() as u64), facts))
}

/// Checks a pack of at most `max` bytes, against the hash of its block if it is given: the header, each proof, each code.
/// The summary says what the source alone vouches for ([`PackSummary::is_verified`]).
///
/// # Errors
/// The file can't be read, is of another block, has a header with another hash, or a record that is damaged or not
/// proved.
pub fn verify_pack(path: &Path, hash: Option<B256>, max: u64) -> Result<PackSummary, FileError> {
    let (summary, _) = read_facts(path, max)?;
    let found = summary.pin.hash;
    if let Some(expected) = hash.filter(|hash| *hash != found) {
        return Err(FileError::OtherBlock { path: path.to_owned(), expected, found });
    }
    summary.check_header(path)?;
    Ok(summary)
}

/// Writes a pack of a cache file, which a node may be writing meanwhile: a record that is not complete at its end is left
/// out, and returned as a fault.
///
/// # Errors
/// The cache file can't be read, or has a fault before its end; the pack can't be written.
pub fn pack_cache(
    cache: &Path,
    max: u64,
    pack: &Path,
) -> Result<(PackSummary, Option<FileError>), FileError> {
    let bytes = read_bounded(cache, max).map_err(|error| FileError::io(cache, error))?;
    let checked = check_file(&bytes);
    let Checked { pin, mut facts, faults, .. } =
        checked.map_err(|reason| FileError::Foreign { path: cache.to_owned(), reason })?;
    let (cut, faults): (Vec<_>, Vec<_>) = faults.into_iter().partition(|fault| fault.is_cut);
    if let Some(fault) = faults.into_iter().next() {
        return Err(record_error(cache, fault));
    }
    let cut = cut.into_iter().next().map(|fault| record_error(cache, fault));
    // A fork with proofs uses no claims of an earlier run.
    if facts.iter().any(|fact| matches!(fact, Fact::Account { is_proven: true, .. })) {
        facts.retain(is_checked);
    }
    Ok((write_facts(pack, &pin, &facts)?, cut))
}

/// The cache files of a folder, by chain and block.
///
/// # Errors
/// The folder can't be read.
pub fn cache_files(folder: &Path) -> Result<Vec<CacheFile>, FileError> {
    let mut files = Vec::new();
    for chain in entries(folder)? {
        for path in entries(&chain)? {
            let name = path.file_name().and_then(OsStr::to_str);
            let hash = name.and_then(|name| name.strip_suffix(".fork")?.parse().ok());
            files.extend(hash.map(|hash| CacheFile { hash, path: path.clone() }));
        }
    }
    Ok(files)
}

/// A cache file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFile {
    /// The hash of its block.
    pub hash: B256,
    /// Where it is.
    pub path: PathBuf,
}
