//! One backup: a folder with a copy of the store and of the files beside it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use esker_settings::config::Config;
use esker_storage::{CopyProgress, KvStore};

use super::BackupError;
use crate::{identity, journal};

/// Locked while a folder is being written. If nobody has locked it, a killed process left the folder.
const LOCK_FILE: &str = "backup.lock";
/// Added to the name of a folder that is being written.
const PARTIAL: &str = ".partial";
/// Most files that are copied besides the store.
const MAX_FILES: usize = 65_536;

/// The data folder that is copied, except for its store.
#[derive(Clone, Debug)]
pub struct BackupSource {
    data_dir: PathBuf,
    /// Folders of files to copy, relative to the data folder.
    folders: Vec<PathBuf>,
}

impl BackupSource {
    /// The node's identity alone.
    pub fn identity(data_dir: &Path) -> Self {
        // Only an empty path has no absolute form.
        let data_dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
        Self { data_dir, folders: vec![PathBuf::from(identity::FOLDER)] }
    }

    /// The node's identity, and the key files of its chains that lie in the data folder.
    pub fn from_config(config: &Config, data_dir: &Path) -> Self {
        let Self { data_dir, mut folders } = Self::identity(data_dir);
        for chain in &config.network.chains {
            let keys = config.key_folder(config.chain(&chain.id), &data_dir);
            let inside =
                keys.and_then(|keys| keys.strip_prefix(&data_dir).map(Path::to_owned).ok());
            folders.extend(inside.filter(|folder| !folder.as_os_str().is_empty()));
        }
        folders.sort();
        folders.dedup();
        Self { data_dir, folders }
    }

    /// The folder that relative paths of backups start from.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Writes the folder `to`, which must not exist. It appears at once with all of its content. After an error
    /// nothing is left. Remains of a killed process in the same folder are removed first.
    ///
    /// # Errors
    /// See [`BackupError`], and [`KvStore::backup`].
    pub fn write(
        &self,
        store: &dyn KvStore,
        to: &Path,
        progress: &mut CopyProgress<'_>,
    ) -> Result<(), BackupError> {
        let partial = PartialFolder::create(to)?;
        store.backup(&partial.path, progress)?;
        let mut left = MAX_FILES;
        for folder in &self.folders {
            copy_files(&self.data_dir.join(folder), &partial.path.join(folder), &mut left)?;
        }
        let journal = self.data_dir.join(journal::FILE);
        if is_file(&journal) {
            copy_file(&journal, &partial.path.join(journal::FILE))?;
        }
        sync_folder(&partial.path)?;
        partial.finish(to)
    }
}

/// A folder that is being written; removed on drop unless it was finished.
struct PartialFolder {
    path: PathBuf,
    lock: File,
    finished: bool,
}

impl PartialFolder {
    fn create(to: &Path) -> Result<Self, BackupError> {
        let Some(name) = to.file_name() else { return Err(BackupError::NoName(to.to_owned())) };
        if fs::symlink_metadata(to).is_ok() {
            return Err(BackupError::Exists(to.to_owned()));
        }
        let mut partial = name.to_owned();
        partial.push(PARTIAL);
        let path = to.with_file_name(partial);
        match make_folder(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_abandoned(&path)?;
                make_folder(&path)
            }
            made => made,
        }
        .map_err(|error| io_error("create folder", &path, error))?;
        let lock = new_file(&path.join(LOCK_FILE)).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        match lock {
            Ok(lock) => Ok(Self { path, lock, finished: false }),
            Err(error) => {
                let _unused = fs::remove_dir_all(&path);
                Err(io_error("lock", &path, error))
            }
        }
    }

    fn finish(mut self, to: &Path) -> Result<(), BackupError> {
        fs::rename(&self.path, to).map_err(|error| io_error("rename", &self.path, error))?;
        self.finished = true;
        // Unlocked only now: a folder under the partial name always has this file.
        let lock = to.join(LOCK_FILE);
        fs::remove_file(&lock).map_err(|error| io_error("remove", &lock, error))?;
        sync_folder(to)?;
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_folder(parent.unwrap_or(Path::new(".")))
    }
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(folder = %self.path.display(), %error, "cannot remove an unfinished backup");
        }
        let _closed = self.lock.unlock();
    }
}

/// Removes the remains of a killed process. A folder without our file belongs to somebody else and stays.
fn remove_abandoned(path: &Path) -> Result<(), BackupError> {
    let lock = path.join(LOCK_FILE);
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if !is_folder || !is_file(&lock) {
        return Err(BackupError::Exists(path.to_owned()));
    }
    let lock = File::open(&lock).map_err(|error| io_error("open", &lock, error))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(BackupError::InUse(path.to_owned())),
        Err(TryLockError::Error(error)) => return Err(io_error("lock", path, error)),
    }
    fs::remove_dir_all(path).map_err(|error| io_error("remove", path, error))?;
    tracing::info!(folder = %path.display(), "removed a backup that was not finished");
    Ok(())
}

/// Copies the files of a folder, if it exists, without its folders and links.
fn copy_files(from: &Path, to: &Path, left: &mut usize) -> Result<(), BackupError> {
    let entries = match fs::read_dir(from) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error("read", from, error)),
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(to)
        .map_err(|error| io_error("create folder", to, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| io_error("read", from, error))?;
        let path = entry.path();
        if !is_file(&path) {
            continue;
        }
        *left = left.checked_sub(1).ok_or_else(|| BackupError::TooManyFiles(from.to_owned()))?;
        copy_file(&path, &to.join(entry.file_name()))?;
    }
    sync_folder(to)
}

/// A file that is removed meanwhile is skipped.
fn copy_file(from: &Path, to: &Path) -> Result<(), BackupError> {
    let mut source = match File::open(from) {
        Ok(source) => source,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error("open", from, error)),
    };
    new_file(to)
        .and_then(|mut target| {
            io::copy(&mut source, &mut target)?;
            target.sync_all()
        })
        .map_err(|error| io_error("write", to, error))
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Only this user can enter it.
fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn sync_folder(path: &Path) -> Result<(), BackupError> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| io_error("flush folder", path, error))
}

fn io_error(action: &'static str, path: &Path, error: io::Error) -> BackupError {
    BackupError::Io { action, path: path.to_owned(), error }
}
