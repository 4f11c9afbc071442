//! The rules for the commands of the pages. `esker`, `curl` and `cast` must work and end. Every other command has a
//! rule.

/// The effect of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// It ends with success.
    Works,
    /// It ends with success, and its output has this text, perhaps only when it is asked again.
    Shows(&'static str),
    /// It keeps running, to the end of its group of pages; it is ready when this is on the screen.
    Keeps(&'static str),
    /// The same, to the end of the page.
    KeepsOnPage(&'static str),
    /// It keeps running, and is stopped once this is on the screen.
    Once(&'static str),
    /// It ends with this code and text, since something that came before still runs, or is missing on this page.
    Refused(i32, &'static str),
    /// It is not run here, for this reason.
    LeftOut(&'static str),
}

use Does::{Keeps, KeepsOnPage, LeftOut, Once, Refused, Shows, Works};

/// Pages that one reader follows with what came before still running. Between two groups everything is stopped.
pub(super) const GROUPS: [&[&str]; 4] = [
    &[
        "README.md",
        "docs/commands.md",
        "docs/networks.md",
        "docs/fixtures.md",
        "docs/validators.md",
        "docs/operations.md",
        "docs/public.md",
        "docs/testing-with-esker.md",
        "docs/from-anvil.md",
        "docs/from-avalanchego.md",
    ],
    &["docs/followers.md", "docs/validator-operations.md", "examples/README.md"],
    &["docs/ethereum.md"],
    &["docs/forking.md"],
];

const PORT_TAKEN: Does = Refused(4, "port in use: 127.0.0.1:9650");
const ELSEWHERE: Does = LeftOut("machines and names that a reader has, and this one does not");
const SERVICE: Does = LeftOut("changes the machine: services, users, packages");
const CONTAINERS: Does = LeftOut("needs a container engine");
const READY: &str = "Listening on 127.0.0.1:";

/// Page, beginning of the command, and what it does. The first that fits counts.
pub(super) const RULES: &[(&str, &str, Does)] = &[
    ("README.md", "cargo run --release -- dev", Keeps("Listening on 127.0.0.1:8545")),
    ("README.md", "cargo xtask test", LeftOut("it runs this test")),
    ("README.md", "esker node --network my.json", Refused(2, "my.json")),
    ("README.md", "esker node --network", PORT_TAKEN),
    ("README.md", "esker network run net", KeepsOnPage("The network is ready.")),
    (
        "README.md",
        "curl -H 'Content-Type: application/json' http://127.0.0.1:9758",
        Shows(r#""0x9""#),
    ),
    (
        "docs/networks.md",
        "esker node --network fuel.json",
        LeftOut("takes times of blocks: evm_chains.rs has its steps"),
    ),
    (
        "docs/ethereum.md",
        "esker evm --genesis",
        LeftOut("needs a genesis and its blocks: alone.rs of the program's tests has its steps"),
    ),
    (
        "docs/ethereum.md",
        "node -e",
        LeftOut("KZG proofs take seconds in debug builds: clients_ethereum.rs sends blobs"),
    ),
    ("docs/ethereum.md", "esker evm state-test", LeftOut("needs the public state tests")),
    ("docs/ethereum.md", "esker evm", Keeps("Listening on 127.0.0.1:8545")),
    (
        "docs/forking.md",
        "esker evm --fork-url http://127.0.0.1:8545 --data-dir",
        Keeps("Listening on 127.0.0.1:8547"),
    ),
    ("docs/forking.md", "esker evm --fork-from", Keeps("Listening on 127.0.0.1:8548")),
    ("docs/forking.md", "esker fork verify", Shows("proven by the state root")),
    ("docs/forking.md", "esker evm --fork-url", Keeps("Listening on 127.0.0.1:8546")),
    ("docs/forking.md", "esker evm", Keeps("Listening on 127.0.0.1:8545")),
    ("docs/forking.md", "esker dev --fork-x", Keeps("Listening on 127.0.0.1:8565")),
    ("docs/forking.md", "esker dev --fork-url", Keeps("Listening on 127.0.0.1:8555")),
    ("docs/forking.md", "esker dev", Keeps("Listening on 127.0.0.1:9650")),
    ("docs/fixtures.md", "esker dev --fixture", PORT_TAKEN),
    ("docs/testing-with-esker.md", "esker dev --artifacts", PORT_TAKEN),
    ("docs/validators.md", "esker network new --validators 4 --out net --address", ELSEWHERE),
    ("docs/validators.md", "esker network run net", Refused(4, "9650")),
    ("docs/validators.md", "esker node --config net/validator-1", PORT_TAKEN),
    ("docs/validators.md", "esker network new-validator", Works),
    (
        "docs/validators.md",
        "esker network rotate",
        LeftOut("needs a running validator: validator_rotation.rs"),
    ),
    (
        "docs/validators.md",
        "esker node --config net/follower-1",
        LeftOut("the page's network has no follower"),
    ),
    ("docs/validators.md", "esker node --network net/network.json --follow", ELSEWHERE),
    ("docs/operations.md", "esker dev", PORT_TAKEN),
    ("docs/operations.md", "esker evm", Refused(4, "port in use: 127.0.0.1:8545")),
    ("docs/operations.md", "esker anvil", Refused(4, "port in use: 127.0.0.1:8545")),
    ("docs/operations.md", "esker hardhat", Refused(4, "port in use: 127.0.0.1:8545")),
    ("docs/operations.md", "esker node --network local", PORT_TAKEN),
    ("docs/operations.md", "esker backup FOLDER --url", Refused(1, "api-admin-enabled")),
    ("docs/operations.md", "esker db rewind --to-height", Refused(2, "there is no bundle 1")),
    ("docs/operations.md", "esker node --http-host ''", Refused(2, "cert.pem")),
    ("docs/operations.md", "curl http://127.0.0.1:9650/ext/metrics", Shows("# TYPE ")),
    ("docs/operations.md", "openssl", Works),
    ("docs/operations.md", "docker", CONTAINERS),
    ("docs/operations.md", "install", SERVICE),
    ("docs/operations.md", "systemctl", SERVICE),
    ("docs/operations.md", "apt", SERVICE),
    ("docs/operations.md", "useradd", SERVICE),
    ("docs/operations.md", "printf", SERVICE),
    ("docs/operations.md", "runuser", SERVICE),
    ("docs/operations.md", "promtool", LeftOut("`cargo xtask tidy` runs it where it is installed")),
    ("docs/public.md", "esker node", ELSEWHERE),
    (
        "docs/testing-with-esker.md",
        "cargo add",
        LeftOut("needs a project of the reader's: testing.rs"),
    ),
    ("docs/testing-with-esker.md", "npm", LeftOut("packages.rs runs the package")),
    ("docs/testing-with-esker.md", "pip", LeftOut("packages.rs runs the package")),
    ("docs/from-anvil.md", "ln -s", Works),
    (
        "docs/from-anvil.md",
        "esker hardhat",
        Once("Started HTTP and WebSocket JSON-RPC server at http://127.0.0.1:8546/"),
    ),
    ("docs/from-anvil.md", "esker dev --chain-id 31337", PORT_TAKEN),
    ("docs/from-anvil.md", "cp -a fixture run1", Works),
    ("docs/from-anvil.md", "esker dev --data-dir run1", Once(READY)),
    ("docs/from-anvil.md", "rm -f node.json", Works),
    ("docs/followers.md", "esker node --network NETWORK", ELSEWHERE),
    ("docs/followers.md", "esker node --network local --follow avalanchego", ELSEWHERE),
    ("docs/followers.md", "esker dev --data-dir", Keeps("Listening on 127.0.0.1:8545")),
    ("docs/followers.md", "esker node --network dev", Keeps("ready http=127.0.0.1:9651")),
    ("docs/followers.md", "esker status --url http://127.0.0.1:9651", Shows("role       follower")),
    ("docs/followers.md", "docker", CONTAINERS),
    ("docs/followers.md", "install", SERVICE),
    ("docs/followers.md", "systemctl", SERVICE),
    ("docs/validator-operations.md", "docker", CONTAINERS),
    ("docs/validator-operations.md", "", SERVICE),
    ("examples/README.md", "", LeftOut("clients.rs runs the examples, with their libraries")),
];

/// The words of a page that a reader replaces, and their replacements.
pub(super) const WORDS: &[(&str, &str, &str)] = &[
    ("README.md", "cargo run --release --", "esker"),
    ("docs/validators.md", "--network network.json", "--network net/network.json"),
    ("docs/operations.md", "esker dev --data-dir DIR", "esker dev --data-dir dev"),
    ("docs/operations.md", "--data-dir OTHER_DIR", "--data-dir other"),
    ("docs/operations.md", "--data-dir DIR", "--data-dir data"),
    ("docs/operations.md", "backup FOLDER --url", "backup copy --url"),
    ("docs/operations.md", "backup FOLDER --data-dir", "backup copy2 --data-dir"),
    ("docs/operations.md", "export FILE", "export exported.jsonl"),
    ("docs/operations.md", "--config FILE", "--config esker.toml"),
    ("docs/operations.md", "--to-height N", "--to-height 1"),
    ("docs/followers.md", "/var/lib/esker/", "lib/"),
    (
        "docs/from-anvil.md",
        "\nforge test",
        "\ncurl -s -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_chainId\"}' \
         -H 'Content-Type: application/json' \"$ETH_RPC_URL\" | grep 0xa868",
    ),
];

/// The things that a reader has before the first command of a page.
pub(super) const PREPARED: &[(&str, &str)] = &[
    (
        "docs/operations.md",
        "printf 'network = \"local\"\\n' > esker.toml; \
         esker node --network local --data-dir data --http-port 0 --ready-file ready.json & \
         until [ -e ready.json ]; do sleep 0.05; done; kill $!; wait $!",
    ),
    (
        "docs/from-anvil.md",
        "esker dev --silent --data-dir fixture --http-port 0 --evm-port 0 --ready-file ready.json & \
         until [ -e ready.json ]; do sleep 0.05; done; \
         esker mine 3 --url $(sed 's/.*\"url\":\"\\([^\"]*\\)\".*/\\1/' ready.json); kill $!; wait $!",
    ),
];

/// The rule of a command.
pub(super) fn rule(page: &str, command: &str) -> Option<Does> {
    let found = RULES.iter().find(|(of, start, _)| *of == page && command.starts_with(start));
    let own = ["esker ", "curl ", "cast "].iter().any(|program| command.starts_with(program));
    found.map(|(_, _, does)| *does).or_else(|| own.then_some(Works))
}

/// A command with the reader's words.
pub(super) fn filled(page: &str, command: &str) -> String {
    let words = WORDS.iter().filter(|(of, ..)| *of == page);
    words.fold(command.to_owned(), |text, (_, word, own)| text.replace(word, own))
}

#[test]
fn what_no_rule_covers_is_found() {
    assert_eq!(rule("README.md", "esker balance 0"), Some(Works));
    assert_eq!(rule("README.md", "docker run x"), None);
}
