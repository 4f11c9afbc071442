//! The data folder: created if it is missing, locked against a second process, removed on drop if it is temporary.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{StorageError, StorageResult};

/// The database file in a data folder. LMDB keeps its reader table beside it, in `esker.mdb-lock`.
pub(crate) const DATABASE_FILE: &str = "esker.mdb";
/// Locked while a process uses the folder; contains the process ID.
pub(crate) const LOCK_FILE: &str = "esker.lock";
/// Temporary folders are called `esker-PID-NUMBER`.
pub(crate) const TEMP_PREFIX: &str = "esker-";
/// The next number. None is used twice: the store of a node that failed to start may be closed shortly after its folder is
/// gone, and a process opens no path twice.
static NEXT_TEMP: AtomicU32 = AtomicU32::new(0);
/// Most names that are tried for a temporary folder.
const TEMP_NAMES: u32 = 10_000;

/// A data folder that only this process uses, until it is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: Lock,
    // Dropped last: the files are closed then.
    _temporary: Option<TempFolder>,
}

impl Folder {
    /// Locks the folder, and creates it if it is missing.
    pub(crate) fn take(path: &Path) -> StorageResult<Self> {
        create_private_dir(path)?;
        Ok(Self { path: path.to_owned(), _lock: lock(path)?, _temporary: None })
    }

    /// Makes a new folder that is removed on drop.
    pub(crate) fn temporary() -> StorageResult<Self> {
        let temporary = TempFolder::create()?;
        let path = temporary.path().to_owned();
        Ok(Self { _lock: lock(&path)?, path, _temporary: Some(temporary) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path.join(DATABASE_FILE)
    }
}

/// The lock on a data folder.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that is starting has the file open too, until its program
        // runs. If unlocking fails, closing has to suffice.
        let _ = self.0.unlock();
    }
}

/// A new folder in the system's folder for temporary files, removed with its content on drop.
#[derive(Debug)]
pub struct TempFolder(PathBuf);

impl TempFolder {
    /// Creates a new folder that only this user can enter.
    pub fn create() -> StorageResult<Self> {
        Self::create_in(&std::env::temp_dir())
    }

    /// Creates it in that folder, which is created if it is missing.
    ///
    /// # Errors
    /// The system refuses, or the path is not that of a folder.
    pub fn create_in_new(parent: &Path) -> StorageResult<Self> {
        create_private_dir(parent)?;
        Self::create_in(parent)
    }

    /// Creates it in that folder.
    pub(crate) fn create_in(parent: &Path) -> StorageResult<Self> {
        for _ in 0..TEMP_NAMES {
            let number = NEXT_TEMP.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{TEMP_PREFIX}{}-{number}", process::id()));
            match private_dir_builder().create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(action_error("create temporary folder", &path, error)),
            }
        }
        let error = io::Error::from(io::ErrorKind::AlreadyExists);
        Err(action_error("create a temporary folder in", parent, error))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(folder = %self.0.display(), %error, "cannot remove the temporary folder");
        }
    }
}

/// Creates the folder and its missing parents, for this user only. An existing folder is unchanged.
pub(crate) fn create_private_dir(path: &Path) -> StorageResult<()> {
    let mut builder = private_dir_builder();
    builder.recursive(true);
    builder.create(path).map_err(|error| action_error("create folder", path, error))
}

/// Options for new files: only this user can read them.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Syncs `folder`, so that a new name in it survives a power cut.
pub(crate) fn sync_dir(folder: &Path) -> StorageResult<()> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| action_error("flush folder", folder, error))
}

/// "cannot <action> <path>: <error>".
pub(crate) fn action_error(action: &str, path: &Path, error: io::Error) -> StorageError {
    StorageError::io(format!("cannot {action} {}", path.display()), error)
}

fn private_dir_builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode to set"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Locks the folder and writes the process ID. The system releases the lock when the process ends in any way; the
/// file with the ID stays.
fn lock(folder: &Path) -> StorageResult<Lock> {
    let path = folder.join(LOCK_FILE);
    let mut file = private_file()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|error| action_error("open", &path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(StorageError::Locked { path: folder.to_owned(), pid });
        }
        Err(TryLockError::Error(error)) => return Err(action_error("lock", &path, error)),
    }
    let noted = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", process::id()));
    if let Err(error) = noted {
        // On a full disk: the folder can still be read, and the lock works without the ID.
        tracing::warn!(file = %path.display(), %error, "cannot note this process's number");
    }
    Ok(Lock(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_gets_the_process_number() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b");
        let folder = Folder::take(&path).unwrap();
        match Folder::take(&path) {
            Err(StorageError::Locked { pid, path: locked }) => {
                assert_eq!(pid, Some(process::id()));
                assert_eq!(locked, path);
            }
            other => panic!("{other:?}"),
        }
        drop(folder);
        Folder::take(&path).unwrap();
    }

    #[test]
    fn a_folder_is_free_while_its_lock_file_is_open_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::take(place.path()).unwrap();
        // The copy that a starting child process has.
        let inherited = folder._lock.0.try_clone().unwrap();
        drop(folder);
        Folder::take(place.path()).unwrap();
        drop(inherited);
    }

    #[cfg(unix)]
    #[test]
    fn new_folders_and_files_are_private_and_old_folders_stay_as_they_are() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let place = tempfile::tempdir().unwrap();
        let fresh = place.path().join("fresh");
        let _fresh = Folder::take(&fresh).unwrap();
        assert_eq!(mode(&fresh), 0o700);
        assert_eq!(mode(&fresh.join(LOCK_FILE)), 0o600);
        let old = place.path().join("old");
        fs::create_dir(&old).unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).unwrap();
        let _old = Folder::take(&old).unwrap();
        assert_eq!(mode(&old), 0o755);
    }

    #[test]
    fn a_temporary_folder_goes_with_all_it_holds() {
        let folder = TempFolder::create().unwrap();
        let path = folder.path().to_owned();
        fs::create_dir(path.join("inner")).unwrap();
        fs::write(path.join("inner/file"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }
    #[test]
    fn no_name_of_a_temporary_folder_is_used_twice() {
        let place = tempfile::tempdir().unwrap();
        let name = || TempFolder::create_in(place.path()).unwrap().path().to_owned();
        assert_ne!(name(), name());
    }
}
