//! The output of a node.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Most bytes of a log in an error.
const MAX_BYTES: u64 = 32 * 1024;
/// Most lines of a log in an error.
const MAX_LINES: usize = 100;

/// All of an open file; empty where it can't be read.
pub(crate) fn all(file: &File) -> String {
    read(file, u64::MAX).unwrap_or_default()
}

/// The last lines of an open file; empty where it can't be read.
pub(crate) fn last_lines(file: &File) -> String {
    let text = read(file, MAX_BYTES).unwrap_or_default();
    let skipped = text.lines().count().saturating_sub(MAX_LINES);
    text.lines().skip(skipped).collect::<Vec<_>>().join("\n")
}

/// At most so many of the last bytes.
fn read(file: &File, most: u64) -> io::Result<String> {
    let length = file.metadata()?.len();
    let mut bytes = vec![0; usize::try_from(length.min(most)).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, length.saturating_sub(most))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_logs_are_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let write = |text: &str| {
            std::fs::write(&path, text).unwrap();
            File::open(&path).unwrap()
        };
        assert_eq!(last_lines(&write("")), "");
        assert_eq!(last_lines(&write("one\ntwo\n")), "one\ntwo");
        let lines: Vec<_> = (0..100_000).map(|n| format!("line {n}")).collect();
        let long = write(&lines.join("\n"));
        let last = last_lines(&long);
        assert_eq!(last.lines().count(), MAX_LINES);
        assert!(last.starts_with("line 99900\n") && last.ends_with("line 99999"), "{last}");
        assert_eq!(all(&long).lines().count(), 100_000);
        assert_eq!(last_lines(&write(&"x".repeat(100_000))).len(), 32 * 1024);
    }
}
