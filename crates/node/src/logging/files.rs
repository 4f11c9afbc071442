//! Log files, rotated by size and optionally by age. Old ones are removed by number and by age.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use esker_primitives::sync::Mutex;
use esker_settings::logging::Rotation;

/// Time between two checks for rotated files that are too old or too many.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(3600);

/// Creates the folder if needed, and opens each logger's file for writing; creates the file of the first.
///
/// A full disk is not an error: space may become free, and lines are lost until then.
pub(super) fn check<'a>(
    folder: &Path,
    loggers: impl IntoIterator<Item = &'a str>,
) -> Result<(), (PathBuf, io::Error)> {
    let may_pass = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    };
    let check = |path: PathBuf, result: io::Result<()>| match result {
        Err(error) if !may_pass(&error) => Err((path, error)),
        _ => Ok(()),
    };
    check(folder.to_owned(), fs::create_dir_all(folder))?;
    for (index, logger) in loggers.into_iter().enumerate() {
        let path = folder.join(file_name(logger));
        if index == 0 || path.exists() {
            let opened = OpenOptions::new().create(true).append(true).open(&path);
            check(path, opened.map(drop))?;
        }
    }
    Ok(())
}

/// The folder of log files. A file is opened for its first line.
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

    /// Closes all files. The next line of each opens the file that has the name by then. This is for programs that
    /// rename the files.
    pub(super) fn reopen(&self) {
        self.open.lock().clear();
    }

    /// Appends one line, including its end. A line that can't be written is lost: a full disk must not stop the node.
    /// Later lines are written once there is room. `now` is Unix time.
    pub(super) fn write(&self, logger: &str, line: &[u8], now: Duration) {
        let mut open = self.open.lock();
        if let Some(file) = open.get_mut(logger) {
            let _lost = file.append(line, self.rotation, now);
            file.clean_up(self.rotation, now);
            return;
        }
        if let Ok(mut file) = LogFile::open(&self.folder, logger) {
            let _lost = file.append(line, self.rotation, now);
            file.clean_up(self.rotation, now);
            open.insert(logger.to_owned(), file);
        }
    }
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// Time of the first line, Unix time; `None` if the file has none, or one without a time.
    begun: Option<Duration>,
    /// A full disk cut its last line short.
    is_torn: bool,
    /// Time of the last check of rotated files, Unix time.
    cleaned_up: Option<Duration>,
}

impl LogFile {
    fn open(folder: &Path, logger: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Self::open_path(folder.join(file_name(logger)))
    }

    fn open_path(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let bytes = file.metadata()?.len();
        let begun = if bytes > 0 { first_time(&path) } else { None };
        Ok(Self { path, file, bytes, begun, is_torn: false, cleaned_up: None })
    }

    fn append(&mut self, line: &[u8], rotation: Rotation, now: Duration) -> io::Result<()> {
        let size = line.len() as u64;
        let age = self.begun.map(|begun| now.saturating_sub(begun));
        let is_old = age.zip(rotation.interval).is_some_and(|(age, interval)| age >= interval);
        let is_large = self.bytes.saturating_add(size) > rotation.max_bytes;
        if self.bytes > 0 && (is_large || is_old) {
            // A file that can't be rotated stays in use; rotation is retried after the same growth or time.
            let rotated = self.rotate(rotation.max_files);
            (self.bytes, self.begun) = (0, None);
            if rotated.is_ok() {
                self.is_torn = false;
            }
        }
        if self.is_torn {
            self.file.write_all(b"\n")?;
            self.is_torn = false;
        }
        let mut rest = line;
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(written) if written > 0 => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                failed => {
                    self.is_torn = rest.len() < line.len();
                    return failed.and(Err(io::ErrorKind::WriteZero.into()));
                }
            }
        }
        self.bytes += size;
        self.begun.get_or_insert(now);
        Ok(())
    }

    /// Removes rotated files that are too old or too many, at the first line and then once an hour.
    fn clean_up(&mut self, rotation: Rotation, now: Duration) {
        let is_recent = |last: Duration| now.saturating_sub(last) < CLEANUP_INTERVAL;
        if self.cleaned_up.is_some_and(is_recent) {
            return;
        }
        self.cleaned_up = Some(now);
        for n in 1.. {
            let path = numbered(&self.path, n);
            let Ok(metadata) = path.metadata() else { return };
            let written =
                metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let age = written.map(|at| now.saturating_sub(at));
            let is_old = age.zip(rotation.max_age).is_some_and(|(age, max)| age > max);
            if n > rotation.max_files || is_old {
                // A file that can't be removed is tried again.
                let _kept = fs::remove_file(&path);
            }
        }
    }

    fn rotate(&mut self, keep: u32) -> io::Result<()> {
        if keep == 0 {
            return self.file.set_len(0);
        }
        // Nothing is renamed if there is no room for a new file.
        let mut name = self.path.as_os_str().to_owned();
        name.push(".new");
        let next = PathBuf::from(name);
        let file = OpenOptions::new().create(true).append(true).open(&next)?;
        for n in (1..keep).rev() {
            let from = numbered(&self.path, n);
            if from.exists() {
                fs::rename(from, numbered(&self.path, n + 1))?;
            }
        }
        if self.path.exists() {
            fs::rename(&self.path, numbered(&self.path, 1))?;
        }
        fs::rename(next, &self.path)?;
        self.file = file;
        Ok(())
    }
}

/// Most bytes before the end of a line's time.
const TIME_BYTES: usize = 64;

/// The time of a file's first line, Unix time. It is at the beginning of the line, or of its JSON.
fn first_time(path: &Path) -> Option<Duration> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(TIME_BYTES as u64).read_to_end(&mut head).ok()?;
    let head = str::from_utf8(&head).ok()?;
    let time = head.strip_prefix("{\"time\":\"").unwrap_or(head);
    let time: jiff::Timestamp = time.get(..=time.find('Z')?)?.parse().ok()?;
    Some(Duration::from_millis(u64::try_from(time.as_millisecond()).ok()?))
}

/// A logger's name is a chain's alias, which may have any character. Characters that could leave the folder or hide
/// the file are replaced.
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

    const NOW: Duration = Duration::from_secs(1_000_000);

    fn rotation(max_bytes: u64, max_files: u32) -> Rotation {
        Rotation { max_bytes, max_files, interval: None, max_age: None }
    }

    #[test]
    fn rotated_files_are_removed_by_age_and_number() {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        let dir = tempfile::tempdir().unwrap();
        let path = |n: u32| dir.path().join(format!("X.log.{n}"));
        let exist = || (1..=5).filter(|n| path(*n).exists()).collect::<Vec<_>>();
        for (n, days) in [(1, 9), (2, 8), (3, 6), (4, 5), (5, 1)] {
            let file = File::create(path(n)).unwrap();
            file.set_modified(UNIX_EPOCH + DAY * days).unwrap();
        }
        let rotation = Rotation { max_age: Some(DAY * 3), ..rotation(100, 4) };
        let files = LogFiles::new(dir.path().into(), rotation);
        files.write("X", b"line\n", DAY * 9);
        assert_eq!(exist(), [1, 2, 3], "the fifth is one too many, the fourth four days old");
        let later = DAY * 9 + CLEANUP_INTERVAL;
        files.write("X", b"line\n", later - Duration::from_secs(1));
        assert_eq!(exist(), [1, 2, 3], "once an hour");
        files.write("X", b"line\n", later);
        assert_eq!(exist(), [1, 2], "the third is three days and an hour old");
        // There is no limit of age.
        let files = LogFiles::new(dir.path().into(), Rotation { max_age: None, ..rotation });
        files.write("X", b"line\n", DAY * 1000);
        assert_eq!(exist(), [1, 2]);
    }

    #[test]
    fn a_file_is_rotated_once_its_first_line_is_old_enough() {
        const HOUR: Duration = Duration::from_secs(3600);
        let dir = tempfile::tempdir().unwrap();
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).ok();
        let hourly = Rotation { interval: Some(HOUR), ..rotation(1000, 2) };
        let files = LogFiles::new(dir.path().into(), hourly);
        let start = Duration::from_secs(1_607_144_400);
        let line =
            |at: Duration, text: &str| format!("{} INFO  {text}\n", crate::clock::rfc3339(at));
        let write = |files: &LogFiles, at: Duration, text: &str| {
            files.write("X", line(at, text).as_bytes(), at);
        };
        write(&files, start, "first");
        write(&files, start + HOUR - Duration::from_millis(1), "second");
        assert_eq!(read("X.log.1"), None);
        write(&files, start + HOUR, "third");
        let old = line(start, "first") + &line(start + HOUR - Duration::from_millis(1), "second");
        assert_eq!(read("X.log.1"), Some(old.clone()));
        // After a restart the time of the file's first line counts, in both formats.
        let files = LogFiles::new(dir.path().into(), hourly);
        write(&files, start + HOUR * 2 - Duration::from_millis(1), "fourth");
        assert_eq!(read("X.log.1"), Some(old.clone()));
        write(&files, start + HOUR * 2, "fifth");
        assert_eq!(read("X.log.2"), Some(old));
        assert_eq!(read("X.log"), Some(line(start + HOUR * 2, "fifth")));
        let json =
            format!("{{\"time\":\"{}\",\"level\":\"INFO\"}}\n", crate::clock::rfc3339(start));
        fs::write(dir.path().join("Y.log"), &json).unwrap();
        files.write("Y", b"new\n", start + HOUR);
        assert_eq!((read("Y.log.1"), read("Y.log").as_deref()), (Some(json), Some("new\n")));
        // The clock was set back, lines have no time, and there is no interval: rotation is by size only.
        files.write("Y", b"back\n", start - HOUR);
        fs::write(dir.path().join("Z.log"), "no time\n").unwrap();
        files.write("Z", b"line\n", start);
        let files = LogFiles::new(dir.path().into(), rotation(1000, 2));
        files.write("X", b"line\n", start * 2);
        assert_eq!(read("Y.log").as_deref(), Some("new\nback\n"));
        assert_eq!(read("Z.log").as_deref(), Some("no time\nline\n"));
        assert_eq!(read("X.log"), Some(line(start + HOUR * 2, "fifth") + "line\n"));
    }

    #[test]
    fn one_file_a_logger_rotated_by_size() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("logs");
        let files = LogFiles::new(folder.clone(), rotation(10, 2));
        for line in ["aaaa\n", "bbbb\n", "cccc\n", "dddd\n", "eeee\n", "ffff\n", "gggg\n"] {
            files.write("X", line.as_bytes(), NOW);
        }
        files.write("../main", b"m\n", NOW);
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        assert_eq!(read("X.log").as_deref(), Some("gggg\n"));
        assert_eq!(read("X.log.1").as_deref(), Some("eeee\nffff\n"));
        assert_eq!(read("X.log.2").as_deref(), Some("cccc\ndddd\n"));
        assert_eq!(read("X.log.3"), None);
        assert_eq!(read("___main.log").as_deref(), Some("m\n"));
    }

    #[test]
    fn a_renamed_file_is_left_when_files_are_reopened() {
        let dir = tempfile::tempdir().unwrap();
        let files = LogFiles::new(dir.path().into(), rotation(20, 2));
        let [log, old] = ["X.log", "X.log-old"].map(|name| dir.path().join(name));
        files.write("X", b"first\n", NOW);
        fs::rename(&log, &old).unwrap();
        // The process keeps the file that it has opened until it is told to reopen it.
        files.write("X", b"second\n", NOW);
        files.reopen();
        files.write("X", b"third\n", NOW);
        files.write("Y", b"other\n", NOW);
        files.reopen();
        files.write("X", b"fourth\n", NOW);
        assert_eq!(fs::read_to_string(&old).unwrap(), "first\nsecond\n");
        assert_eq!(fs::read_to_string(&log).unwrap(), "third\nfourth\n");
        // The size is that of the new file.
        assert!(!dir.path().join("X.log.1").exists());
    }

    #[test]
    fn an_existing_file_is_continued() {
        let dir = tempfile::tempdir().unwrap();
        let rotation = rotation(8, 1);
        LogFiles::new(dir.path().into(), rotation).write("X", b"one\n", NOW);
        let files = LogFiles::new(dir.path().into(), rotation);
        files.write("X", b"two\n", NOW);
        files.write("X", b"three\n", NOW);
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(read("X.log.1"), "one\ntwo\n");
        assert_eq!(read("X.log"), "three\n");
    }

    #[test]
    fn folders_and_files_that_can_not_be_written_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("new/logs");
        check(&folder, ["main", "X"]).unwrap();
        assert!(folder.join("main.log").exists() && !folder.join("X.log").exists());
        // A folder in the place of a file, and a file in the place of a folder: root can't write these either.
        fs::create_dir(folder.join("X.log")).unwrap();
        assert_eq!(check(&folder, ["main", "X"]).unwrap_err().0, folder.join("X.log"));
        let file = folder.join("main.log");
        assert_eq!(check(&file, ["main"]).unwrap_err().0, file);
        assert_eq!(check(&file.join("logs"), ["main"]).unwrap_err().0, file.join("logs"));
    }

    #[test]
    fn a_file_that_can_not_be_rotated_goes_on_and_is_rotated_later() {
        let dir = tempfile::tempdir().unwrap();
        let files = LogFiles::new(dir.path().into(), rotation(10, 2));
        // At the place of the next file.
        let obstacle = dir.path().join("X.log.new");
        fs::create_dir(&obstacle).unwrap();
        for line in ["aaaa\n", "bbbb\n", "cccc\n", "dddd\n"] {
            files.write("X", line.as_bytes(), NOW);
        }
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).ok();
        assert_eq!(read("X.log").as_deref(), Some("aaaa\nbbbb\ncccc\ndddd\n"));
        assert_eq!(read("X.log.1"), None);
        fs::remove_dir(&obstacle).unwrap();
        // Another process removed the file.
        fs::remove_file(dir.path().join("X.log")).unwrap();
        files.write("X", b"eeee\n", NOW);
        files.write("X", b"ffff\n", NOW);
        assert_eq!(read("X.log").as_deref(), Some("eeee\nffff\n"));
        assert_eq!(read("X.log.1"), None);
    }

    #[test]
    fn a_line_that_was_cut_short_ends_before_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("X.log");
        let rotation = rotation(100, 1);
        let mut file = LogFile::open_path(path.clone()).unwrap();
        file.append(b"whole\n", rotation, NOW).unwrap();
        file.append(b"cut sh", rotation, NOW).unwrap();
        file.is_torn = true;
        file.append(b"next\n", rotation, NOW).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\ncut sh\nnext\n");
        // A disk without any room leaves no partial line.
        file.file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        assert!(file.append(b"lost\n", rotation, NOW).is_err());
        assert!(!file.is_torn);
    }

    #[test]
    fn a_folder_that_can_not_be_written_loses_lines_only() {
        let files = LogFiles::new("/dev/null/logs".into(), rotation(8, 1));
        files.write("X", b"lost\n", NOW);
    }
}
