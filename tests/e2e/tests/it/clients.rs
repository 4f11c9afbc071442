//! Public client libraries of the reference, unchanged, against a node: tests/clients.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use esker_e2e::NodeBuilder;
use esker_e2e::files::{profile, tests_path};
use serde_json::Value;

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

#[test]
fn ethers_6() {
    run_on_dev("ethers6.mjs");
}

#[test]
fn key_files_of_ethers_6() {
    let folder = tests_path("clients");
    if let Some(why) = missing(&folder) {
        skip(&why);
        return;
    }
    let node = local().dev().start().unwrap();
    let mut program = Command::new(node_program());
    program.arg("ethers6-keys.mjs").arg(node.url()).arg(node.data_dir().join("keystore"));
    run_to_success("ethers6-keys.mjs", program.current_dir(folder));
}

#[test]
fn ethers_6_over_a_websocket() {
    run_on_dev("ethers6-ws.mjs");
}

#[test]
fn viem_2_over_a_websocket() {
    run_on_dev("viem2-ws.mjs");
}

#[test]
fn viem_2() {
    run_on_dev("viem2.mjs");
}

#[test]
fn traces_with_viem_2_and_ethers_6() {
    run_on_dev("tracing.mjs");
}

#[test]
fn hardhat_ignition_of_both_versions() {
    run_on_dev("ignition.mjs");
}

/// The tools are programs of one machine each; those of this one are pinned.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no cast, no forge")]
fn cast_and_forge() {
    run_on_dev("foundry.mjs");
}

/// As above.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no cast, no forge")]
fn replays_of_cast_and_forks_of_forge() {
    run_on_dev("foundry-traces.mjs");
}

#[test]
fn example_of_a_deployment() {
    run_example("deploy.mjs", &["deployed at 0x", "count is 3", "refused: nothing to add"]);
}

#[test]
fn example_of_a_transfer_between_chains() {
    run_example("transfer.mjs", &["exported from X by ", "imported to C by "]);
}

#[test]
fn example_of_a_subscription() {
    run_example("subscribe.mjs", &["block 1", "block 2", "block 3"]);
}

/// The examples install what the tests run them with.
#[test]
fn examples_pin_the_tested_libraries() {
    let package = |folder: &str| -> Value {
        let text = std::fs::read(tests_path(folder).join("package.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let (examples, tested) = (package("../examples"), package("clients"));
    let pinned = examples["dependencies"].as_object().unwrap();
    assert!(!pinned.is_empty());
    for (library, version) in pinned {
        assert_eq!(version, &tested["dependencies"][library], "{library}");
    }
}

#[test]
fn web3py_own_tests_over_http() {
    run_web3py("test_http.py");
}

#[test]
fn web3py_own_tests_over_websocket() {
    run_web3py("test_ws.py");
}

#[test]
fn web3py_8_over_a_websocket() {
    run_web3py("test_events.py");
}

/// Runs tests with web3.py. Its own have the chain ID in their texts, and wait for blocks that come by themselves.
fn run_web3py(file: &str) {
    let folder = tests_path("clients").join("web3py");
    let python = std::env::var_os("CLIENT_TESTS_PYTHON").unwrap_or_else(|| "python3".into());
    let mut works = Command::new(&python);
    works.args(["-c", "import web3, pytest_asyncio, pytest_timeout"]).stdin(Stdio::null());
    if !works.output().is_ok_and(|output| output.status.success()) {
        skip("web3.py is not installed: `cargo xtask test` installs it");
        return;
    }
    let node = local().dev().arg("--chain-id").arg("131277322940537").arg("--block-time").arg("1s");
    let node = node.start().unwrap();
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", file]).current_dir(folder);
    pytest.env("NODE_URL", node.url()).env("PYTHONDONTWRITEBYTECODE", "1");
    run_to_success(file, &mut pytest);
}

/// Fails where the client tests are required, otherwise says why they are skipped.
fn skip(why: &str) {
    let required = std::env::var_os("CLIENT_TESTS").is_some_and(|v| v == "require")
        || std::env::var_os("CI").is_some();
    assert!(!required, "{why}");
    eprintln!("skipped: {why}");
}

/// Runs an example against a fresh `esker dev`, with the libraries of the tests. Its output has these texts, in this order.
fn run_example(script: &str, expected: &[&str]) {
    let clients = tests_path("clients");
    if let Some(why) = missing(&clients) {
        skip(&why);
        return;
    }
    // Libraries are looked for beside the script.
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(tests_path("../examples").join(script), folder.path().join(script)).unwrap();
    let libraries = std::fs::canonicalize(clients.join("node_modules")).unwrap();
    std::os::unix::fs::symlink(libraries, folder.path().join("node_modules")).unwrap();
    let node = local().dev().start().unwrap();
    let mut program = Command::new(node_program());
    let output = run_to_success(script, program.arg(script).arg(node.url()).current_dir(&folder));
    let mut rest = output.as_str();
    for text in expected {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{script}: no {text:?} in its place:\n{output}")
        };
        rest = after;
    }
}

/// Runs a program to its end, which must be a success; returns its standard output.
fn run_to_success(name: &str, command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(
        output.status.success(),
        "{name}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a script of the X-Chain's libraries.
fn run(script: &str) {
    // The local network with UTXOs that the P-Chain has exported: something to import.
    let network = tests_path("networks/two-chains.json");
    run_against(script, local().network(network).config(profile("default")));
}

/// Runs a script of the C-Chain's libraries.
fn run_on_dev(script: &str) {
    run_against(script, local().dev());
}

/// Runs a script against a fresh node; it ends with status 0 where everything holds.
fn run_against(script: &str, node: NodeBuilder) {
    let folder = tests_path("clients");
    if let Some(why) = missing(&folder) {
        skip(&why);
        return;
    }
    let node = node.start().unwrap();
    let mut program = Command::new(node_program());
    run_to_success(script, program.arg(script).arg(node.url()).current_dir(folder));
}

/// Runs a script on a file, without a node.
pub(crate) fn run_with_file(script: &str, file: &Path) {
    let folder = tests_path("clients");
    if let Some(why) = missing(&folder) {
        skip(&why);
        return;
    }
    let mut program = Command::new(node_program());
    run_to_success(script, program.arg(script).arg(file).current_dir(folder));
}

/// What keeps the scripts from running.
fn missing(folder: &Path) -> Option<String> {
    let how = "`cargo xtask test` installs it";
    let package = std::fs::read(folder.join("package.json")).unwrap();
    let package: Value = serde_json::from_slice(&package).unwrap();
    let mut libraries: Vec<&String> = package["dependencies"].as_object().unwrap().keys().collect();
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        libraries.extend(package["optionalDependencies"].as_object().unwrap().keys());
    }
    for library in libraries {
        if !folder.join("node_modules").join(library).is_dir() {
            return Some(format!("{library} is not installed: {how}"));
        }
    }
    let works = Command::new(node_program()).arg("--version").stdin(Stdio::null()).output();
    works.is_err().then(|| format!("there is no Node.js: {how}"))
}

/// What `cargo xtask test` found, else the one on the PATH.
fn node_program() -> PathBuf {
    std::env::var_os("CLIENT_TESTS_NODE").map_or_else(|| PathBuf::from("node"), PathBuf::from)
}
