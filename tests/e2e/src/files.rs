//! Where the data of the tests is.

use std::path::{Path, PathBuf};

/// A path below the repository's `tests` folder.
pub fn tests_path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(relative)
}

/// The configuration of a golden profile.
pub fn profile(name: &str) -> PathBuf {
    tests_path("golden/profiles").join(format!("{name}.toml"))
}
