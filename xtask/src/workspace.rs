//! The paths of the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The root of the repository.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// The folder of build products.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Files that are, or would be, committed: what git knows and does not ignore, relative to the root, ascending.
pub fn files() -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root())
        .output()
        .context("git ls-files")?;
    ensure!(output.status.success(), "git ls-files: {}", output.status);
    let text = String::from_utf8(output.stdout).context("file names are UTF-8")?;
    let mut files: Vec<PathBuf> = text
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .filter(|file| root().join(file).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// The root files of the workspace's libraries and binaries, relative to the root of the repository, ascending.
pub fn crate_roots() -> Result<Vec<PathBuf>> {
    let is_root = |file: &PathBuf| {
        let in_source = file.parent().is_some_and(|folder| folder.ends_with("src"));
        let name = file.file_name().is_some_and(|name| name == "lib.rs" || name == "main.rs");
        in_source && name
    };
    Ok(files()?.into_iter().filter(is_root).collect())
}

/// The text of a file; `None` if it is not text.
pub fn text(file: &Path) -> Option<String> {
    std::fs::read_to_string(root().join(file)).ok()
}
