//! `cargo-deb`, with which Debian packages are made: for the tests it is installed below the target folder.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::node::must;
use crate::workspace;

const VERSION: &str = "3.8.0";

/// Installs the tool, unless this version is there. `None` on systems whose packages are no Debian packages.
pub fn find_or_install() -> Result<Option<PathBuf>> {
    if !is_debian() {
        return Ok(None);
    }
    let folder = workspace::target_dir().join("xtask").join(format!("cargo-deb-{VERSION}"));
    let program = folder.join("bin").join("cargo-deb");
    if !program.is_file() {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // Without the compression that needs a C library. A debug build takes a third of the time.
        cargo.args(["install", "--quiet", "--locked", "--debug", "--no-default-features"]);
        cargo.args(["--features", "gzip", "--version", VERSION, "cargo-deb", "--root"]);
        cargo.arg(&folder).env("CARGO_PROFILE_DEV_DEBUG", "0").env_remove("CARGO_TARGET_DIR");
        must(&mut cargo).context("installing cargo-deb for the test of the Debian package")?;
    }
    Ok(Some(program))
}

/// Whether the program is there that unpacks packages.
fn is_debian() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("dpkg-deb").is_file())
}
