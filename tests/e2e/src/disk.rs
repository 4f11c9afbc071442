//! Disks that fill up and fail: a small file system in memory, and a node whose writes fail on demand.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use esker_testing::NodeBuilder;
use tempfile::TempDir;

use crate::preload::Library;

/// A file system of a fixed size, in memory. It is unmounted when dropped; drop its users first.
#[derive(Debug)]
pub struct SmallDisk {
    mount: TempDir,
}

impl SmallDisk {
    /// Mounts a file system of this many bytes. `None`, with a printed line, if this user may not.
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

    /// The folder where it is mounted.
    pub fn path(&self) -> &Path {
        self.mount.path()
    }

    /// Writes a file until no space is free.
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

    /// Removes the file of [`Self::fill`].
    pub fn free(&self) -> Result<()> {
        Ok(fs::remove_file(self.filling())?)
    }

    fn filling(&self) -> PathBuf {
        self.path().join("filling")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A mount that is left shows at the next look at the machine. The folder can't be removed then.
        let unmounted = Command::new("umount").arg(self.mount.path()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("cannot unmount {}", self.mount.path().display());
        }
    }
}

/// The step of a write to the database that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Writing pages.
    Data,
    /// Making them durable.
    Sync,
    /// Writing the page that makes a transaction the last one.
    Meta,
    /// As `Meta`, and the old content can't be restored: the transaction appears when the file is opened again.
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

/// Makes the writes of a node's database fail: `tests/e2e/faults/disk.c`, loaded into the node.
#[derive(Debug)]
pub struct FailingDisk {
    library: Library,
    control: PathBuf,
}

impl FailingDisk {
    /// Compiles it. `None`, with a printed line, if that is not possible.
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

    /// Makes this step fail from now on with a system's error number.
    pub fn fail(&self, fault: Fault, errno: i32) -> Result<()> {
        // Written at once, since the node may read it at any time.
        let next = self.control.with_extension("new");
        fs::write(&next, format!("{} {errno}\n", fault.name()))?;
        Ok(fs::rename(next, &self.control)?)
    }

    /// Ends all failures.
    pub fn repair(&self) -> Result<()> {
        fs::remove_file(&self.control).context("nothing fails")
    }
}
