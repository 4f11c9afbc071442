//! Public client libraries of the reference, unchanged, against a node: tests/clients.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use esker_e2e::files::{profile, tests_path};
use esker_e2e::{Node, NodeBuilder};
use serde_json::Value;

use crate::support::{PROGRAM, local};

/// Time that a script may take on a busy machine; most need some seconds.
const PATIENCE: Duration = Duration::from_secs(600);

/// The EVM chain that a script tests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TestedChain {
    /// The C-Chain of `esker dev`.
    Dev,
    /// The chain of `esker evm`, which has Ethereum's rules.
    Evm,
}

impl TestedChain {
    fn node(self) -> NodeBuilder {
        match self {
            Self::Dev => local().dev(),
            Self::Evm => local().evm(),
        }
    }

    /// Its name in the scripts (`tests/clients/evm.mjs`).
    fn name(self) -> &'static str {
        match self {
            Self::Dev => "C",
            Self::Evm => "evm",
        }
    }
}

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
fn test_client_of_viem_2() {
    run_on_dev("viem2-test.mjs");
}

#[test]
fn hardhat_network_helpers() {
    run_on_dev("network-helpers.mjs");
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

/// As above. The same steps on anvil are the control, as for viem's test client and the helpers of Hardhat.
#[test]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    ignore = "no anvil, no cast, no forge"
)]
fn controls_here_and_on_anvil() {
    run_on_dev("controls.mjs");
}

/// As above. States go from here to anvil and back.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn state_files_of_anvil() {
    run_on_dev("state-files.mjs");
}

/// As above. An ERC-20, a vault and an auction with deadlines, tested by Hardhat and by Foundry, on anvil, too.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil, no forge")]
fn projects_of_hardhat_and_foundry() {
    run_on_dev("market.mjs");
}

/// As above: tokens, a governor, proxies and collections of OpenZeppelin, with ethers and viem; on anvil, too.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn openzeppelin_contracts() {
    run_on_dev("openzeppelin.mjs");
}

/// As above: what `npx hardhat init` of Hardhat 2 writes, with nothing but the URL set; on anvil, too.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn sample_of_hardhat_2() {
    run_sample("hardhat2", TestedChain::Dev);
}

/// As above, of Hardhat 3: its tests with Mocha and ethers.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn sample_of_hardhat_3_with_ethers() {
    run_sample("hardhat3-ethers", TestedChain::Dev);
}

/// As above: its tests with Node.js and viem.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn sample_of_hardhat_3_with_viem() {
    run_sample("hardhat3-viem", TestedChain::Dev);
}

/// As above, of `forge init`: its tests on a fork of the node, and its script.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil, no forge")]
fn sample_of_forge() {
    run_sample("forge", TestedChain::Dev);
}

/// As above: a user's first tests with Ape.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no anvil")]
fn first_tests_with_ape() {
    run_ape(TestedChain::Dev);
}

/// Libraries that start anvil, with this program in its place.
#[test]
fn launchers_of_anvil() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("anvil");
    std::os::unix::fs::symlink(PROGRAM, &program).unwrap();
    run_with_file("launchers.mjs", &program);
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

#[test]
fn example_of_watching_the_x_chain() {
    let arguments = ["0", "3"];
    let expected = ["block 0: created ", "block 0: created ", "block 1: consumed "];
    run_example_with("watch-x.mjs", &arguments, &expected);
}

#[test]
fn events_of_the_x_chain_over_a_plain_websocket() {
    run_on_dev("x-events.mjs");
}

#[test]
fn example_of_assets_and_nfts() {
    let expected = [
        "asset ",
        "minted: 150000",
        "sent: 120000",
        "NFT family ",
        "NFT minted: group 0",
        "NFT sent: 1 at",
    ];
    run_example("assets.mjs", &expected);
}

/// As above.
#[test]
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "no cast, no forge")]
fn example_of_a_deployment_with_foundry() {
    let files = ["foundry.toml", "src/Counter.sol", "deploy.sh"];
    let Some((folder, node)) = example_project("foundry", &files) else { return };
    let tools = |tool: &str| {
        tests_path(&format!("clients/node_modules/@foundry-rs/{tool}-linux-amd64/bin"))
    };
    let mut path = vec![tools("forge"), tools("cast")];
    path.extend(node_program().parent().map(Path::to_path_buf));
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut program = Command::new("sh");
    program.arg("deploy.sh").arg(node.url()).current_dir(&folder).env("HOME", folder.path());
    program.env("PATH", std::env::join_paths(path).unwrap()).env("NO_COLOR", "1");
    program.env("FOUNDRY_SOLC", tests_path("clients/solc.mjs")).env("FOUNDRY_OFFLINE", "true");
    let output = run_to_success("deploy.sh", &mut program);
    expect_in_order(
        "deploy.sh",
        &output,
        &["deployed at 0x", "count is 8", "refused: ", "nothing to add"],
    );
}

#[test]
fn example_of_a_deployment_with_hardhat() {
    let files = ["package.json", "hardhat.config.js", "contracts/Counter.sol", "scripts/deploy.js"];
    let Some((folder, node)) = example_project("hardhat", &files) else { return };
    let mut program = Command::new(node_program());
    program.args(["node_modules/.bin/hardhat", "run", "scripts/deploy.js"]).current_dir(&folder);
    program.env("HOME", folder.path()).env("ESKER_URL", node.url());
    let output = run_to_success("hardhat", &mut program);
    expect_in_order(
        "hardhat",
        &output,
        &["deployed at 0x", "count is 8", "refused: ", "nothing to add"],
    );
}

/// The examples install what the tests run them with.
#[test]
fn examples_pin_the_tested_libraries() {
    let package = |folder: &str| -> Value {
        let text = std::fs::read(tests_path(folder).join("package.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let tested = package("clients");
    for examples in [package("../examples"), package("../examples/hardhat")] {
        let pinned = examples["dependencies"].as_object().unwrap();
        assert!(!pinned.is_empty());
        for (library, version) in pinned {
            assert_eq!(version, &tested["dependencies"][library], "{library}");
        }
    }
}

#[test]
fn web3py_own_tests_over_http() {
    run_web3py("test_http.py", TestedChain::Dev);
}

#[test]
fn web3py_own_tests_over_websocket() {
    run_web3py("test_ws.py", TestedChain::Dev);
}

#[test]
fn web3py_8_over_a_websocket() {
    run_web3py("test_events.py", TestedChain::Dev);
}

/// Runs tests with web3.py. Its own have the chain ID in their texts, and wait for blocks that come by themselves.
pub(crate) fn run_web3py(file: &str, chain: TestedChain) {
    let folder = tests_path("clients").join("web3py");
    let python = python_program();
    let mut works = Command::new(&python);
    works.args(["-c", "import web3, pytest_asyncio, pytest_timeout"]).stdin(Stdio::null());
    if !works.output().is_ok_and(|output| output.status.success()) {
        skip("web3.py is not installed: `cargo xtask test` installs it");
        return;
    }
    let settings = ["--chain-id", "131277322940537", "--block-time", "1s"];
    let node = chain.node().args(&settings).start().unwrap();
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", file]).current_dir(folder);
    pytest.env("NODE_URL", node.url()).env("PYTHONDONTWRITEBYTECODE", "1");
    pytest.env("CLIENT_TESTS_CHAIN", chain.name());
    run_to_success(file, &mut pytest);
}

/// The one with web3.py and pytest that `cargo xtask test` made, else the one on the PATH.
pub(crate) fn python_program() -> PathBuf {
    std::env::var_os("CLIENT_TESTS_PYTHON").map_or_else(|| "python3".into(), PathBuf::from)
}

/// Fails where the client tests are required, otherwise says why they are skipped.
pub(crate) fn skip(why: &str) {
    let required = std::env::var_os("CLIENT_TESTS").is_some_and(|v| v == "require")
        || std::env::var_os("CI").is_some();
    assert!(!required, "{why}");
    eprintln!("skipped: {why}");
}

/// Runs an example against a fresh `esker dev`, with the libraries of the tests. Its output has these texts, in this order.
fn run_example(script: &str, expected: &[&str]) {
    run_example_with(script, &[], expected);
}

/// As [`run_example`], with arguments after the URL.
fn run_example_with(script: &str, arguments: &[&str], expected: &[&str]) {
    let Some((folder, node)) = example_project("", &[script]) else { return };
    let mut program = Command::new(node_program());
    program.arg(script).arg(node.url()).args(arguments).current_dir(&folder);
    let output = run_to_success(script, &mut program);
    expect_in_order(script, &output, expected);
}

/// A copy of an example's files beside the libraries of the tests, and a fresh `esker dev`; `None` to skip it.
fn example_project(name: &str, files: &[&str]) -> Option<(tempfile::TempDir, Node)> {
    let clients = tests_path("clients");
    if let Some(why) = missing(&clients) {
        skip(&why);
        return None;
    }
    let (folder, example) = (tempfile::tempdir().unwrap(), tests_path("../examples").join(name));
    for file in files {
        let copy = folder.path().join(file);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(example.join(file), copy).unwrap();
    }
    let libraries = std::fs::canonicalize(clients.join("node_modules")).unwrap();
    std::os::unix::fs::symlink(libraries, folder.path().join("node_modules")).unwrap();
    Some((folder, local().dev().start().unwrap()))
}

/// Holds an output to have these texts, in this order.
fn expect_in_order(name: &str, output: &str, expected: &[&str]) {
    let mut rest = output;
    for text in expected {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{name}: no {text:?} in its place:\n{output}")
        };
        rest = after;
    }
}

/// Runs a program to its end, which must be a success; returns its standard output.
pub(crate) fn run_to_success(name: &str, command: &mut Command) -> String {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let errors = thread::spawn(move || read_to_end(&mut stderr));
    let (sender, printed) = mpsc::channel();
    thread::spawn(move || sender.send(read_to_end(&mut stdout)));
    let Ok(output) = printed.recv_timeout(PATIENCE) else {
        child.kill().unwrap();
        panic!("{name} did not end within {PATIENCE:?}")
    };
    let status = child.wait().unwrap();
    assert!(status.success(), "{name}: {status}\n{output}{}", errors.join().unwrap());
    output
}

fn read_to_end(from: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs a script of the X-Chain's libraries.
fn run(script: &str) {
    // The local network with UTXOs that the P-Chain has exported: something to import.
    let network = tests_path("networks/two-chains.json");
    let node = local().network(network).config(profile("default"));
    run_against(script, node, TestedChain::Dev, &[]);
}

/// Runs a script of the C-Chain's libraries.
fn run_on_dev(script: &str) {
    run_on(script, TestedChain::Dev);
}

/// Runs a script of an EVM chain's libraries.
pub(crate) fn run_on(script: &str, chain: TestedChain) {
    run_against(script, chain.node(), chain, &[]);
}

/// Runs a script against a fresh node, with arguments after the URL; it ends with status 0 where everything holds.
fn run_against(script: &str, node: NodeBuilder, chain: TestedChain, arguments: &[&str]) {
    let _node = run_and_keep(script, node, chain, arguments);
}

/// As [`run_against`]; returns the node, which goes on; `None` if the test is skipped.
pub(crate) fn run_and_keep(
    script: &str,
    node: NodeBuilder,
    chain: TestedChain,
    arguments: &[&str],
) -> Option<Node> {
    let folder = tests_path("clients");
    if let Some(why) = missing(&folder) {
        skip(&why);
        return None;
    }
    let node = node.start().unwrap();
    let mut program = Command::new(node_program());
    program.arg(script).arg(node.url()).args(arguments).current_dir(folder);
    run_to_success(script, program.env("CLIENT_TESTS_CHAIN", chain.name()));
    Some(node)
}

/// Runs a journey through the dashboard of a node in `chromium` or `firefox`.
pub(crate) fn run_in_browser(browser: &str, journey: &str, node: NodeBuilder) {
    run_against("dashboard/run.mjs", node, TestedChain::Dev, &[journey, browser]);
}

/// Runs what a tool's first command writes, on a node without a flag.
pub(crate) fn run_sample(name: &str, chain: TestedChain) {
    if has_hardhat_3() {
        run_against("samples.mjs", chain.node(), chain, &[name]);
    }
}

/// Whether the libraries of Hardhat 3 are installed; skips the test otherwise.
pub(crate) fn has_hardhat_3() -> bool {
    let is_installed = tests_path("clients/hardhat3/node_modules").is_dir();
    if !is_installed {
        skip("the libraries of Hardhat 3 are not installed: `cargo xtask test` installs them");
    }
    is_installed
}

/// Runs a user's first tests with Ape.
pub(crate) fn run_ape(chain: TestedChain) {
    if std::env::var_os("CLIENT_TESTS_APE").is_none() {
        skip("Ape is not installed: `cargo xtask test` installs it");
        return;
    }
    run_on("ape.mjs", chain);
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

/// The missing programs without which the scripts can't run.
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

/// The program that `cargo xtask test` found, or else the one on the PATH.
pub(crate) fn node_program() -> PathBuf {
    std::env::var_os("CLIENT_TESTS_NODE").map_or_else(|| PathBuf::from("node"), PathBuf::from)
}
