//! `esker evm state-test`: runs Ethereum's state tests.

mod cli;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use esker_settings::exit_code;
use esker_state_test::{FileError, run_file};
use thiserror::Error;

pub(crate) use cli::{command, parse};

/// The parsed arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateTestCommand {
    /// Files and folders, in the order of the command line.
    pub files: Vec<PathBuf>,
}

/// Why tests were not run.
#[derive(Debug, Error)]
pub enum StateTestError {
    /// A file is none of state tests, or can't be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The fault.
        error: FileError,
    },
    /// The result can't be written.
    #[error("can't write the result: {0}")]
    Output(#[from] io::Error),
}

impl StateTestError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::File { error: FileError::Read(error), .. } => exit_code::of_io(error),
            Self::File { error: FileError::Json(_), .. } => exit_code::CONFIG,
            Self::Output(_) => exit_code::FAILURE,
        }
    }
}

/// Runs the tests. Writes a line for each case that fails, and last the numbers of both kinds. Whether all have passed.
///
/// # Errors
/// A file is none of state tests. Those before it were run.
pub fn run(command: &StateTestCommand, out: &mut dyn Write) -> Result<bool, StateTestError> {
    let (mut passed, mut failed) = (0_u64, 0_u64);
    for path in &command.files {
        for file in files(path)? {
            let results = run_file(&file).map_err(|error| fault(&file, error))?;
            for result in results {
                match &result.outcome {
                    Ok(()) => passed += 1,
                    Err(_) => {
                        failed += 1;
                        writeln!(out, "{}: {result}", file.display())?;
                    }
                }
            }
        }
    }
    writeln!(out, "{passed} passed, {failed} failed")?;
    out.flush()?;
    Ok(failed == 0)
}

fn fault(path: &Path, error: impl Into<FileError>) -> StateTestError {
    StateTestError::File { path: path.to_owned(), error: error.into() }
}

/// The file itself, or the files `*.json` of a folder and of those in it, in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, StateTestError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries: Vec<_> = path
        .read_dir()
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(|error| fault(path, error))?;
    entries.sort_unstable();
    let mut found = Vec::new();
    for entry in entries {
        if entry.is_dir() {
            found.extend(files(&entry)?);
        } else if entry.extension().is_some_and(|extension| extension == "json") {
            found.push(entry);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run_all(files: &[&Path]) -> (Result<bool, String>, String) {
        let mut out = Vec::new();
        let command = StateTestCommand { files: files.iter().map(|path| path.into()).collect() };
        let done = run(&command, &mut out).map_err(|error| error.to_string());
        (done, String::from_utf8(out).unwrap())
    }

    #[test]
    fn folders_are_searched_for_json() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        for (name, text) in [("a/b/2.json", "{}"), ("1.json", "{}"), ("a/c.txt", "no JSON")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let found = files(folder.path()).unwrap();
        assert_eq!(found, [folder.path().join("1.json"), inner.join("2.json")]);
        let (done, out) = run_all(&[folder.path()]);
        assert_eq!((done, out.as_str()), (Ok(true), "0 passed, 0 failed\n"));
    }

    #[test]
    fn what_is_no_file_of_tests_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.json");
        let (done, out) = run_all(&[&missing]);
        assert!(done.unwrap_err().contains("missing.json: "));
        assert_eq!(out, "");
        let list = folder.path().join("list.json");
        fs::write(&list, "[]").unwrap();
        assert!(run_all(&[&list]).0.unwrap_err().contains("not a file of state tests"));
    }
}
