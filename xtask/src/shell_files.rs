//! `cargo xtask shell-files FOLDER`: completions and manual pages of the command line.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::node::must;
use crate::workspace;

/// Runs the example of crates/commands that writes them.
pub fn run(arguments: &[String]) -> Result<()> {
    let [folder] = arguments else { bail!("one folder: `cargo xtask shell-files FOLDER`") };
    let folder = std::path::absolute(Path::new(folder))?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    command.args([
        "run",
        "--quiet",
        "--package",
        "esker-commands",
        "--example",
        "shell_files",
        "--",
    ]);
    must(command.arg(folder))
}
