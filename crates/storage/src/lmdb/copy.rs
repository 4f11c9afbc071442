//! A copy of the database while it is read and written.
//!
//! LMDB copies within one read transaction, which lasts as long as the copy: meanwhile the space of overwritten rows is
//! not used again. It writes into a pipe, whose other end is read here, so that a copy can be watched and ended.

use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;

use heed::CompactionOption;

use super::LmdbStore;
use super::disk_space::DiskSpace;
use super::env::Environment;
use crate::error::{StorageError, StorageResult};
use crate::folder::{DATABASE_FILE, action_error, create_private_dir, private_file, sync_dir};
use crate::kv::CopyProgress;

/// Bytes between two calls of [`CopyProgress`].
const STEP_BYTES: usize = 1 << 20;
/// Bytes after which the copy is written to the disk: a longer backlog would delay the commits of the store.
const SYNC_BYTES: u64 = 64 << 20;

impl LmdbStore {
    /// [`crate::KvStore::backup`]: a data folder with a compacted copy at `to`, which may exist but must not have a store.
    pub(super) fn copy_to(&self, to: &Path, progress: &mut CopyProgress<'_>) -> StorageResult<()> {
        create_private_dir(to)?;
        let target = to.join(DATABASE_FILE);
        let partial = to.join(format!("{DATABASE_FILE}.partial"));
        if target.try_exists().map_err(|error| action_error("read", &target, error))? {
            let error = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(action_error("write the copy", &target, error));
        }
        let env = self.env()?;
        let disk = DiskSpace::new(to, self.options.disk_reserve);
        disk.check(env.live_bytes()?)?;
        let file = private_file()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&partial)
            .map_err(|error| action_error("create", &partial, error))?;
        let copied = copy(&env, file, &partial, &disk, progress).and_then(|()| {
            fs::rename(&partial, &target)
                .map_err(|error| action_error("rename", &partial, error))?;
            sync_dir(to)
        });
        if copied.is_err() {
            // The error of the copy is returned.
            let _ = fs::remove_file(&partial);
        }
        copied
    }
}

/// Writes a copy of `env` to `file`. The call returns when LMDB's transaction has ended, also after an error.
fn copy(
    env: &Environment,
    file: File,
    path: &Path,
    disk: &DiskSpace,
    progress: &mut CopyProgress<'_>,
) -> StorageResult<()> {
    let (reader, writer) = io::pipe().map_err(|error| StorageError::io("pipe", error))?;
    let (received, copied) = thread::scope(|scope| {
        let copier = thread::Builder::new().name("store copy".to_owned());
        let copier = copier.spawn_scoped(scope, move || {
            // LMDB's transaction must count as an open snapshot.
            let (ticket, idle) = env.readers.enter();
            let mut pipe = File::from(OwnedFd::from(writer));
            let copied = env.env.copy_to_file(&mut pipe, CompactionOption::Enabled);
            env.readers.leave(ticket, idle);
            copied.map_err(|error| env.error(error))
        });
        let copier = match copier {
            Ok(copier) => copier,
            Err(error) => return (Ok(()), Err(StorageError::io("thread of the copy", error))),
        };
        // Whatever ends this drops the reader: LMDB's next write then fails, and with it the copy.
        let received = receive(reader, file, path, disk, progress);
        let copied = copier
            .join()
            .unwrap_or_else(|_| Err(StorageError::Panicked("the thread of a copy".to_owned())));
        (received, copied)
    });
    // An error of the receiver is the cause of one of LMDB's.
    received.and(copied)
}

/// Writes what comes through the pipe, until its end, and makes it durable.
fn receive(
    mut reader: PipeReader,
    mut file: File,
    path: &Path,
    disk: &DiskSpace,
    progress: &mut CopyProgress<'_>,
) -> StorageResult<()> {
    let write_error = |error| disk.classify(action_error("write", path, error), STEP_BYTES);
    let mut buffer = vec![0; STEP_BYTES];
    let (mut written, mut synced) = (0_u64, 0_u64);
    loop {
        let filled = fill(&mut reader, &mut buffer)?;
        if filled == 0 {
            break;
        }
        disk.check(filled)?;
        file.write_all(&buffer[..filled]).map_err(write_error)?;
        written += filled as u64;
        if written - synced >= SYNC_BYTES {
            file.sync_data().map_err(write_error)?;
            synced = written;
        }
        progress(written)?;
    }
    file.sync_all().map_err(write_error)
}

/// Reads until the buffer is full or the pipe ends.
fn fill(reader: &mut PipeReader, buffer: &mut [u8]) -> StorageResult<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(StorageError::io("pipe", error)),
        }
    }
    Ok(filled)
}
