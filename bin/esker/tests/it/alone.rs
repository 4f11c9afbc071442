//! `esker evm`: one chain of the EVM alone.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Ended, Esker, genesis_of_shanghai, run};

/// Accounts of the usual mnemonic.
const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const TO: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

fn send(node: &Esker) -> Value {
    node.evm("eth_sendTransaction", json!([{"from": FROM, "to": TO, "value": "0x1"}]))
}

fn height(node: &Esker) -> Value {
    node.evm("eth_blockNumber", json!([]))
}

#[test]
fn it_answers_at_the_root_and_makes_blocks() {
    let node = Esker::start_alone(&[]);
    assert_eq!(node.evm("eth_chainId", json!([])), "0x7a69");
    assert_eq!(node.evm("net_version", json!([])), "31337");
    assert_eq!(node.ready["evm"], node.ready["http"]);
    assert_eq!(node.ready["network"], "evm");
    let accounts = node.evm("eth_accounts", json!([]));
    assert_eq!((accounts.as_array().unwrap().len(), &accounts[0]), (10, &json!(FROM)));
    let balance = node.evm("eth_getBalance", json!([FROM, "latest"]));
    assert_eq!(balance, "0x21e19e0c9bab2400000");
    let hash = send(&node);
    let receipt = node.evm("eth_getTransactionReceipt", json!([hash]));
    assert_eq!((&receipt["blockNumber"], &receipt["status"]), (&json!("0x1"), &json!("0x1")));
    for path in ["/ext/bc/evm/rpc", "/ext/evm/rpc"] {
        assert_eq!(node.call(path, "eth_blockNumber", json!([])), "0x1");
    }
    for path in [
        "/ext/bc/X",
        "/ext/bc/P",
        "/ext/bc/C/rpc",
        "/ext/bc/evm/nat",
        "/ext/info",
        "/ext/vm/xvm",
        "/ext/keystore",
    ] {
        assert_eq!(node.http("POST", path, "{}").0, 404, "{path}");
    }
    let (status, health) = node.http("GET", "/ext/health", "");
    assert_eq!(status, 200, "{health}");
    let (_, report) = node.http("GET", "/ext/status", "");
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (&report["network"], report["chains"].as_array().unwrap().len()),
        (&json!("evm"), 1)
    );
    let (_, metrics) = node.http("GET", "/ext/metrics", "");
    for chain in ["\"X\"", "\"P\"", "\"C\""] {
        assert!(!metrics.contains(chain), "{chain}");
    }
    // Controls and snapshots.
    let snapshot = node.evm("evm_snapshot", json!([]));
    node.evm("anvil_setBalance", json!([TO, "0x7"]));
    assert_eq!(node.evm("eth_getBalance", json!([TO, "latest"])), "0x7");
    assert_eq!(node.evm("evm_revert", json!([snapshot])), true);
    assert_eq!(height(&node), "0x1");
}

#[test]
fn a_data_folder_keeps_the_chain_and_its_settings() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    let node = Esker::start_alone(&["--data-dir", data, "--accounts", "3"]);
    send(&node);
    let block = node.evm("eth_getBlockByNumber", json!(["0x1", false]));
    assert!(node.stop("TERM").0.success());
    let node = Esker::start_alone(&["--data-dir", data, "--accounts", "3"]);
    assert_eq!(node.evm("eth_getBlockByNumber", json!(["0x1", false])), block);
    send(&node);
    assert_eq!(height(&node), "0x2");
    assert!(node.stop("TERM").0.success());
    for other in [&["--hardfork", "prague"][..], &["--chain-id", "7"], &["--accounts", "4"]] {
        let accounts: &[&str] = if other[0] == "--accounts" { &[] } else { &["--accounts", "3"] };
        let args = [&["evm", "--port", "0", "--data-dir", data], other, accounts].concat();
        let ended = run(&args);
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("made with another --genesis"), "{}", ended.stderr);
    }
    let ended = run(&["db", "verify", "--evm", "--data-dir", data, "--accounts", "3"]);
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.ends_with("nothing is wrong\n"), "{}", ended.stdout);
    let blocks = dir.path().join("blocks");
    let blocks = blocks.to_str().unwrap();
    let ended = run(&["export", blocks, "--evm", "--data-dir", data, "--accounts", "3"]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let copy = dir.path().join("copy");
    let copy = copy.to_str().unwrap();
    let ended = run(&["import", blocks, "--evm", "--data-dir", copy, "--accounts", "3"]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("2 blocks imported, evm at height 2"), "{}", ended.stdout);
}

/// Three blocks in a file of RLP, of a chain with this start.
fn chain_file(folder: &Path, start: &str) -> Vec<u8> {
    let data = folder.join("maker");
    let data = data.to_str().unwrap();
    let node = Esker::start_alone(&["--data-dir", data, "--timestamp", start]);
    for _ in 0..3 {
        send(&node);
    }
    assert_eq!(node.evm("admin_exportChain", json!(["chain.rlp"])), true);
    assert!(node.stop("TERM").0.success());
    let chain = fs::read(Path::new(data).join("chain-files/chain.rlp")).unwrap();
    fs::remove_dir_all(data).unwrap();
    chain
}

/// Where the blocks of a file of RLP begin, genesis included, and where the last one ends.
fn places(chain: &[u8]) -> Vec<usize> {
    let (mut places, mut at) = (vec![0], 0);
    while at < chain.len() {
        let of_length = usize::from(chain[at]) - 0xf7;
        let length = chain[at + 1..=at + of_length]
            .iter()
            .fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
        at += 1 + of_length + length;
        places.push(at);
    }
    places
}

#[test]
fn blocks_of_a_file_are_there_before_it_answers() {
    let dir = tempfile::tempdir().unwrap();
    let start = "1700000000";
    let chain = chain_file(dir.path(), start);
    let places = places(&chain);
    // Genesis may be the first one.
    let first = places.len() - 4;
    let file = dir.path().join("file.rlp");
    let file = file.to_str().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    let import = |data: &str, bytes: &[u8]| -> Ended {
        fs::write(file, bytes).unwrap();
        run(&[
            "evm",
            "--port",
            "0",
            "--no-build",
            "--timestamp",
            start,
            "--data-dir",
            data,
            "--import",
            file,
        ])
    };
    let refused = |ended: &Ended, text: &str| {
        assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
        assert!(ended.stderr.contains(text), "{text}: {}", ended.stderr);
    };
    // Cut: what came before is kept.
    let ended = import(data, &chain[..chain.len() - 1]);
    refused(&ended, &format!("file.rlp: block 3 at byte {}: unexpected EOF", places[first + 2]));
    // Altered: the last byte of a block is one of its body.
    let mut altered = chain.clone();
    altered[places[first + 2] + 200] ^= 1;
    refused(&import(data, &altered), &format!("file.rlp: block 3 at byte {}: ", places[first + 2]));
    let without = [&chain[..places[first + 1]], &chain[places[first + 2]..]].concat();
    let other = dir.path().join("other");
    refused(
        &import(other.to_str().unwrap(), &without),
        &format!("block 3 at byte {}: the last block before it is 1", places[first + 1]),
    );
    // Of another genesis.
    fs::write(file, &chain[places[first]..]).unwrap();
    let ended =
        run(&["evm", "--port", "0", "--no-build", "--timestamp", "1700000001", "--import", file]);
    refused(&ended, "block 1 at byte 0: the file follows genesis 0x");
    let ended = run(&["evm", "--port", "0", "--import", "missing.rlp"]);
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("can't read missing.rlp: "), "{}", ended.stderr);

    fs::write(file, &chain).unwrap();
    let node = Esker::start_alone(&[
        "--no-build",
        "--timestamp",
        start,
        "--data-dir",
        data,
        "--import",
        file,
    ]);
    assert_eq!(height(&node), "0x3");
    // What is sent stays in the pool.
    send(&node);
    assert_eq!(height(&node), "0x3");
    assert_eq!(node.evm("txpool_status", json!([]))["pending"], "0x1");
}

#[test]
fn a_genesis_file_has_its_own_accounts_and_rules() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("genesis.json");
    let genesis = genesis_of_shanghai(TO, "0x5");
    fs::write(&file, genesis.to_string()).unwrap();
    let node = Esker::start_alone(&["--genesis", file.to_str().unwrap()]);
    assert_eq!(node.evm("eth_chainId", json!([])), "0x9");
    assert_eq!(node.evm("eth_accounts", json!([])), json!([]));
    assert_eq!(node.evm("eth_getBalance", json!([TO, "latest"])), "0x5");
    node.evm("anvil_setBalance", json!([FROM, "0x7"]));
    assert_eq!(height(&node), "0x1");
    drop(node);
    let mut impossible = genesis;
    impossible["config"]["pragueTime"] = json!(5);
    fs::write(&file, impossible.to_string()).unwrap();
    let ended = run(&["evm", "--port", "0", "--genesis", file.to_str().unwrap()]);
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("unsupported fork ordering: cancunTime"), "{}", ended.stderr);
}

#[test]
fn state_tests_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("none.json"), "{}").unwrap();
    let ended = run(&["evm", "state-test", dir.path().to_str().unwrap()]);
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(0), "0 passed, 0 failed\n"));
}

#[test]
fn blocks_of_the_dao_fork_are_marked() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("genesis.json");
    let mut genesis = genesis_of_shanghai(FROM, "0x5");
    genesis["config"]["daoForkBlock"] = json!(0);
    genesis["config"]["daoForkSupport"] = json!(true);
    fs::write(&file, genesis.to_string()).unwrap();
    let node = Esker::start_alone(&["--genesis", file.to_str().unwrap()]);
    node.evm("hardhat_mine", json!(["0xb"]));
    for number in 1..12 {
        let block = node.evm("eth_getBlockByNumber", json!([format!("{number:#x}"), false]));
        let expected = if number < 10 { "0x64616f2d686172642d666f726b" } else { "0x" };
        assert_eq!(block["extraData"], expected, "block {number}");
    }
}

/// The root of the beacon chain that a block writes into the contract of EIP-4788.
#[test]
fn a_beacon_root_is_that_of_the_next_block() {
    let (zero, root) = (format!("0x{:064x}", 0), format!("0x{}", "5b".repeat(32)));
    let method = "anvil_setNextBlockParentBeaconBlockRoot";
    let node = Esker::start_alone(&[]);
    assert_eq!(node.evm(method, json!([root])), Value::Null);
    for wanted in [&root, &zero] {
        node.evm("evm_mine", json!([]));
        let block = node.evm("eth_getBlockByNumber", json!(["latest", false]));
        assert_eq!(block["parentBeaconBlockRoot"], *wanted);
        let time = block["timestamp"].as_str().unwrap().trim_start_matches("0x").to_owned();
        let asks = json!({"to": "0x000f3df6d732807ef1319fb7b8bb8522d0beac02",
            "data": format!("0x{time:0>64}")});
        assert_eq!(node.evm("eth_call", json!([asks, "latest"])), *wanted);
    }
    let node = Esker::start_alone(&["--hardfork", "shanghai"]);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": [root]});
    let address = node.ready["evm"].as_str().unwrap();
    let (_, body) = node.http_at(address, "POST", "/", &request.to_string());
    assert!(body.contains("they begin with Cancun"), "{body}");
    node.evm("evm_mine", json!([]));
    let block = node.evm("eth_getBlockByNumber", json!(["latest", false]));
    assert_eq!(block["parentBeaconBlockRoot"], Value::Null);
}
