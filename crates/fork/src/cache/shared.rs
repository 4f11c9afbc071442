//! The shared cache: a file of each block that any fork of this user has read, without which a fork begins cold.
//!
//! Files are only replaced as a whole, under the folder's lock, by what they hold and what is new. A reader needs no lock.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use alloy_primitives::keccak256;
use esker_primitives::read_bounded;
use esker_primitives::sync::Mutex;

use super::check::{Checked, check_file};
use super::file::{entries, file_bytes, replace};
use super::record::{Record, bodies, is_ancestor};
use super::store::record_error;
use crate::error::FileError;
use crate::misses::Want;
use crate::pin::Pin;
use crate::state::{Fact, KnownState, is_checked};

/// How long a write waits for those of other processes.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two tries to get the lock.
const STEP: Duration = Duration::from_millis(20);
const ENDING: &str = "fork";

/// Where the shared cache is, and how large it may become.
#[derive(Clone, Debug)]
pub struct SharedOptions {
    /// The folder. Files are in it by chain ID and block hash.
    pub folder: PathBuf,
    /// Most bytes of all files. The oldest ones are removed.
    pub max_bytes: u64,
    /// Largest file, bytes.
    pub max_file_bytes: u64,
}

/// The shared file of a fork's block, as it was when the fork began, and what the fork has read since.
#[derive(Debug)]
pub(crate) struct Shared {
    options: SharedOptions,
    path: PathBuf,
    pin: Pin,
    is_proven: bool,
    known: KnownState,
    state: Mutex<State>,
    /// Held by the write that is under way.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether there is something that was not written yet.
    is_dirty: bool,
    /// Whether nothing is written any more: the file has its largest size.
    is_stopped: bool,
    /// Whether the last write has failed, as on a full disk. The next one is tried nevertheless.
    has_failed: bool,
}

impl Shared {
    /// Reads the file of a block, if it is there. Values without proofs are shared by forks of the same source only. A damaged
    /// file is named, and removed. This blocks.
    pub(crate) fn open(options: &SharedOptions, pin: &Pin, is_proven: bool, url: &str) -> Self {
        let name = match is_proven {
            true => format!("{}.{ENDING}", pin.hash),
            false => format!("{}-{}.{ENDING}", pin.hash, &keccak256(url).to_string()[2..18]),
        };
        let path = options.folder.join(pin.chain_id.to_string()).join(name);
        let max = usize::try_from(options.max_file_bytes).unwrap_or(usize::MAX);
        let known = KnownState::new(max.saturating_mul(4), pin);
        let shared = Self {
            options: options.clone(),
            path,
            pin: pin.clone(),
            is_proven,
            known,
            state: Mutex::default(),
            writing: Mutex::default(),
        };
        match shared.read() {
            Ok(facts) => {
                let _no_room = shared.known.insert(facts);
            }
            Err(error) => {
                tracing::warn!(%error, "a file of the shared cache of forks is damaged: it is not used, and removed");
                shared.remove_damaged();
            }
        }
        shared
    }

    /// The facts of the file; none if there is no file. It counts as used now.
    fn read(&self) -> Result<Vec<Fact>, FileError> {
        let path = &self.path;
        let io = |error| FileError::io(path, error);
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io(error)),
        };
        #[expect(clippy::disallowed_methods, reason = "times of files are those of the system")]
        let touched = file.set_modified(SystemTime::now());
        touched.map_err(io)?;
        let bytes = read_bounded(path, self.options.max_file_bytes).map_err(io)?;
        let checked = check_file(&bytes);
        let Checked { pin, mut facts, faults, .. } =
            checked.map_err(|reason| FileError::Foreign { path: path.clone(), reason })?;
        if let Some(fault) = faults.into_iter().next() {
            return Err(record_error(path, fault));
        }
        let is_same = pin.hash == self.pin.hash && pin.header == self.pin.header;
        if !is_same || pin.chain_id != self.pin.chain_id {
            let (expected, found) = (self.pin.hash, pin.hash);
            return Err(FileError::OtherBlock { path: path.clone(), expected, found });
        }
        facts.retain(|fact| !self.is_proven || is_checked(fact));
        Ok(facts)
    }

    /// Removes the file, unless another process has replaced it by a good one.
    fn remove_damaged(&self) {
        let Ok(_lock) = lock(&self.options.folder) else { return };
        if self.read().is_err() {
            // Who can't remove it will not use it either.
            let _left = fs::remove_file(&self.path);
        }
    }

    /// What the file says about a part, with the nodes that prove it.
    pub(crate) fn facts_about(&self, want: &Want) -> Option<Vec<Fact>> {
        self.known.facts_about(want)
    }

    /// Adds what was read elsewhere.
    pub(crate) fn add(&self, facts: &[Fact]) {
        let usable = |fact: &&Fact| match fact {
            Fact::Text { .. } => false,
            fact => !self.is_proven || is_checked(fact),
        };
        let facts: Vec<Fact> = facts.iter().filter(usable).cloned().collect();
        match self.known.insert(facts) {
            Some(new) if new.is_empty() => {}
            Some(_) => self.state.lock().is_dirty = true,
            None => self.state.lock().is_stopped = true,
        }
    }

    /// Writes what is new, together with what other processes have written meanwhile. This blocks.
    pub(crate) fn flush(&self) {
        let _writing = self.writing.lock();
        {
            let mut state = self.state.lock();
            if !state.is_dirty || state.is_stopped {
                return;
            }
            state.is_dirty = false;
        }
        match self.write() {
            Ok(()) => self.state.lock().has_failed = false,
            // Another process is writing.
            Err(FileError::Locked(_)) => self.state.lock().is_dirty = true,
            Err(error) => {
                let mut state = self.state.lock();
                state.is_dirty = true;
                if !std::mem::replace(&mut state.has_failed, true) {
                    tracing::warn!(%error, "the shared cache of forks can't be written");
                }
            }
        }
    }

    fn write(&self) -> Result<(), FileError> {
        let folder = self.path.parent().unwrap_or(&self.options.folder);
        fs::create_dir_all(folder).map_err(|error| FileError::io(folder, error))?;
        let _lock = lock(&self.options.folder)?;
        let found = read_bounded(&self.path, self.options.max_file_bytes).unwrap_or_default();
        let Some(bytes) = self.merged(&found) else { return Ok(()) };
        if bytes.len() as u64 > self.options.max_file_bytes {
            self.state.lock().is_stopped = true;
            return Ok(());
        }
        replace(&self.path, &bytes)?;
        remove_oldest(&self.options, &self.path)
    }

    /// A file's bytes with what is new here; `None` if nothing is. A file of something else, or with damage, is replaced.
    fn merged(&self, found: &[u8]) -> Option<Vec<u8>> {
        let Some(bodies) = bodies(found).filter(|bodies| is_pin_of(bodies, &self.pin)) else {
            return Some(file_bytes(&self.pin, &self.known.facts()));
        };
        let ancestors = bodies.iter().filter(|body| is_ancestor(body)).count() as u64;
        let lowest = self.pin.header.number.saturating_sub(ancestors);
        let there: HashSet<&[u8]> = bodies.into_iter().collect();
        let mut bytes = found.to_vec();
        for fact in self.known.facts() {
            let is_new = match &fact {
                Fact::Ancestor { number, .. } => *number < lowest,
                _ => !there.contains(&Record::from(&fact).body()[..]),
            };
            if is_new {
                Record::from(&fact).write(&mut bytes);
            }
        }
        (bytes.len() > found.len()).then_some(bytes)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Whether the first record is this block.
fn is_pin_of(bodies: &[&[u8]], pin: &Pin) -> bool {
    let Some(Ok(Record::Pin { chain_id, json })) = bodies.first().map(|body| Record::read(body))
    else {
        return false;
    };
    let value = serde_json::from_str(&json).unwrap_or_default();
    let found = Pin::from_json(chain_id, &value);
    found.is_ok_and(|found| found.hash == pin.hash && found.chain_id == pin.chain_id)
}

/// Locks the shared folder against writes of other processes.
fn lock(folder: &Path) -> Result<File, FileError> {
    let path = folder.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| FileError::io(&path, error))?;
    let end = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(STEP),
            Err(TryLockError::WouldBlock) => return Err(FileError::Locked(path)),
            Err(TryLockError::Error(error)) => return Err(FileError::io(&path, error)),
        }
    }
}

/// Removes the files that were used longest ago, but not `own`, and what killed processes have left.
fn remove_oldest(options: &SharedOptions, own: &Path) -> Result<(), FileError> {
    let mut files = Vec::new();
    let mut total = 0u64;
    for chain in entries(&options.folder)? {
        for path in entries(&chain)? {
            let Ok(found) = fs::metadata(&path) else { continue };
            if path.extension().is_none_or(|ending| ending != ENDING) {
                // A file that was not complete: the writer had the lock.
                let _left = fs::remove_file(&path);
                continue;
            }
            total = total.saturating_add(found.len());
            if path != own {
                files.push((found.modified().ok(), path, found.len()));
            }
        }
    }
    files.sort();
    for (_, path, length) in files {
        if total <= options.max_bytes {
            break;
        }
        if fs::remove_file(&path).is_ok() {
            total = total.saturating_sub(length);
        }
    }
    Ok(())
}

/// Writes to the shared file from time to time, until the fork has ended.
pub(crate) fn flush_at_intervals(shared: &Arc<Shared>) {
    const INTERVAL: Duration = Duration::from_secs(2);
    /// A write takes at most this part of the time.
    const SHARE: u32 = 20;
    let shared = Arc::downgrade(shared);
    tokio::spawn(async move {
        let mut wait = INTERVAL;
        loop {
            tokio::time::sleep(wait).await;
            let Some(shared) = shared.upgrade() else { return };
            let begun = Instant::now();
            if tokio::task::spawn_blocking(move || shared.flush()).await.is_err() {
                return;
            }
            wait = INTERVAL.max(begun.elapsed().saturating_mul(SHARE));
        }
    });
}
