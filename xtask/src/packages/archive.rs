//! Archives with the files of a package, written by Python's standard library.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::workspace;

/// The script, relative to the root of the repository.
const SCRIPT: &str = "xtask/src/packages/archive.py";

/// A file of a package.
#[derive(Debug)]
pub(super) struct File {
    name: String,
    mode: u32,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Text(String),
    Of(PathBuf),
}

impl File {
    /// A file with this text.
    pub(super) fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), mode: 0o644, content: Content::Text(text.into()) }
    }

    /// A copy of a file.
    pub(super) fn copy(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), mode: 0o644, content: Content::Of(path.into()) }
    }

    /// The same file, executable.
    pub(super) fn executable(self) -> Self {
        Self { mode: 0o755, ..self }
    }

    fn plan(&self) -> Value {
        match &self.content {
            Content::Text(text) => json!({ "name": self.name, "mode": self.mode, "text": text }),
            Content::Of(path) => json!({ "name": self.name, "mode": self.mode, "path": path }),
        }
    }
}

/// How archives are written: equal settings and files give equal bytes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The time of all files, Unix seconds. Zip files can't have one before 1980.
    pub time: u64,
    /// The compression: 0 for none, 9 for the best.
    pub level: u32,
}

/// Writes the tarball of a package for npm.
pub(super) fn write_tarball(out: &Path, files: &[File], settings: Settings) -> Result<()> {
    write(out, files, settings, None)
}

/// Writes a wheel; its list of files and hashes gets the name `record`.
pub(super) fn write_wheel(
    out: &Path,
    files: &[File],
    settings: Settings,
    record: &str,
) -> Result<()> {
    write(out, files, settings, Some(record))
}

fn write(out: &Path, files: &[File], settings: Settings, record: Option<&str>) -> Result<()> {
    let files: Vec<Value> = files.iter().map(File::plan).collect();
    let Settings { time, level } = settings;
    let plan =
        json!({ "out": out, "time": time, "level": level, "record": record, "files": files });
    let mut python = Command::new("python3");
    python.arg(workspace::root().join(SCRIPT)).stdin(Stdio::piped());
    let mut child = python.spawn().context("python3 writes the archives: put it on the PATH")?;
    let input = child.stdin.take().context("its input is a pipe")?;
    // If the script ends early, its status says so.
    let _written = { input }.write_all(plan.to_string().as_bytes());
    let status = child.wait()?;
    ensure!(status.success(), "{}: {SCRIPT}: {status}", out.display());
    Ok(())
}
