//! Libraries of `tests/e2e/faults` that are loaded into a node and replace calls of the system.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use esker_testing::NodeBuilder;
use tempfile::TempDir;

/// A compiled library, and its folder.
#[derive(Debug)]
pub(crate) struct Library {
    file: PathBuf,
    folder: TempDir,
}

impl Library {
    /// Compiles a source file. `None`, with a printed line, if that is not possible.
    pub(crate) fn build(source: &str) -> Result<Option<Self>> {
        if !cfg!(target_os = "linux") {
            eprintln!("skipped: only Linux loads a library into a program by LD_PRELOAD");
            return Ok(None);
        }
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("preload.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults").join(source);
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-o"]).arg(&file).arg(source);
        let output = match compiler.arg("-ldl").stdin(Stdio::null()).output() {
            Ok(output) => output,
            Err(error) => {
                eprintln!("skipped: no C compiler: {error}");
                return Ok(None);
            }
        };
        if !output.status.success() {
            bail!("cc: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(Some(Self { file, folder }))
    }

    /// A folder for the files that it reads.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A node with the library.
    pub(crate) fn under(&self, node: NodeBuilder) -> NodeBuilder {
        node.env("LD_PRELOAD", &self.file)
    }
}

/// Shifts the wall clock of a node: `tests/e2e/faults/clock.c`. The node has no setting for it, since only a test
/// needs it. The clocks of the node's libraries are shifted, too.
#[derive(Debug)]
pub struct ShiftedClock(Library);

impl ShiftedClock {
    /// Compiles it. `None`, with a printed line, if that is not possible.
    pub fn build() -> Result<Option<Self>> {
        Ok(Library::build("clock.c")?.map(Self))
    }

    /// A node whose clock is this many seconds ahead, or behind if the number is negative.
    pub fn under(&self, node: NodeBuilder, seconds: i32) -> NodeBuilder {
        self.0.under(node).env("CLOCK_SHIFT_S", seconds.to_string())
    }
}
