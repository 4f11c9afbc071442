//! The Debian package, made by `cargo deb` from the same binary.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Binary;
use crate::node::must;
use crate::workspace;

/// The folder of completions and pages, which `bin/esker/Cargo.toml` names.
pub const SHELL_FILES: &str = "dist/shell-files";

/// How the package is made.
#[derive(Clone, Copy, Debug)]
pub struct DebianTool<'a> {
    /// The program `cargo-deb`, by its path or by its name on the PATH.
    pub program: &'a Path,
    /// Compresses less, in less time.
    pub is_fast: bool,
}

/// Writes the package, with the completions and pages of [`SHELL_FILES`]. It is for the processor of this machine.
pub(super) fn write(binary: &Binary, out: &Path, tool: DebianTool<'_>) -> Result<()> {
    ensure!(
        binary.needs.processor.name() == std::env::consts::ARCH,
        "{}: a Debian package is made on a machine with the processor of the binary",
        binary.path.display()
    );
    // `cargo deb` takes the binary from the folder of builds.
    let target = out.join("debian-target");
    fs::create_dir_all(target.join("release"))?;
    fs::copy(&binary.path, target.join("release/esker"))?;
    let mut command = Command::new(tool.program);
    command.current_dir(workspace::root()).env("CARGO_TARGET_DIR", &target);
    command.args(["deb", "--package", "esker", "--no-build", "--no-strip"]);
    command.args(tool.is_fast.then_some("--fast")).arg("--output");
    let made = must(command.arg(out)).context("install the tool: cargo install --locked cargo-deb");
    fs::remove_dir_all(&target)?;
    made
}
