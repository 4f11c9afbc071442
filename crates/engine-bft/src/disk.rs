//! Whether the disk of the engine's folder takes writes.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// File that is written to find out.
const PROBE_FILE: &str = "disk-probe";

/// Bytes that must fit: the protocol's files grow by less between two looks.
const PROBE_BYTES: usize = 8 << 20;

/// Writes a file to a folder, durably, and removes it, on a thread that may wait for the disk.
///
/// # Errors
/// The disk is full, or does not take writes.
pub(crate) async fn probe(folder: &Path) -> io::Result<()> {
    let folder = folder.to_owned();
    tokio::task::spawn_blocking(move || probe_now(&folder)).await?
}

fn probe_now(folder: &Path) -> io::Result<()> {
    let path = folder.join(PROBE_FILE);
    let written = write(&path);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => written.and(Err(error)),
        _ => written,
    }
}

fn write(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    let part = [0; 1 << 16];
    for _ in 0..PROBE_BYTES / part.len() {
        file.write_all(&part)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_is_probed_without_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        probe(folder.path()).await.unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(probe(&folder.path().join("missing")).await.is_err());
    }
}
