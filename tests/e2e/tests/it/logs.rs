//! Log lines of what a node does, as a collector reads them.

use std::path::Path;

use esker_e2e::socket::Socket;
use esker_e2e::until;
use serde_json::{Value, json};

use crate::support::{json_lines, local};

const EVM: &str = "/ext/bc/C/rpc";
const TRANSFERS: u64 = 60;
/// The signed transaction of EIP-155, for chain 1.
const OF_OTHER_CHAIN: &str = "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a764000080\
    25a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc6421\
    4b297fb1966a3b6d83";

/// The lines of a chain with this message.
fn with_message(folder: &Path, chain: &str, message: &str) -> Vec<Value> {
    let lines = json_lines(&folder.join(format!("{chain}.log")));
    lines.into_iter().filter(|line| line["message"] == message).collect()
}

#[test]
fn each_block_is_logged_alone_or_in_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path();
    let node = local().dev().arg("--log-dir").arg(logs).arg("--log-format").arg("json");
    let node = node.start().unwrap();
    let mut rpc = node.rpc();
    let accounts: Vec<String> = rpc.call(EVM, "eth_accounts", json!([])).unwrap();
    let send = json!([{ "from": accounts[0], "to": accounts[1], "value": "0x1" }]);
    for _ in 0..TRANSFERS {
        let _hash: Value = rpc.call(EVM, "eth_sendTransaction", &send).unwrap();
    }
    let last: String = until("all transfers are mined", || {
        let count: String =
            rpc.call(EVM, "eth_getTransactionCount", json!([accounts[0], "latest"])).unwrap();
        let is_done = count == format!("{TRANSFERS:#x}");
        is_done.then(|| rpc.call(EVM, "eth_blockNumber", json!([])).unwrap())
    });
    let last = u64::from_str_radix(&last[2..], 16).unwrap();
    let first: Value = rpc.call(EVM, "eth_getBlockByNumber", json!(["0x1", false])).unwrap();
    assert!(node.stop().unwrap().success());

    let alone = with_message(logs, "C", "block accepted");
    let summaries = with_message(logs, "C", "further blocks accepted");
    let line = &alone[0];
    assert_eq!((&line["level"], &line["logger"]), (&json!("INFO"), &json!("C")), "{line}");
    assert_eq!((&line["height"], &line["hash"]), (&json!(1), &first["hash"]), "{line}");
    assert_eq!(line["txs"], first["transactions"].as_array().unwrap().len(), "{line}");
    let number = |value: &Value| json!(format!("{:#x}", value.as_u64().unwrap()));
    assert_eq!(number(&line["gas"]), first["gasUsed"], "{line}");
    assert_eq!(number(&line["base_fee"]), first["baseFeePerGas"], "{line}");
    assert!(line["execute_ms"].is_u64() && line["commit_ms"].is_u64(), "{line}");
    assert!(line.get("since_last_ms").is_none(), "no block came before: {line}");
    assert!(alone.iter().skip(1).all(|line| line["since_last_ms"].is_u64()), "{alone:?}");

    let sum = |field: &str| -> u64 {
        let all = alone.iter().chain(&summaries);
        all.map(|line| line[field].as_u64().unwrap()).sum()
    };
    assert_eq!((sum("txs"), sum("gas")), (TRANSFERS, TRANSFERS * 21_000));
    let mut heights: Vec<u64> = alone.iter().map(|line| line["height"].as_u64().unwrap()).collect();
    for summary in &summaries {
        let end = |field: &str| summary[field].as_u64().unwrap();
        heights.extend(end("first")..=end("last"));
    }
    heights.sort_unstable();
    assert_eq!(heights, (1..=last).collect::<Vec<_>>());

    // What funds the accounts of the development network.
    let x = with_message(logs, "X", "block accepted");
    assert_eq!((&x[0]["height"], &x[0]["logger"]), (&json!(1), &json!("X")), "{x:?}");
    assert!(x[0]["txs"].as_u64() > Some(0) && x[0].get("gas").is_none(), "{x:?}");
}

/// The only line of a chain with this message and field.
fn the_line(folder: &Path, chain: &str, message: &str, field: &str, value: &str) -> Value {
    let mut lines = with_message(folder, chain, message);
    lines.retain(|line| line[field] == value);
    assert_eq!(lines.len(), 1, "{message}, {field} {value}: {lines:?}");
    lines.remove(0)
}

#[test]
fn requests_and_refusals_are_logged_at_level_debug_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [quiet, talkative] = ["info", "debug"].map(|level| {
        let logs = folder.path().join(level);
        let node = local().dev().arg("--log-dir").arg(&logs).arg("--log-level").arg(level);
        let node = node.arg("--log-format").arg("json").start().unwrap();
        let mut rpc = node.rpc();
        let _number: String = rpc.call(EVM, "eth_blockNumber", json!([])).unwrap();
        let unknown = rpc.call::<Value>(EVM, "eth_noSuchMethod", json!([]));
        assert!(unknown.is_err());
        let _height: Value = rpc.call("/ext/bc/X", "avm.getHeight", json!({})).unwrap();
        let mut socket = Socket::open(node.address(), "/ext/bc/C/ws").unwrap();
        socket.send(r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#).unwrap();
        assert!(socket.read().unwrap().contains("0x"));
        let refused = rpc.call::<Value>(EVM, "eth_sendRawTransaction", json!([OF_OTHER_CHAIN]));
        assert!(refused.is_err(), "{refused:?}");
        let issue = json!({ "tx": "0x000000000000089e1d44", "encoding": "hex" });
        let garbage = rpc.call::<Value>("/ext/bc/X", "avm.issueTx", issue);
        assert!(garbage.is_err(), "{garbage:?}");
        assert!(node.stop().unwrap().success());
        logs
    });
    for chain in ["C", "X"] {
        let levels = json_lines(&quiet.join(format!("{chain}.log")));
        assert!(levels.iter().all(|line| line["level"] == "INFO"), "{levels:?}");
    }

    let line = the_line(&talkative, "C", "request", "method", "blockNumber");
    assert_eq!((&line["level"], &line["namespace"]), (&json!("DEBUG"), &json!("evm")), "{line}");
    assert_eq!((&line["verb"], &line["path"]), (&json!("POST"), &json!(EVM)), "{line}");
    assert_eq!((&line["status"], &line["outcome"]), (&json!(200), &json!("ok")), "{line}");
    assert_eq!(line["client"], "127.0.0.1", "{line}");
    assert!(line["ms"].as_f64() > Some(0.0), "{line}");
    assert!(line["received"].as_u64() > Some(20) && line["sent"].as_u64() > Some(20), "{line}");
    let failed = with_message(&talkative, "C", "request");
    assert!(failed.iter().any(|line| line["outcome"] == "error"), "{failed:?}");
    let line = the_line(&talkative, "X", "request", "method", "getHeight");
    assert_eq!((&line["namespace"], &line["outcome"]), (&json!("xvm"), &json!("ok")), "{line}");
    let line = the_line(&talkative, "C", "request over a websocket", "method", "chainId");
    assert_eq!((&line["client"], &line["outcome"]), (&json!("127.0.0.1"), &json!("ok")), "{line}");
    assert!(line["received"].as_u64() > Some(20) && line["sent"].as_u64() > Some(20), "{line}");

    let refused = &with_message(&talkative, "C", "transaction refused")[..];
    let [line] = refused else { panic!("{refused:?}") };
    assert_eq!((&line["level"], &line["logger"]), (&json!("DEBUG"), &json!("C")), "{line}");
    assert_eq!(line["error"], "invalid sender", "{line}");
    let hash = "0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788";
    assert_eq!(line["hash"], hash, "{line}");
    let refused = &with_message(&talkative, "X", "transaction refused")[..];
    let [line] = refused else { panic!("{refused:?}") };
    assert_eq!(line["bytes"], 6, "{line}");
    assert!(!line["error"].as_str().unwrap().is_empty(), "{line}");
}
