//! The files of a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloy_primitives::{Address, hex};
use esker_primitives::open_regular;
use esker_primitives::sync::Mutex;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use thiserror::Error;

use crate::error::KeyFileError;
use crate::key_file::KeyFile;
use crate::limits::MAX_FILE_BYTES;

/// Most files of a folder that are looked at.
pub const MAX_FILES: usize = 4096;

/// Files of a folder that gets no new accounts: clients that make them leave room for the files that the operator puts
/// there.
pub const MAX_FILES_FOR_NEW: usize = 1024;

/// The prefix of a file's name until it is complete. Hidden files are not key files.
const UNFINISHED: &str = ".esker-";

/// The properties that show a change of a file: its time, its length, its inode.
type Stamp = (i64, i64, u64, u64);

/// A file as it was last looked at.
#[derive(Debug)]
struct CachedFile {
    stamp: Stamp,
    /// `None`: it can't be read, which was logged.
    key: Option<Arc<KeyFile>>,
}

/// The folder's files by name.
#[derive(Debug)]
pub(crate) struct KeyFiles {
    folder: PathBuf,
    seen: Mutex<State>,
    /// Held while a file is written; the time of the last one, Unix time in ns, since names follow each other.
    last_ns: Mutex<u64>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<String, CachedFile>,
    is_overfull: bool,
}

/// The reason why an account was not written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// There is one.
    Exists,
    /// There are too many.
    Full,
    Io(io::Error),
}

/// A file that holds a key.
#[derive(Clone, Debug)]
pub(crate) struct KeyFileEntry {
    pub(crate) path: PathBuf,
    pub(crate) key: Arc<KeyFile>,
}

impl KeyFiles {
    /// The files of a folder, which need not be there yet. Removes what a crash left unfinished.
    pub(crate) fn open(folder: PathBuf) -> Self {
        if let Ok(metadata) = fs::metadata(&folder)
            && metadata.mode() & 0o077 != 0
        {
            tracing::warn!(folder = %folder.display(), "other users can read the key folder: run chmod 700 on it");
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().take(2 * MAX_FILES).flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED)) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let files = Self {
            folder,
            seen: Mutex::new_named("key_directory.files", State::default()),
            last_ns: Mutex::new_named("key_directory.write", 0),
        };
        files.refresh(&mut files.seen.lock());
        files
    }

    /// All key files, by name.
    pub(crate) fn list(&self) -> Vec<KeyFileEntry> {
        let mut state = self.seen.lock();
        self.refresh(&mut state);
        state.found(&self.folder).collect()
    }

    /// The files of an account; as in the reference, those of the zero address are all.
    pub(crate) fn find(&self, account: &Address) -> Vec<KeyFileEntry> {
        let is_meant = |found: &KeyFileEntry| account.is_zero() || found.key.address() == *account;
        self.list().into_iter().filter(is_meant).collect()
    }

    /// Is there a file of the account? One that was seen earlier suffices.
    pub(crate) fn holds(&self, account: &Address) -> bool {
        let mut state = self.seen.lock();
        if state.has(account) {
            return true;
        }
        self.refresh(&mut state);
        state.has(account)
    }

    /// Whether a file of this account may be added.
    pub(crate) fn check_place(&self, account: &Address) -> Result<(), WriteError> {
        let mut state = self.seen.lock();
        self.refresh(&mut state);
        if state.has(account) {
            return Err(WriteError::Exists);
        }
        if state.files.len() >= MAX_FILES_FOR_NEW {
            return Err(WriteError::Full);
        }
        Ok(())
    }

    /// Writes a new account, which is on the disk when this returns.
    pub(crate) fn add(&self, key: KeyFile, now_ms: u64) -> Result<(), WriteError> {
        // Held over the write: of two imports of one key the second one finds the first.
        let mut last_ns = self.last_ns.lock();
        self.check_place(&key.address())?;
        *last_ns = (*last_ns + 1).max(now_ms.saturating_mul(1_000_000));
        let name = file_name(*last_ns, &key.address());
        let stamp = self.write(&name, key.to_json().as_bytes()).map_err(WriteError::Io)?;
        self.seen.lock().files.insert(name, CachedFile { stamp, key: Some(Arc::new(key)) });
        Ok(())
    }

    fn write(&self, name: &str, json: &[u8]) -> io::Result<Stamp> {
        self.create_folder()?;
        let unfinished = self.folder.join(format!("{UNFINISHED}{name}.tmp"));
        let path = self.folder.join(name);
        let written = write_synced(&unfinished, json).and_then(|()| fs::rename(&unfinished, &path));
        if let Err(error) = written {
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        File::open(&self.folder)?.sync_all()?;
        stamp(&path)
    }

    fn create_folder(&self) -> io::Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        match self.folder.parent() {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    }

    /// Looks at the folder: reads new and changed files, forgets those that are gone.
    fn refresh(&self, state: &mut State) {
        let mut there = BTreeSet::new();
        let mut names = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| key_file_name(&entry.ok()?.file_name()));
        there.extend(names.by_ref().take(MAX_FILES));
        let is_overfull = names.next().is_some();
        if is_overfull && !state.is_overfull {
            let folder = self.folder.display();
            tracing::warn!(%folder, "the folder of keys has more than {MAX_FILES} files; the others are ignored");
        }
        state.is_overfull = is_overfull;
        state.files.retain(|name, _| there.contains(name));
        for name in there {
            let path = self.folder.join(&name);
            // A symbolic link is none either.
            let Ok(stamp) = stamp(&path) else {
                state.files.remove(&name);
                continue;
            };
            if state.files.get(&name).is_none_or(|seen| seen.stamp != stamp) {
                let key = read(&path)
                    .inspect_err(|reason| {
                        tracing::warn!(file = %path.display(), %reason, "skipping a file that is not a key file");
                    })
                    .ok();
                state.files.insert(name, CachedFile { stamp, key: key.map(Arc::new) });
            }
        }
    }
}

impl State {
    fn found<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = KeyFileEntry> + 'a {
        self.files.iter().filter_map(|(name, seen)| {
            Some(KeyFileEntry { path: folder.join(name), key: Arc::clone(seen.key.as_ref()?) })
        })
    }

    fn has(&self, account: &Address) -> bool {
        let mut keys = self.files.values().filter_map(|seen| seen.key.as_ref());
        keys.any(|key| key.address() == *account)
    }
}

/// The name of a file that may hold a key: as in the reference, no hidden file and no editor's copy.
fn key_file_name(name: &OsStr) -> Option<String> {
    let name = name.to_str()?;
    (!name.starts_with('.') && !name.ends_with('~')).then(|| name.to_owned())
}

/// Fails for what is no plain file.
fn stamp(path: &Path) -> io::Result<Stamp> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok((metadata.mtime(), metadata.mtime_nsec(), metadata.len(), metadata.ino()))
}

/// The reason why a file is skipped.
#[derive(Debug, Error)]
enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Key(#[from] KeyFileError),
}

fn read(path: &Path) -> Result<KeyFile, ReadError> {
    let file = open_regular(path)?;
    let mut json = Vec::new();
    let most = MAX_FILE_BYTES as u64 + 1;
    file.take(most).read_to_end(&mut json)?;
    Ok(KeyFile::parse(&json)?)
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// geth's: `UTC--TIME--ADDRESS`.
fn file_name(ns: u64, account: &Address) -> String {
    let time = Timestamp::from_nanosecond(i128::from(ns)).unwrap_or_default();
    let time = TimeZone::UTC.to_datetime(time);
    format!(
        "UTC--{:04}-{:02}-{:02}T{:02}-{:02}-{:02}.{:09}Z--{}",
        time.year(),
        time.month(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.subsec_nanosecond(),
        hex::encode(account),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_geth() {
        let account = Address::repeat_byte(0xab);
        assert_eq!(
            file_name(1_700_000_000_123_000_001, &account),
            format!("UTC--2023-11-14T22-13-20.123000001Z--{}", "ab".repeat(20)),
        );
    }

    #[test]
    fn hidden_files_and_copies_are_no_key_files() {
        for name in [".hidden", ".esker-UTC--x.tmp", "UTC--x~"] {
            assert_eq!(key_file_name(OsStr::new(name)), None, "{name}");
        }
        assert!(key_file_name(OsStr::new("anything")).is_some());
    }
}
