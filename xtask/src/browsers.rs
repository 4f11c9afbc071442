//! Browsers for the tests of the dashboard.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::node::must;

/// Names of Chromium's program, on Debian and elsewhere.
const CHROMIUM: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// Names of Firefox's program.
const FIREFOX: [&str; 2] = ["firefox-esr", "firefox"];

/// Finds Chromium on the PATH, or installs Debian's on a CI machine.
pub fn chromium() -> Result<PathBuf> {
    if let Some(found) = on_path(&CHROMIUM) {
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
    on_path(&CHROMIUM).context("the package is installed, but its program does not start")
}

/// Finds Firefox on the PATH. Without it the tests run in Chromium alone.
pub fn firefox() -> Option<PathBuf> {
    on_path(&FIREFOX)
}

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let works = |name: &&&str| {
        let mut version = Command::new(name);
        version.arg("--version").stdin(Stdio::null()).output().is_ok_and(|out| out.status.success())
    };
    names.iter().find(works).map(PathBuf::from)
}
