//! `cargo xtask data-folder`: keeps a data folder of this version in `tests/folders`, for the tests of later versions.

use std::process::Command;

use anyhow::{Result, bail};

use crate::node::must;
use crate::workspace;

/// The test that makes a folder, and the variable with its path.
const TEST: &str = "folders::a_folder_of_this_version_can_be_kept";
const VARIABLE: &str = "NEW_DATA_FOLDER";

/// Runs the test that makes one. The folder's name is that of the version.
pub fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("no arguments: the folder is named after the version");
    }
    let folder = workspace::root().join("tests/folders").join(env!("CARGO_PKG_VERSION"));
    if folder.exists() {
        bail!("{} exists: it was made before, and stays as it is", folder.display());
    }
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root()).env(VARIABLE, folder);
    must(command.args(["test", "--package", "esker-e2e", "--test", "it", "--", "--exact", TEST]))
}
