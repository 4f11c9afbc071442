use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Esker, command, run, usual_ports};

/// Accounts of the development network.
const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const TO: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

fn transfer(node: &Esker) -> Value {
    node.evm("eth_sendTransaction", json!([{"from": FROM, "to": TO, "value": "0x1"}]))
}

#[test]
fn the_c_chain_at_a_port_of_its_own() {
    let node =
        Esker::start(&["dev", "--evm-port", "0", "--chain-id", "31337", "--gas-limit", "30000000"]);
    assert_eq!(node.evm("eth_chainId", json!([])), "0x7a69");
    assert_eq!(node.ready["evmUrl"], format!("http://{}", node.ready["evm"].as_str().unwrap()));
    let hash = transfer(&node);
    assert_eq!(node.receipt(&hash)["blockNumber"], "0x1");
    let block = node.evm("eth_getBlockByNumber", json!(["0x1", false]));
    // Wallets offer twice the base fee of the last block, which is the genesis' at first.
    let genesis = node.evm("eth_getBlockByNumber", json!(["0x0", false]));
    assert_eq!(genesis["baseFeePerGas"], "0x3b9aca00");
    assert_eq!(
        (&block["gasLimit"], &block["baseFeePerGas"]),
        (&json!("0x1c9c380"), &json!("0x3b9aca00"))
    );
    // The same chain under its path, which the other port does not have.
    let path = "/ext/bc/C/rpc";
    assert_eq!(node.call(path, "eth_blockNumber", json!([])), "0x1");
    let evm = node.ready["evm"].as_str().unwrap();
    assert_eq!(node.http_at(evm, "POST", path, "{}").0, 404);
    assert_eq!(node.http("POST", "/", "{}").0, 405);
}

#[test]
fn blocks_in_an_interval() {
    let node = Esker::start(&["dev", "--evm-port", "0", "--block-time", "1h"]);
    // The first block does not wait, though the genesis is of this moment.
    node.receipt(&transfer(&node));
    let waiting = transfer(&node);
    assert_eq!(node.evm("eth_getTransactionReceipt", json!([waiting])), Value::Null);
    assert_eq!(node.evm("eth_blockNumber", json!([])), "0x1");
}

#[test]
fn the_exact_fee_rules() {
    let node = Esker::start(&["dev", "--evm-port", "0", "--real-fees"]);
    node.receipt(&transfer(&node));
    let block = node.evm("eth_getBlockByNumber", json!(["0x1", false]));
    assert_eq!(block["gasLimit"], "0xe4e1c0");
    assert_eq!(block["baseFeePerGas"], "0x34630b8a00", "225 gwei at the beginning");
}

#[test]
fn a_network_of_wide_limits() {
    let page = include_str!("../../../../docs/networks.md");
    let example = page.split("```json\n").nth(2).unwrap().split_once("```").unwrap().0;
    let dir = tempfile::tempdir().unwrap();
    let (file, data) = (dir.path().join("wide.json"), dir.path().join("data"));
    fs::write(&file, example).unwrap();
    let (file, data) = (file.to_str().unwrap(), data.to_str().unwrap());
    let args = ["node", "--network", file, "--data-dir", data, "--evm-port", "0"];
    let node = Esker::start(&args);
    assert_eq!(node.evm("eth_chainId", json!([])), "0x539");
    let genesis = node.evm("eth_getBlockByNumber", json!(["0x0", false]));
    assert_eq!(genesis["gasLimit"], "0xb2d05e00");
    let balance = node.evm("eth_getBalance", json!([FROM, "latest"]));
    assert_eq!(balance, "0x21e19e0c9bab2400000");
}

#[test]
fn a_port_that_was_asked_for_must_be_free() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = run(&["dev", "--http-port", "0", "--evm-port", &port]);
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    let text = format!(
        "port in use: 127.0.0.1:{port}: stop the other program or choose another --evm-port"
    );
    assert!(ended.stderr.contains(&text), "{}", ended.stderr);
}

/// The lines of the screen of a node with these arguments, which is then stopped.
fn screen(args: &[&str]) -> Vec<String> {
    let temp = tempfile::tempdir().unwrap();
    let mut child = command(args, temp.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let is_last = line.starts_with("Listening on ");
        lines.push(line);
        if is_last {
            break;
        }
    }
    let stopped = std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(stopped.success() && child.wait().unwrap().success());
    lines
}

/// The port after an address' last colon.
fn port(address: &str) -> u16 {
    address.rsplit_once(':').unwrap().1.parse().unwrap()
}

#[test]
fn a_second_node_needs_one_port_of_its_own() {
    let _usual = usual_ports();
    // By us, or by a node of another test, which may let go of it meanwhile.
    let ours = TcpListener::bind("127.0.0.1:9650");
    let lines = screen(&["dev", "--port", "0"]);
    let url = lines.iter().find_map(|line| line.strip_prefix("URL:")).unwrap();
    let found = port(url.trim().trim_end_matches("/ext/bc/X"));
    assert!((9650..=9750).contains(&found), "{lines:?}");
    if ours.is_ok() {
        assert_ne!(found, 9650, "{lines:?}");
        // Who asks for no port gets the usual ones, or an error.
        let ended = run(&["dev"]);
        assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
        assert!(ended.stderr.contains("port in use: 127.0.0.1:9650: "), "{}", ended.stderr);
        // A request for both does the same.
        let ended = run(&["dev", "--port", "0", "--http-port", "9650"]);
        assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    }
    let last = lines.last().unwrap();
    assert_ne!(port(last), found, "it listens where its tools look: {last}");
}

#[test]
fn a_usual_port_that_is_taken_is_on_the_screen() {
    let _usual = usual_ports();
    let ours = TcpListener::bind("127.0.0.1:8545");
    let lines = screen(&["dev", "--http-port", "0"]);
    let last = port(lines.last().unwrap());
    if ours.is_ok() {
        assert_ne!(last, 8545, "{lines:?}");
        let text = "Another program has 127.0.0.1:8545: tools that use it don't reach this node.";
        assert!(lines.iter().any(|line| line == text), "{lines:?}");
        let url = lines.iter().find_map(|line| line.strip_prefix("RPC URL:")).unwrap();
        assert_eq!(url.trim(), format!("http://127.0.0.1:{last}/ext/bc/C/rpc"));
    }
}

#[test]
fn the_usual_port_may_be_taken() {
    let _usual = usual_ports();
    // By us, or by a node of another test, which may let go of it meanwhile.
    let ours = TcpListener::bind("127.0.0.1:8545");
    let node = Esker::start(&["dev"]);
    if ours.is_ok() {
        assert_eq!(node.ready["evm"], Value::Null);
    }
    assert_eq!(node.call("/ext/bc/C/rpc", "eth_blockNumber", json!([])), "0x0");
}
