//! Names of contracts, functions, events and errors on the screens of development nodes, and in errors.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Esker, command, run};

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
/// Time in which a changed file is read.
const SOON: Duration = Duration::from_secs(60);

/// The artifacts of a tool (crates/artifacts/tests/fixtures/Vault.sol).
fn fixtures(tool: &str) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    crates.join("artifacts/tests/fixtures").join(tool)
}

/// The init code of a contract of forge's artifacts.
fn init_code(name: &str) -> String {
    let file = fixtures("foundry").join(format!("Vault.sol/{name}.json"));
    let artifact: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    artifact["bytecode"]["object"].as_str().unwrap().to_owned()
}

fn word(number: u64) -> String {
    format!("{number:064x}")
}

/// The length of a text, and the text.
fn text(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{}{digits:0<64}", word(text.len() as u64))
}

/// A node with a vault.
struct Vault {
    node: Esker,
    address: String,
    deployed: String,
}

impl Vault {
    fn start(args: &[&str]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let command = command(args, temp.path());
        let (node, _, _) = match args[0] {
            "hardhat" => Esker::start_hardhat(&args[1..]),
            _ => Esker::start_screen(command, temp),
        };
        let deploy = |code: String| {
            let tx = json!({"from": FROM, "gas": "0x2dc6c0", "data": code});
            let hash = node.evm("eth_sendTransaction", json!([tx]));
            let address = node.receipt(&hash)["contractAddress"].as_str().unwrap().to_owned();
            (address, hash.as_str().unwrap().to_owned())
        };
        let (library, _) = deploy(init_code("Fees"));
        let code = init_code("Vault");
        let place = code.find("__$").unwrap();
        let linked = code.replace(&code[place..place + 40], library.trim_start_matches("0x"));
        let (address, deployed) = deploy(format!("{linked}{}", word(5)));
        Self { node, address, deployed }
    }

    fn send(&self, data: &str) -> String {
        let tx = json!({"from": FROM, "to": self.address, "gas": "0x100000", "data": data});
        let hash = self.node.evm("eth_sendTransaction", json!([tx]));
        self.node.receipt(&hash);
        hash.as_str().unwrap().to_owned()
    }

    /// The error of a call.
    fn refusal(&self, method: &str, data: &str) -> Value {
        let call = json!([{"from": FROM, "to": self.address, "data": data}]);
        self.node.evm_error(method, call)
    }

    /// Everything below the screen.
    fn end(self) -> String {
        let (status, shown, _) = self.node.stop("TERM");
        assert!(status.success());
        shown
    }
}

/// `store(amount, note)`
fn store(amount: u64, note: &str) -> String {
    format!("0xe1ff178a{}{}{}", word(amount), word(64), text(note))
}

/// `close("x")`, which reverts with `Unauthorized` once something is stored.
fn close() -> String {
    format!("0x9d869eac{}{}", word(32), text("x"))
}

/// What the screen has of a transaction.
fn below(shown: &str, hash: &str) -> String {
    let (_, after) = shown.split_once(&format!("Transaction: {hash}\n")).unwrap();
    after.split_once("\n\n").unwrap().0.to_owned()
}

#[test]
fn what_contracts_do_has_names() {
    let foundry = fixtures("foundry").display().to_string();
    let hardhat = fixtures("hardhat").display().to_string();
    for args in [
        &["dev", "--http-port", "0", "--evm-port", "0", "--artifacts", &foundry][..],
        &["evm", "--port", "0", "--artifacts", "/nowhere", "--artifacts", &foundry],
        &["anvil", "--port", "0", "--artifacts", &hardhat],
    ] {
        let vault = Vault::start(args);
        let stored = vault.send(&store(10, "a\u{1b}[2J"));
        let failed = vault.send(&close());
        let unauthorized =
            "Unauthorized(caller: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, action: \"x\")";
        for method in ["eth_call", "eth_estimateGas"] {
            let refusal = vault.refusal(method, &close());
            assert_eq!(
                refusal["message"],
                format!("execution reverted: {unauthorized}"),
                "{refusal}"
            );
            assert_eq!(
                (&refusal["code"], refusal["data"].as_str().unwrap().len()),
                (&json!(3), 2 + 8 + 4 * 64)
            );
        }
        // An error of the library.
        let refusal = vault.refusal("eth_call", &store(3, ""));
        assert_eq!(refusal["message"], "execution reverted: FeeTooHigh(fee: 5, most: 3)");
        let deployed = vault.deployed.clone();
        let shown = vault.end();
        assert!(!shown.contains('\u{1b}'), "{shown}");
        let deployed = below(&shown, &deployed);
        let creation = "\n    Contract: Vault\n    Call: Vault.constructor(fee_: 5)\n";
        assert!(deployed.contains(creation), "{deployed}");
        let stored = below(&shown, &stored);
        let call = "    Call: Vault.store(amount: 10, note: \"a\\u{1b}[2J\")\n";
        assert!(stored.starts_with(call), "{stored}");
        let event = "\n    Event: Vault.Stored(by: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, amount: 10, tag: 0x";
        assert!(stored.contains(event) && stored.ends_with(", note: \"a\\u{1b}[2J\")"), "{stored}");
        let failed = below(&shown, &failed);
        assert!(failed.starts_with("    Call: Vault.close(action: \"x\")\n"), "{failed}");
        assert!(failed.ends_with(&format!("    Error: reverted with: {unauthorized}")), "{failed}");
    }
}

#[test]
fn without_artifacts_standards_have_names() {
    let vault = Vault::start(&["evm", "--port", "0"]);
    let sent = vault.send(&format!("0xa9059cbb{}{}", word(3), word(5)));
    let stored = vault.send(&store(10, "a"));
    let refusal = vault.refusal("eth_call", &close());
    assert_eq!(refusal["message"], "execution reverted");
    let shown = vault.end();
    let sent = below(&shown, &sent);
    let call = "    Call: transfer(to: 0x0000000000000000000000000000000000000003, value: 5)\n";
    assert!(sent.starts_with(call), "{sent}");
    // What nobody knows is shown as before.
    let stored = below(&shown, &stored);
    assert!(stored.starts_with("    Gas used: ") && !stored.contains('\n'), "{stored}");
    assert!(!shown.contains("    Contract: "), "{shown}");
}

#[test]
fn a_transaction_is_shown_with_names() {
    let vault = Vault::start(&["evm", "--port", "0"]);
    let stored = vault.send(&store(10, "a"));
    let failed = vault.send(&close());
    let url = format!("http://{}", vault.node.ready["http"].as_str().unwrap());
    let foundry = fixtures("foundry").display().to_string();
    let tx = |hash: &str, args: &[&str]| run(&[&["tx", hash, "--url", &url], args].concat());
    let shown = tx(&stored, &["--artifacts", &foundry, "--trace"]);
    assert_eq!(shown.code(), Some(0), "{}", shown.stderr);
    let lines: Vec<_> = shown.stdout.lines().collect();
    let text = |name: &str| -> Vec<&str> {
        let of = |line: &&str| line.split_whitespace().next() == Some(name);
        lines.iter().copied().filter(of).map(|line| &line[13..]).collect()
    };
    let call = "Vault.store(amount: 10, note: \"a\")";
    assert_eq!(text("call"), [call]);
    let (events, trace) = (text("event"), text("trace"));
    let event = "Vault.Stored(by: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, amount: 10, tag: 0x";
    assert!(events.len() == 1 && events[0].starts_with(event), "{events:?}");
    assert_eq!(trace.len(), 3, "{trace:?}");
    assert!(trace[0].starts_with(&format!("CALL {call} (")), "{trace:?}");
    assert!(trace[1].starts_with("  DELEGATECALL Fees.charge(amount: 10, fee: 5) ("), "{trace:?}");
    assert_eq!(trace[2], format!("  event {}", events[0]));
    let shown = tx(&vault.deployed, &["--artifacts", &foundry, "--trace", "--json"]);
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    let creation = "Vault.constructor(fee_: 5)";
    assert_eq!((&document["contract"], &document["call"]), (&json!("Vault"), &json!(creation)));
    let trace = document["trace"][0].as_str().unwrap();
    let place = vault.address.to_lowercase();
    assert!(trace.starts_with(&format!("CREATE {creation} at {place} (")), "{trace}");
    let shown = tx(&failed, &["--artifacts", &foundry, "--json"]);
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    let reason = "execution reverted: Unauthorized(caller: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, action: \"x\")";
    assert_eq!((&document["reason"], &document["status"]), (&json!(reason), &json!("Failed")));
    assert_eq!(
        (&document["call"], &document["trace"]),
        (&json!("Vault.close(action: \"x\")"), &Value::Null)
    );
    let shown = tx(&stored, &["--json"]);
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((&document["call"], &document["events"]), (&Value::Null, &json!([])));
    let refused = tx(&stored, &["--artifacts", "/nowhere"]);
    assert!(
        refused.code() == Some(2) && refused.stderr.contains("there is no such folder"),
        "{}",
        refused.stderr
    );
    vault.end();
}

/// The slot of a proxy's implementation (ERC-1967).
const SLOT: &str = "360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";

/// Code that passes each call on to the contract in [`SLOT`].
fn proxy_code() -> String {
    format!("0x36600060003760006000366000 7f{SLOT}545af4 3d600060003e603e57 3d6000fd 5b3d6000f3")
        .replace(' ', "")
}

/// Code that passes each call on to a contract (ERC-1167).
fn clone_code(address: &str) -> String {
    let digits = address.trim_start_matches("0x");
    format!("0x363d3d373d3d3d363d73{digits}5af43d82803e903d91602b57fd5bf3")
}

/// The second account of `esker evm`.
const SECOND: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

/// Its authorization of the contract that the first account's second transaction creates, on the chain 31337.
fn authorization(contract: &str) -> Value {
    json!({"chainId": "0x7a69", "address": contract, "nonce": "0x0", "yParity": "0x1",
        "r": "0x8e4f73c466901b07e0afe839696b196cee6059035f68d75c9c63ba4d86098685",
        "s": "0x65b40f585dfbab25a324f930c659fa048bf9140ccbe13ff96cd7b4f7e75f7e6b"})
}

/// What `esker tx` shows of a transaction.
fn document(vault: &Vault, hash: &str, args: &[&str]) -> Value {
    let url = format!("http://{}", vault.node.ready["http"].as_str().unwrap());
    let foundry = fixtures("foundry").display().to_string();
    let all = [&["tx", hash, "--url", &url, "--artifacts", &foundry, "--json"], args].concat();
    let ended = run(&all);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn contracts_behind_proxies_give_names() {
    let foundry = fixtures("foundry").display().to_string();
    let vault = Vault::start(&["anvil", "--port", "0", "--artifacts", &foundry]);
    let contract = vault.address.clone();
    let (proxy, clone) = (format!("0x{}", "a1".repeat(20)), format!("0x{}", "a2".repeat(20)));
    vault.node.evm("anvil_setCode", json!([proxy, proxy_code()]));
    let slot = json!([proxy, format!("0x{SLOT}"), format!("0x{:0>64}", &contract[2..])]);
    vault.node.evm("anvil_setStorageAt", slot);
    vault.node.evm("anvil_setCode", json!([clone, clone_code(&contract)]));
    let delegates = json!({"from": FROM, "to": FROM, "gas": "0x100000",
        "authorizationList": [authorization(&contract)]});
    let hash = vault.node.evm("eth_sendTransaction", json!([delegates]));
    assert_eq!(vault.node.receipt(&hash)["status"], "0x1");
    let code = vault.node.evm("eth_getCode", json!([SECOND, "latest"]));
    assert_eq!(code, format!("0xef0100{}", &contract[2..]));
    let call = "Vault.store(amount: 10, note: \"a\")";
    let event = "Vault.Stored(by: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, amount: 10, tag: 0x";
    // All in a block: the screen shows the first ten of a second.
    vault.node.evm("evm_setAutomine", json!([false]));
    let send = |to: &str, data: &str| {
        let tx = json!({"from": FROM, "to": to, "gas": "0x100000", "data": data});
        let hash = vault.node.evm("eth_sendTransaction", json!([tx]));
        hash.as_str().unwrap().to_owned()
    };
    // Of a function that the contract behind does not have, only the contract is known.
    let sent = [proxy.as_str(), &clone, SECOND]
        .map(|to| (send(to, &store(10, "a")), send(to, "0x12345678")));
    vault.node.evm("evm_mine", json!([]));
    for (hash, _) in &sent {
        let document = document(&vault, hash, &["--trace"]);
        assert_eq!((&document["status"], &document["call"]), (&json!("Accepted"), &json!(call)));
        assert!(document["events"][0].as_str().unwrap().starts_with(event), "{document}");
        let tracer = json!({"tracer": "callTracer", "tracerConfig": {"names": true}});
        let traced = vault.node.evm("debug_traceTransaction", json!([hash, tracer]));
        let names = json!({"contract": "Vault", "function": "store", "arguments":
            [{"name": "amount", "value": "10"}, {"name": "note", "value": "\"a\""}]});
        assert_eq!(traced["names"], names, "{traced}");
        let trace = document["trace"].as_array().unwrap();
        assert!(trace[0].as_str().unwrap().starts_with(&format!("CALL {call} (")), "{document}");
    }
    let shown = vault.end();
    for (hash, unknown) in sent {
        let known = below(&shown, &hash);
        assert!(known.starts_with(&format!("    Call: {call}\n")), "{known}");
        assert!(known.contains(&format!("\n    Event: {event}")), "{known}");
        let unknown = below(&shown, &unknown);
        let text = "    Call: Vault.0x12345678 (unknown function, 4 bytes)\n";
        assert!(unknown.starts_with(text), "{unknown}");
    }
}

#[test]
fn traces_have_names_on_request() {
    let foundry = fixtures("foundry").display().to_string();
    let vault = Vault::start(&["evm", "--port", "0", "--artifacts", &foundry]);
    let stored = vault.send(&store(10, "a"));
    let usual = json!([stored, {"tracer": "callTracer"}]);
    let usual = vault.node.evm("debug_traceTransaction", usual);
    let trace = |hash: &str, is_on: bool| {
        let config = json!({"tracer": "callTracer", "tracerConfig": {"names": is_on}});
        vault.node.evm("debug_traceTransaction", json!([hash, config]))
    };
    assert_eq!(trace(&stored, false), usual);
    let mut named = trace(&stored, true);
    let argument = |name: &str, value: &str| json!({"name": name, "value": value});
    let charge = json!({"contract": "Fees", "function": "charge",
        "arguments": [argument("amount", "10"), argument("fee", "5")]});
    assert_eq!(named["calls"][0]["names"], charge);
    // Nothing else differs.
    named["calls"][0].as_object_mut().unwrap().remove("names");
    assert_eq!(named["names"]["function"], "store");
    named.as_object_mut().unwrap().remove("names");
    assert_eq!(named, usual);
    let created = trace(&vault.deployed, true);
    let constructor = json!({"contract": "Vault", "function": "constructor",
        "arguments": [argument("fee_", "5")]});
    assert_eq!(created["names"], constructor);
    // A transfer to an account without code.
    let tx = json!({"from": FROM, "to": FROM, "value": "0x1"});
    let hash = vault.node.evm("eth_sendTransaction", json!([tx]));
    vault.node.receipt(&hash);
    assert_eq!(trace(hash.as_str().unwrap(), true)["names"], Value::Null);
    vault.end();
}

#[test]
fn events_and_errors_of_a_trace_have_names() {
    let foundry = fixtures("foundry").display().to_string();
    let vault = Vault::start(&["evm", "--port", "0", "--artifacts", &foundry]);
    let (stored, failed) = (vault.send(&store(10, "a")), vault.send(&close()));
    let trace = |hash: &str, config: Value| {
        let config = json!({"tracer": "callTracer", "tracerConfig": config});
        vault.node.evm("debug_traceTransaction", json!([hash, config]))
    };
    let log = trace(&stored, json!({"withLog": true, "names": true}))["logs"][0].clone();
    let by = json!({"name": "by", "value": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"});
    assert_eq!(
        (&log["names"]["contract"], &log["names"]["event"]),
        (&json!("Vault"), &json!("Stored"))
    );
    assert_eq!(log["names"]["arguments"][0], by, "{log}");
    let plain = trace(&stored, json!({"withLog": true}))["logs"][0].clone();
    assert!(plain["names"].is_null() && plain["data"] == log["data"], "{plain}");
    let caller = json!({"name": "caller", "value": by["value"]});
    let action = json!({"name": "action", "value": "\"x\""});
    let error = json!({"name": "Unauthorized", "arguments": [caller, action]});
    let named = trace(&failed, json!({"names": true}));
    assert_eq!(named["names"]["error"], error, "{named}");
    assert_eq!(
        (&named["names"]["function"], &named["error"]),
        (&json!("close"), &json!("execution reverted"))
    );
    assert_eq!(trace(&failed, json!({}))["names"], Value::Null);
    // An error that Solidity has by itself is a text.
    let short = vault.node.evm(
        "debug_traceCall",
        json!([{"to": vault.address, "data": "0x12345678"},
        "latest", {"tracer": "callTracer", "tracerConfig": {"names": true}}]),
    );
    assert!(short["error"].is_string() && short["names"]["error"].is_null(), "{short}");
    vault.end();
}

#[test]
fn a_compilers_output_gives_names() {
    let vault = Vault::start(&["hardhat", "node", "--port", "0"]);
    vault.send(&store(10, "a"));
    let unnamed = vault.refusal("eth_call", &close())["message"].clone();
    assert!(unnamed.as_str().unwrap().contains("an unrecognized custom error"), "{unnamed}");
    let file = fixtures("foundry").join("Vault.sol/Vault.json");
    let artifact: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let evm = json!({"deployedBytecode": artifact["deployedBytecode"]});
    let output =
        json!({"contracts": {"Vault.sol": {"Vault": {"abi": artifact["abi"], "evm": evm}}}});
    let added = vault.node.evm("hardhat_addCompilationResult", json!(["0.8.28", {}, output]));
    assert_eq!(added, true);
    let named = "Error: VM Exception while processing transaction: reverted with custom error 'Unauthorized(";
    wait_for_message(&vault, named);
    let sent = vault.send(&store(11, "b"));
    let shown = vault.end();
    let lines =
        format!("  Contract call:       Vault#store\n  Transaction:         {sent}\n  From:");
    assert!(shown.contains(&lines), "{shown}");
    let error = "  Error: VM Exception while processing transaction: reverted with custom error 'Unauthorized(";
    assert!(shown.contains(error), "{shown}");
}

/// Waits until the message of a call that fails begins so.
fn wait_for_message(vault: &Vault, begin: &str) {
    let end = Instant::now() + SOON;
    let mut last = Value::Null;
    while Instant::now() < end {
        last = vault.refusal("eth_call", &close())["message"].clone();
        if format!("{}\n", last.as_str().unwrap()).starts_with(begin) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no message {begin:?} within {SOON:?}: {last}")
}

#[test]
fn changed_artifacts_are_read_while_the_node_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let vault = Vault::start(&["evm", "--port", "0", "--artifacts", &path]);
    vault.send(&store(10, "a"));
    assert_eq!(vault.refusal("eth_call", &close())["message"], "execution reverted");
    let artifact = fs::read_to_string(fixtures("hardhat").join("Vault.sol/Vault.json")).unwrap();
    // Half a file, which is not used, then the whole one.
    let file = folder.path().join("Vault.json");
    fs::write(&file, &artifact[..artifact.len() / 2]).unwrap();
    fs::write(folder.path().join("large.json"), vec![b'['; 20 << 20]).unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
    fs::write(&file, &artifact).unwrap();
    wait_for_message(&vault, "execution reverted: Unauthorized(caller: ");
    let renamed = artifact.replace("\"caller\"", "\"who\"");
    fs::write(&file, &renamed).unwrap();
    wait_for_message(&vault, "execution reverted: Unauthorized(who: ");
    fs::remove_file(&file).unwrap();
    wait_for_message(&vault, "execution reverted\n");
    vault.end();
}
