//! The cache file of a block: everything that forks of it have read.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use alloy_primitives::B256;
use esker_primitives::read_bounded;
use esker_primitives::sync::Mutex;

use super::check::{Checked, RecordFault, check_file};
use super::file::{beside, file_bytes, replace};
use super::record::Record;
use crate::error::FileError;
use crate::pin::Pin;
use crate::state::Fact;

/// Where the cache is, and how large it may become.
#[derive(Clone, Debug)]
pub struct CacheOptions {
    /// The folder of all caches. Files are in it by chain ID and block hash.
    pub folder: PathBuf,
    /// Largest file, bytes. What is read beyond stays in memory only.
    pub max_bytes: u64,
}

impl CacheOptions {
    /// The file of a block.
    pub(crate) fn path_of(&self, chain_id: u64, hash: B256) -> PathBuf {
        self.folder.join(chain_id.to_string()).join(format!("{hash}.fork"))
    }
}

/// An open cache file. No other process can open it meanwhile.
#[derive(Debug)]
pub(crate) struct Cache {
    path: PathBuf,
    max_bytes: u64,
    state: Mutex<State>,
    _lock: File,
}

#[derive(Debug)]
struct State {
    file: File,
    length: u64,
    stopped: Option<CacheStop>,
    /// Records that could not be written. The next ones need them.
    unwritten: Vec<u8>,
}

/// Most bytes of records that wait for room on the disk.
const MAX_UNWRITTEN: usize = 64 << 20;

/// Why a cache takes no more records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheStop {
    /// The file has its largest size, or too much waits for room on the disk.
    Full,
    /// It can't be written, for example because the disk is full. It goes on when it can be.
    Failed(String),
}

/// A cache that was opened, with what it held.
#[derive(Debug)]
pub(crate) struct OpenedCache {
    pub(crate) cache: Cache,
    pub(crate) facts: Vec<Fact>,
    /// Records that were damaged. They are not in the file any more, and are fetched again when they are needed.
    pub(crate) damaged: Vec<FileError>,
}

impl Cache {
    /// Opens or creates the file of a block.
    pub(crate) fn open(options: &CacheOptions, pin: &Pin) -> Result<OpenedCache, FileError> {
        let path = options.path_of(pin.chain_id, pin.hash);
        let folder = path.parent().unwrap_or(&options.folder);
        fs::create_dir_all(folder).map_err(|error| FileError::io(folder, error))?;
        let lock = lock(&path)?;
        let (facts, damaged) = match path.exists() {
            true => load(&path, options.max_bytes, pin)?,
            false => {
                replace(&path, &file_bytes(pin, &[]))?;
                (Vec::new(), Vec::new())
            }
        };
        Self::begin(path, lock, options.max_bytes, pin, (facts, damaged))
    }

    /// Opens the existing file of a block, whose header is in the file.
    pub(crate) fn reopen(
        options: &CacheOptions,
        chain_id: u64,
        hash: B256,
    ) -> Result<(Pin, OpenedCache), FileError> {
        let path = options.path_of(chain_id, hash);
        if !path.exists() {
            return Err(FileError::Missing(path));
        }
        let lock = lock(&path)?;
        let Checked { pin, facts, faults, .. } = check_file(&read(&path, options.max_bytes)?)
            .map_err(|reason| FileError::Foreign { path: path.clone(), reason })?;
        if pin.hash != hash || pin.chain_id != chain_id {
            return Err(FileError::OtherBlock { path, expected: hash, found: pin.hash });
        }
        let faults = faults.into_iter().map(|fault| record_error(&path, fault)).collect();
        let opened = Self::begin(path, lock, options.max_bytes, &pin, (facts, faults))?;
        Ok((pin, opened))
    }

    /// Opens a file that was read, for further facts. One with damage is replaced by its good part.
    fn begin(
        path: PathBuf,
        lock: File,
        max_bytes: u64,
        pin: &Pin,
        (facts, damaged): (Vec<Fact>, Vec<FileError>),
    ) -> Result<OpenedCache, FileError> {
        if !damaged.is_empty() {
            replace(&path, &file_bytes(pin, &facts))?;
        }
        let io = |error| FileError::io(&path, error);
        let mut file = OpenOptions::new().write(true).open(&path).map_err(io)?;
        let length = file.seek(SeekFrom::End(0)).map_err(io)?;
        let state = Mutex::new(State { file, length, stopped: None, unwritten: Vec::new() });
        let cache = Self { path, max_bytes, state, _lock: lock };
        Ok(OpenedCache { cache, facts, damaged })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds facts. A failure never stops the fork: what can't be written is tried again with the next facts, and at the end.
    pub(crate) fn append(&self, facts: &[Fact]) {
        let mut bytes = Vec::new();
        facts.iter().for_each(|fact| Record::from(fact).write(&mut bytes));
        let mut state = self.state.lock();
        if state.stopped == Some(CacheStop::Full) || bytes.is_empty() {
            return;
        }
        let waiting = state.unwritten.len() + bytes.len();
        let length = state.length.saturating_add(waiting as u64);
        if length > self.max_bytes || state.unwritten.len() > MAX_UNWRITTEN {
            tracing::warn!(path = %self.path.display(), max_bytes = self.max_bytes, "the cache of the fork takes no more");
            state.stopped = Some(CacheStop::Full);
            return;
        }
        state.unwritten.append(&mut bytes);
        self.write(&mut state);
    }

    /// Writes what was not written yet.
    fn write(&self, state: &mut State) {
        let path = self.path.display();
        match state.write() {
            Ok(()) if state.stopped.take().is_some() => {
                tracing::info!(%path, "the cache of the fork is written again");
            }
            Ok(()) => {}
            Err(error) => {
                if state.stopped.is_none() {
                    tracing::warn!(%path, %error, "the cache of the fork can't be written");
                }
                state.stopped = Some(CacheStop::Failed(error.to_string()));
            }
        }
    }

    /// Why it takes no more records, if so.
    pub(crate) fn stopped(&self) -> Option<CacheStop> {
        self.state.lock().stopped.clone()
    }

    /// Bytes of the file.
    pub(crate) fn length(&self) -> u64 {
        self.state.lock().length
    }
}

impl State {
    fn write(&mut self) -> std::io::Result<()> {
        let written = self.file.seek(SeekFrom::Start(self.length));
        match written.and_then(|_| self.file.write_all(&self.unwritten)) {
            Ok(()) => {
                self.length += self.unwritten.len() as u64;
                self.unwritten = Vec::new();
                Ok(())
            }
            Err(error) => {
                // If this fails too, the cut record is noticed when the file is opened.
                let _cut = self.file.set_len(self.length);
                Err(error)
            }
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if !state.unwritten.is_empty() {
            // Who reads the cache finds whole records also if this fails.
            let _lost = state.write();
        }
    }
}

/// Locks the file next to a cache file, which is never replaced.
fn lock(path: &Path) -> Result<File, FileError> {
    let lock_path = beside(path, "lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path);
    let file = file.map_err(|error| FileError::io(&lock_path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(FileError::Locked(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(FileError::io(&lock_path, error)),
    }
}

fn read(path: &Path, max: u64) -> Result<Vec<u8>, FileError> {
    let io = |error| FileError::io(path, error);
    // A file from a time of a larger limit is still read.
    let length = fs::metadata(path).map_err(io)?.len();
    read_bounded(path, max.max(length)).map_err(io)
}

/// The good facts of a file, and its faults. A file of something else counts as damaged as a whole.
fn load(path: &Path, max: u64, pin: &Pin) -> Result<(Vec<Fact>, Vec<FileError>), FileError> {
    let foreign = |reason| FileError::Foreign { path: path.to_owned(), reason };
    match check_file(&read(path, max)?) {
        Ok(checked) if checked.pin.hash != pin.hash || checked.pin.chain_id != pin.chain_id => {
            let (expected, found) = (pin.hash, checked.pin.hash);
            let other = FileError::OtherBlock { path: path.to_owned(), expected, found };
            Ok((Vec::new(), vec![other]))
        }
        // The header that was read now counts. Its hash may not cover what the file says.
        Ok(checked) if checked.pin.header.state_root != pin.header.state_root => {
            Ok((Vec::new(), vec![foreign("its block has another state root".to_owned())]))
        }
        Ok(Checked { facts, faults, .. }) => {
            let faults = faults.into_iter().map(|fault| record_error(path, fault));
            Ok((facts, faults.collect()))
        }
        Err(reason) => Ok((Vec::new(), vec![foreign(reason)])),
    }
}

pub(super) fn record_error(path: &Path, fault: RecordFault) -> FileError {
    let RecordFault { index, offset, kind, reason, .. } = fault;
    FileError::Record { path: path.to_owned(), index, offset, kind, reason }
}
