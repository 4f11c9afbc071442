//! Chromium for the tests of the dashboard.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::node::must;

/// Names of the program, on Debian and elsewhere.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Finds one on the PATH, or installs Debian's on a CI machine.
pub fn find_or_install() -> Result<PathBuf> {
    if let Some(found) = on_path() {
        return Ok(found);
    }
    if std::env::var_os("CI").is_none() {
        bail!(
            "the tests of the dashboard need Chromium: install it, for example by `apt-get install chromium`"
        );
    }
    must(Command::new("apt-get").args(["update", "-q"]))?;
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    must(apt.args(["install", "-y", "-q", "--no-install-recommends", "chromium"]))?;
    on_path().context("the package is installed, but its program does not start")
}

fn on_path() -> Option<PathBuf> {
    let works = |name: &&str| {
        let mut version = Command::new(name);
        version.arg("--version").stdin(Stdio::null()).output().is_ok_and(|out| out.status.success())
    };
    NAMES.into_iter().find(works).map(PathBuf::from)
}
