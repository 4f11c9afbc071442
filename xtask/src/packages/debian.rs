//! The Debian package, made by `cargo deb` from the same binary.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Binary;
use crate::node::must;
use crate::{shell_files, workspace};

/// The folder of completions and pages, which `bin/esker/Cargo.toml` names.
const SHELL_FILES: &str = "dist/shell-files";

/// Writes the package. It is for the processor of this machine.
pub(super) fn write(binary: &Binary, out: &Path) -> Result<()> {
    ensure!(
        binary.needs.processor.name() == std::env::consts::ARCH,
        "{}: a Debian package is made on a machine with the processor of the binary",
        binary.path.display()
    );
    let pages = workspace::root().join(SHELL_FILES);
    shell_files::run(&[pages.display().to_string()])?;
    // `cargo deb` takes the binary from the folder of builds.
    let target = out.join("debian-target");
    fs::create_dir_all(target.join("release"))?;
    fs::copy(&binary.path, target.join("release/esker"))?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root()).env("CARGO_TARGET_DIR", &target);
    command.args(["deb", "--package", "esker", "--no-build", "--no-strip", "--output"]);
    let made = must(command.arg(out)).context("install the tool: cargo install --locked cargo-deb");
    fs::remove_dir_all(&target)?;
    made
}
