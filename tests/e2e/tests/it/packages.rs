//! The packages for Node.js and Python that start a node: `packages`. Their own tests, and their examples.

use std::process::{Command, Stdio};

use esker_e2e::files::tests_path;
use serde_json::Value;

use crate::clients::{node_program, python_program, run_to_success, skip};
use crate::support::PROGRAM;

/// The package of Node.js takes this version and newer ones.
const OLDEST_NODE: u32 = 20;

/// The first number of `vN..` that a program prints.
fn major_version(command: &mut Command) -> Option<u32> {
    let output = command.arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.trim_start_matches('v').split('.').next()?.parse().ok()
}

fn run_node(package: &str, file: &str) {
    let is_usable = |version: Option<u32>| version.is_some_and(|version| version >= OLDEST_NODE);
    if !is_usable(major_version(&mut Command::new(node_program()))) {
        skip("there is no Node.js 20: `cargo xtask test` installs it");
        return;
    }
    let mut node = Command::new(node_program());
    node.args(["--test", "--test-reporter=tap", file]).env("ESKER_BIN", PROGRAM);
    let folder = tests_path("../packages").join(package);
    let output = run_to_success(file, node.current_dir(folder));
    assert!(output.contains("\n# fail 0\n") && !output.contains("\n# pass 0\n"), "{output}");
}

fn run_python(folder: &str) {
    let mut works = Command::new(python_program());
    works.args(["-c", "import pytest"]).stdin(Stdio::null());
    if !works.output().is_ok_and(|output| output.status.success()) {
        skip("pytest is not installed: `cargo xtask test` installs it");
        return;
    }
    let package = tests_path("../packages/python");
    let mut python = Command::new(python_program());
    python.args(["-m", "pytest", "-p", "no:cacheprovider", folder]);
    python.env("PYTHONPATH", package.join("src").canonicalize().unwrap());
    python.env("PYTHONDONTWRITEBYTECODE", "1").env("ESKER_BIN", PROGRAM);
    let output = run_to_success(folder, python.current_dir(package));
    assert!(output.contains(" passed in ") && !output.contains(" skipped"), "{output}");
}

#[test]
fn tests_of_the_package_for_node_js() {
    run_node("node", "test/node.test.js");
}

#[test]
fn example_of_the_package_for_node_js() {
    run_node("node", "examples/payment.test.mjs");
}

/// With scripts in the place of the binary. The tests of the program (`bin/esker/tests/it/packages.rs`) run it installed.
#[test]
fn tests_of_the_launcher_for_npm() {
    run_node("npm", "test/launcher.test.mjs");
}

#[test]
fn tests_of_the_package_for_python() {
    run_python("tests");
}

#[test]
fn example_of_the_package_for_python() {
    run_python("examples");
}

/// They start the binary of their own version.
#[test]
fn packages_have_the_version_of_the_binary() {
    let read = |file: &str| std::fs::read_to_string(tests_path("../packages").join(file)).unwrap();
    let json = |file: &str| -> Value { serde_json::from_str(&read(file)).unwrap() };
    let (node, command) = (json("node/package.json"), json("npm/package.json"));
    assert_eq!(node["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(command["version"], env!("CARGO_PKG_VERSION"));
    let name = command["name"].as_str().unwrap();
    assert_eq!(node["peerDependencies"][name], env!("CARGO_PKG_VERSION"));
    let python = read("python/pyproject.toml");
    for line in [
        concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "\"\n"),
        concat!("\nbinary = [\"esker==", env!("CARGO_PKG_VERSION"), "\"]\n"),
    ] {
        assert!(python.contains(line), "no {line}");
    }
}
