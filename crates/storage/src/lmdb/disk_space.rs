//! Free disk space: checked before each write, and reserved in advance where needed.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use esker_primitives::sync::Mutex;
use rustix::io::Errno;

use super::MAX_READERS;
use crate::error::{StorageError, StorageResult};
use crate::folder::{action_error, private_file};

/// The reserve is at most this fraction of the disk, so that a small disk keeps usable space.
const RESERVE_DIVISOR: u64 = 32;
/// If less than a write's size plus this margin is free, an input/output error counts as a full disk: LMDB reports it
/// for an incomplete write.
const SHORT_WRITE_MARGIN: u64 = 1 << 20;
/// Bytes of the reader table: a slot each, and a header of less than a page.
const READER_TABLE_BYTES: u64 = MAX_READERS as u64 * 64 + 4096;
/// Unit of [`MetadataExt::blocks`].
const BLOCK_BYTES: u64 = 512;

/// Time that the system's disk figures are reused.
const CACHE_TIME: Duration = Duration::from_millis(10);

/// How many reserves stay free beside files that are not the store's: the store stops at one.
const RESERVES_BESIDE_FILES: u64 = 2;

/// The free space of a folder's disk, for files that are not the store's: large answers, exports. They leave twice the
/// store's reserve, so that the store can still write.
#[derive(Debug)]
pub struct FileSpace(DiskSpace);

impl FileSpace {
    /// The disk of `path`, an existing file or folder; `reserve` is the store's reserve in bytes, 0 disables the check.
    #[must_use]
    pub fn new(path: &Path, reserve: u64) -> Self {
        Self(DiskSpace::new(path, reserve))
    }

    /// Refuses this many further bytes of files if they would leave less than twice the store's reserve.
    ///
    /// # Errors
    /// [`StorageError::DiskSpace`].
    pub fn check(&self, bytes: u64) -> StorageResult<()> {
        if self.0.reserve == 0 {
            return Ok(());
        }
        // Not the figures of milliseconds ago: files grow faster than the store.
        let Some(disk) = self.0.disk_now() else { return Ok(()) };
        let kept = disk.reserve(self.0.reserve).saturating_mul(RESERVES_BESIDE_FILES);
        self.0.ensure_free(disk, kept, bytes)
    }
}

/// The free space of a folder's disk.
#[derive(Debug)]
pub(super) struct DiskSpace {
    path: PathBuf,
    reserve: u64,
    last: Mutex<Option<(Instant, Disk)>>,
}

/// Size and free space of a disk, in bytes.
#[derive(Clone, Copy, Debug)]
struct Disk {
    /// Free for this user.
    available: u64,
    size: u64,
}

impl Disk {
    /// The reserve on this disk, of a setting.
    fn reserve(self, setting: u64) -> u64 {
        setting.min(self.size / RESERVE_DIVISOR)
    }
}

impl DiskSpace {
    /// The disk of `path`, on which `reserve` bytes stay free; 0 disables the check.
    pub(super) fn new(path: &Path, reserve: u64) -> Self {
        Self { path: path.to_owned(), reserve, last: Mutex::new_named("store room", None) }
    }

    /// Refuses a write of this many bytes if it would use the reserve.
    pub(super) fn check(&self, bytes: usize) -> StorageResult<()> {
        if self.reserve == 0 {
            return Ok(());
        }
        // If the system has no figures, the write itself will fail.
        let Some(disk) = self.disk() else { return Ok(()) };
        self.ensure_free(disk, disk.reserve(self.reserve), bytes as u64)
    }

    fn ensure_free(&self, disk: Disk, reserve: u64, bytes: u64) -> StorageResult<()> {
        match disk.available >= reserve.saturating_add(bytes) {
            true => Ok(()),
            false => Err(self.full(disk, reserve)),
        }
    }

    /// Classifies the error of a failed write of this many bytes, which may be an unclear form of a full disk.
    pub(super) fn classify(&self, error: StorageError, bytes: usize) -> StorageError {
        let StorageError::Io { error: cause, .. } = &error else { return error };
        let Some(disk) = self.disk_now() else { return error };
        let is_short = cause.raw_os_error() == Some(Errno::IO.raw_os_error())
            && disk.available < SHORT_WRITE_MARGIN.saturating_add(bytes as u64);
        if is_short || cause.kind() == io::ErrorKind::StorageFull {
            return self.full(disk, self.reserve);
        }
        error
    }

    /// Free bytes of the disk, and those of them that stay free; `None` if the system does not say.
    pub(super) fn free_and_reserve(&self) -> Option<(u64, u64)> {
        self.disk().map(|disk| (disk.available, disk.reserve(self.reserve)))
    }

    fn full(&self, disk: Disk, reserve: u64) -> StorageError {
        StorageError::DiskSpace { path: self.path.clone(), available: disk.available, reserve }
    }

    fn disk(&self) -> Option<Disk> {
        let now = Instant::now();
        let last = *self.last.lock();
        if let Some((at, disk)) = last
            && now.duration_since(at) < CACHE_TIME
        {
            return Some(disk);
        }
        let disk = self.disk_now()?;
        *self.last.lock() = Some((now, disk));
        Some(disk)
    }

    fn disk_now(&self) -> Option<Disk> {
        let found = rustix::fs::statvfs(&self.path).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Some(Disk { available: bytes(found.f_bavail), size: bytes(found.f_blocks) })
    }
}

/// Allocates the disk space of LMDB's reader table. LMDB maps the table and writes to it with every snapshot: on a
/// full disk, a write to unallocated space would end the process.
pub(super) fn reserve_reader_table(database: &Path) -> StorageResult<()> {
    let mut path = database.as_os_str().to_owned();
    path.push("-lock");
    let path = PathBuf::from(path);
    let take = |mut file: File| -> io::Result<()> {
        let found = file.metadata()?;
        if found.len() >= READER_TABLE_BYTES && found.blocks() * BLOCK_BYTES >= found.len() {
            return Ok(());
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        content.resize(content.len().max(READER_TABLE_BYTES as usize), 0);
        file.rewind()?;
        file.write_all(&content)
    };
    let mut options = private_file();
    let file = options.read(true).write(true).create(true).truncate(false).open(&path);
    file.and_then(take).map_err(|error| action_error("reserve the space of", &path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_stays_free() {
        let place = tempfile::tempdir().unwrap();
        DiskSpace::new(place.path(), 0).check(usize::MAX).unwrap();
        DiskSpace::new(place.path(), 1).check(1).unwrap();
        let error = DiskSpace::new(place.path(), u64::MAX).check(usize::MAX).unwrap_err();
        let StorageError::DiskSpace { available, reserve, .. } = error else { panic!("{error}") };
        assert!(available > 0 && reserve < u64::MAX, "a part of the disk: {reserve}");
        assert!(error.to_string().starts_with("insufficient disk space: "), "{error}");
        let shown = DiskSpace::new(place.path(), u64::MAX).free_and_reserve().unwrap();
        assert!(shown.0 > 0 && shown.1 == reserve, "{shown:?}");
        // A missing folder has no figures.
        let missing = DiskSpace::new(Path::new("/nothing/there"), u64::MAX);
        missing.check(1).unwrap();
        assert_eq!(missing.free_and_reserve(), None);
    }

    #[test]
    fn other_files_leave_twice_the_reserve() {
        let space = FileSpace::new(Path::new("/nothing/there"), 100);
        let check = |available, kept, bytes| {
            space.0.ensure_free(Disk { available, size: u64::MAX }, kept, bytes).is_ok()
        };
        assert!(check(250, 200, 50) && !check(250, 200, 51));
        let disk = |size| Disk { available: 0, size }.reserve(100);
        assert_eq!((disk(320), disk(1 << 20)), (10, 100));
        let place = tempfile::tempdir().unwrap();
        FileSpace::new(place.path(), 0).check(u64::MAX).unwrap();
        FileSpace::new(place.path(), 1).check(1).unwrap();
        let size = DiskSpace::new(place.path(), 1).disk_now().unwrap().size;
        let error = FileSpace::new(place.path(), u64::MAX).check(u64::MAX).unwrap_err();
        let StorageError::DiskSpace { reserve, .. } = error else { panic!("{error}") };
        assert_eq!(reserve, size / RESERVE_DIVISOR * 2);
    }

    #[test]
    fn a_short_write_is_a_full_disk() {
        let place = tempfile::tempdir().unwrap();
        let disk_space = DiskSpace::new(place.path(), 7);
        let io = |code| StorageError::io("database", io::Error::from_raw_os_error(code));
        let (short, broken) =
            (disk_space.classify(io(5), usize::MAX), disk_space.classify(io(5), 0));
        assert!(matches!(short, StorageError::DiskSpace { reserve: 7, .. }), "{short}");
        assert!(matches!(broken, StorageError::Io { .. }), "{broken}");
        assert!(matches!(disk_space.classify(io(28), 0), StorageError::DiskSpace { .. }));
        assert!(matches!(disk_space.classify(StorageError::Closed, 0), StorageError::Closed));
    }

    #[test]
    fn the_reader_table_is_allocated_and_keeps_its_content() {
        let place = tempfile::tempdir().unwrap();
        let (database, table) = (place.path().join("x"), place.path().join("x-lock"));
        std::fs::write(&table, "content").unwrap();
        reserve_reader_table(&database).unwrap();
        let content = std::fs::read(&table).unwrap();
        assert_eq!(content.len() as u64, READER_TABLE_BYTES);
        assert!(content.starts_with(b"content\0"));
        // A sparse file, as LMDB creates it.
        File::create(&table).unwrap().set_len(2 * READER_TABLE_BYTES).unwrap();
        reserve_reader_table(&database).unwrap();
        let found = std::fs::metadata(&table).unwrap();
        assert_eq!(found.len(), 2 * READER_TABLE_BYTES);
        assert!(found.blocks() * BLOCK_BYTES >= found.len());
    }
}
