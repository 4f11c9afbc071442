//! Disks that fill up and fail: a small file system in memory, and a node whose writes fail on demand.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use esker_testing::NodeBuilder;
use tempfile::TempDir;

use crate::preload::Library;

/// A file system of a fixed size, in memory; gone when dropped. Drop what uses it before.
#[derive(Debug)]
pub struct SmallDisk {
    mount: TempDir,
}

impl SmallDisk {
    /// Mounts one of so many bytes; `None`, with a line that says so, where this user may not.
    pub fn mount(bytes: u64) -> Result<Option<Self>> {
        let mount = tempfile::tempdir()?;
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "none"]).arg(mount.path());
        match command.stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => Ok(Some(Self { mount })),
            Ok(output) => {
                eprintln!("skipped: no disk: {}", String::from_utf8_lossy(&output.stderr).trim());
                Ok(None)
            }
            Err(error) => {
                eprintln!("skipped: no disk: mount: {error}");
                Ok(None)
            }
        }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.mount.path()
    }

    /// Writes a file until nothing is free.
    pub fn fill(&self) -> Result<()> {
        let mut file = File::create(self.filling())?;
        loop {
            match file.write(&[7; 4096]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Removes what [`Self::fill`] wrote.
    pub fn free(&self) -> Result<()> {
        Ok(fs::remove_file(self.filling())?)
    }

    fn filling(&self) -> PathBuf {
        self.path().join("filling")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A mount that is left is seen at the next look at the machine; the folder can't be removed then.
        let unmounted = Command::new("umount").arg(self.mount.path()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("cannot unmount {}", self.mount.path().display());
        }
    }
}

/// What fails of a write to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Writing pages.
    Data,
    /// Making them durable.
    Sync,
    /// Writing the page that makes a transaction the last one.
    Meta,
    /// As `Meta`, and the old content can't be put back: the transaction shows when the file is opened again.
    Stuck,
}

impl Fault {
    const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Sync => "sync",
            Self::Meta => "meta",
            Self::Stuck => "stuck",
        }
    }
}

/// Lets the writes of a node's database fail: `tests/e2e/faults/disk.c`, loaded into the node.
#[derive(Debug)]
pub struct FailingDisk {
    library: Library,
    control: PathBuf,
}

impl FailingDisk {
    /// Compiles it; `None`, with a line that says so, where that can't be.
    pub fn build() -> Result<Option<Self>> {
        let with_control = |library: Library| {
            let control = library.folder().join("fault");
            Self { library, control }
        };
        Ok(Library::build("disk.c")?.map(with_control))
    }

    /// A node whose writes can be made to fail.
    pub fn under(&self, node: NodeBuilder) -> NodeBuilder {
        self.library.under(node).env("DISK_FAULT_FILE", &self.control)
    }

    /// From now on this fails with a system's error number.
    pub fn fail(&self, fault: Fault, errno: i32) -> Result<()> {
        // In one piece: the node reads it at any time.
        let next = self.control.with_extension("new");
        fs::write(&next, format!("{} {errno}\n", fault.name()))?;
        Ok(fs::rename(next, &self.control)?)
    }

    /// All goes well again.
    pub fn repair(&self) -> Result<()> {
        fs::remove_file(&self.control).context("nothing fails")
    }
}
