//! Installs the programs of the tests with public client libraries, with a browser, and of packages.

use std::path::Path;

use anyhow::{Context, Result};

use super::programs::Environment;
use crate::node::{Node, must};
use crate::{browsers, cargo_deb, python, workspace};

/// Installs Node.js, npm, browsers and `cargo-deb` if they are missing, and the client libraries of JavaScript and Python. The tests find
/// their programs by the returned variables, and may not skip.
pub(super) fn install() -> Result<Environment> {
    let node = Node::find_or_install()?;
    install_javascript(&node)?;
    let mut environment = Environment::default();
    environment.add("CLIENT_TESTS_NODE", &node.node);
    environment.add("CLIENT_TESTS_PYTHON", python::find_or_install("web3py")?);
    environment.add("CLIENT_TESTS_APE", python::find_or_install("ape")?);
    environment.add("CLIENT_TESTS_CHROMIUM", browsers::chromium()?);
    if let Some(firefox) = browsers::firefox() {
        environment.add("CLIENT_TESTS_FIREFOX", firefox);
    }
    if let Some(program) = cargo_deb::find_or_install()? {
        environment.add("PACKAGE_TESTS_CARGO_DEB", program);
    }
    environment.add("CLIENT_TESTS", "require");
    Ok(environment)
}

/// The packages of Hardhat 3 are separate, since they have the same names as those of Hardhat 2.
fn install_javascript(node: &Node) -> Result<()> {
    let clients = workspace::root().join("tests").join("clients");
    install_packages(node, &clients)?;
    install_packages(node, &clients.join("hardhat3"))
}

/// Runs `npm ci`, unless the installed packages come from the present lock file.
fn install_packages(node: &Node, folder: &Path) -> Result<()> {
    let lock = std::fs::read(folder.join("package-lock.json"))
        .with_context(|| folder.display().to_string())?;
    let stamp = folder.join("node_modules").join(".installed-lock.json");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    must(node.npm(folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))
        .context("installing the client libraries")?;
    std::fs::write(&stamp, lock).with_context(|| stamp.display().to_string())
}
