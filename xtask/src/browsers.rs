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
    match find_or_install(&CHROMIUM)? {
        Some(found) => Ok(found),
        None => bail!(
            "the tests of the dashboard need Chromium: install it, for example by `apt-get install chromium`"
        ),
    }
}

/// Finds Firefox in the same way. Elsewhere than on a CI machine the tests do without it.
pub fn firefox() -> Result<Option<PathBuf>> {
    find_or_install(&FIREFOX)
}

/// The first name is that of Debian's package, too.
fn find_or_install(names: &[&str]) -> Result<Option<PathBuf>> {
    let found = on_path(names);
    if found.is_some() || std::env::var_os("CI").is_none() {
        return Ok(found);
    }
    let package = names.first().context("no browser is named")?;
    must(Command::new("apt-get").args(["update", "-q"]))?;
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    must(apt.args(["install", "-y", "-q", "--no-install-recommends", package]))?;
    on_path(names).map(Some).context("the package is installed, but its program does not start")
}

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let works = |name: &&&str| {
        let mut version = Command::new(name);
        version.arg("--version").stdin(Stdio::null()).output().is_ok_and(|out| out.status.success())
    };
    names.iter().find(works).map(PathBuf::from)
}
