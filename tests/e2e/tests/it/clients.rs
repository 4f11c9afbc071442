//! Public client libraries of the reference, unchanged, against a node: tests/clients.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use esker_e2e::Node;
use esker_e2e::files::{profile, tests_path};

use crate::support::local;

#[test]
fn avalanchejs_5() {
    run("avalanchejs5.mjs");
}

#[test]
fn avalanchejs_3() {
    run("avalanchejs3.mjs");
}

#[test]
fn avalanchejs_3_with_keys_on_the_node() {
    run("avalanchejs3-keys.mjs");
}

/// Runs a script against a fresh node; it ends with status 0 where everything holds.
fn run(script: &str) {
    let folder = tests_path("clients");
    if let Some(why) = missing(&folder) {
        let required = std::env::var_os("CLIENT_TESTS").is_some_and(|v| v == "require")
            || std::env::var_os("CI").is_some();
        assert!(!required, "{why}");
        eprintln!("skipped: {why}");
        return;
    }
    // The local network with UTXOs that the P-Chain has exported: something to import.
    let network = tests_path("networks/two-chains.json");
    let node: Node = local().network(network).config(profile("default")).start().unwrap();
    let output = Command::new(node_program())
        .arg(script)
        .arg(node.url())
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{script}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}

/// What keeps the scripts from running.
fn missing(folder: &std::path::Path) -> Option<String> {
    let how = "`cargo xtask test` installs it";
    if !folder.join("node_modules").join("@avalabs").is_dir() {
        return Some(format!("the client libraries are not installed: {how}"));
    }
    let works = Command::new(node_program()).arg("--version").stdin(Stdio::null()).output();
    works.is_err().then(|| format!("there is no Node.js: {how}"))
}

/// What `cargo xtask test` found, else the one on the PATH.
fn node_program() -> PathBuf {
    std::env::var_os("CLIENT_TESTS_NODE").map_or_else(|| PathBuf::from("node"), PathBuf::from)
}
