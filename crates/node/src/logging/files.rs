//! Log files, rotated by size.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use esker_primitives::sync::Mutex;

/// When a file is rotated and how many are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// A file is rotated before it grows beyond this many bytes.
    pub max_bytes: u64,
    /// Rotated files kept beside the current one: `X.log.1` is the newest.
    pub max_files: u32,
}

/// The folder of log files; a file is opened at its first line.
#[derive(Debug)]
pub(super) struct LogFiles {
    folder: PathBuf,
    rotation: Rotation,
    open: Mutex<HashMap<String, LogFile>>,
}

impl LogFiles {
    pub(super) fn new(folder: PathBuf, rotation: Rotation) -> Self {
        Self { folder, rotation, open: Mutex::new(HashMap::new()) }
    }

    /// Appends one line, its end included. A line that can't be written is lost: a full disk must not
    /// stop the node from answering.
    pub(super) fn write(&self, logger: &str, line: &[u8]) {
        let mut open = self.open.lock();
        if let Some(file) = open.get_mut(logger) {
            let _lost = file.append(line, self.rotation);
            return;
        }
        if let Ok(mut file) = LogFile::open(&self.folder, logger) {
            let _lost = file.append(line, self.rotation);
            open.insert(logger.to_owned(), file);
        }
    }
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl LogFile {
    fn open(folder: &Path, logger: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Self::open_path(folder.join(file_name(logger)))
    }

    fn open_path(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path, file, bytes })
    }

    fn append(&mut self, line: &[u8], rotation: Rotation) -> io::Result<()> {
        let size = line.len() as u64;
        if self.bytes > 0 && self.bytes.saturating_add(size) > rotation.max_bytes {
            self.rotate(rotation.max_files)?;
        }
        self.file.write_all(line)?;
        self.bytes += size;
        Ok(())
    }

    fn rotate(&mut self, keep: u32) -> io::Result<()> {
        if keep == 0 {
            self.file.set_len(0)?;
            self.bytes = 0;
            return Ok(());
        }
        for n in (1..keep).rev() {
            let from = numbered(&self.path, n);
            if from.exists() {
                fs::rename(from, numbered(&self.path, n + 1))?;
            }
        }
        fs::rename(&self.path, numbered(&self.path, 1))?;
        *self = Self::open_path(self.path.clone())?;
        Ok(())
    }
}

/// A logger is named by a chain's alias, which may hold any character: those that could leave the
/// folder or vanish in it are replaced.
fn file_name(logger: &str) -> String {
    let safe: String = logger
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .take(100)
        .collect();
    format!("{safe}.log")
}

fn numbered(path: &Path, n: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{n}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_a_logger_rotated_by_size() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("logs");
        let files = LogFiles::new(folder.clone(), Rotation { max_bytes: 10, max_files: 2 });
        for line in ["aaaa\n", "bbbb\n", "cccc\n", "dddd\n", "eeee\n", "ffff\n", "gggg\n"] {
            files.write("X", line.as_bytes());
        }
        files.write("../main", b"m\n");
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        assert_eq!(read("X.log").as_deref(), Some("gggg\n"));
        assert_eq!(read("X.log.1").as_deref(), Some("eeee\nffff\n"));
        assert_eq!(read("X.log.2").as_deref(), Some("cccc\ndddd\n"));
        assert_eq!(read("X.log.3"), None);
        assert_eq!(read("___main.log").as_deref(), Some("m\n"));
    }

    #[test]
    fn an_existing_file_is_continued() {
        let dir = tempfile::tempdir().unwrap();
        let rotation = Rotation { max_bytes: 8, max_files: 1 };
        LogFiles::new(dir.path().into(), rotation).write("X", b"one\n");
        let files = LogFiles::new(dir.path().into(), rotation);
        files.write("X", b"two\n");
        files.write("X", b"three\n");
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(read("X.log.1"), "one\ntwo\n");
        assert_eq!(read("X.log"), "three\n");
    }

    #[test]
    fn a_folder_that_can_not_be_written_loses_lines_only() {
        let files = LogFiles::new("/dev/null/logs".into(), Rotation { max_bytes: 8, max_files: 1 });
        files.write("X", b"lost\n");
    }
}
