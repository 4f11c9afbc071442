//! Writes whole files in place of others.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::record::{MAGIC, Record};
use crate::error::FileError;
use crate::pin::Pin;
use crate::state::Fact;

/// The bytes of a file of a block.
pub(super) fn file_bytes(pin: &Pin, facts: &[Fact]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    Record::from(pin).write(&mut bytes);
    facts.iter().for_each(|fact| Record::from(fact).write(&mut bytes));
    bytes
}

/// Writes a file next to its place, then moves it there: a crash leaves the old file or the new one.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let temporary = beside(path, "new");
    let written = write_synced(&temporary, bytes)
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync_folder(path));
    written.map_err(|error| {
        // The first error counts; the rest may stay.
        let _left_behind = fs::remove_file(&temporary);
        FileError::io(path, error)
    })
}

/// The path with a further ending.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// What is in a folder, in the order of names; nothing if it is none.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let io = |error| FileError::io(folder, error);
    let paths = fs::read_dir(folder).map_err(io)?.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<_> = paths.collect::<Result<_, _>>().map_err(io)?;
    paths.sort();
    Ok(paths)
}
