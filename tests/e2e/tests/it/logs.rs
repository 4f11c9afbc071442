//! Log lines of what a node does, as a collector reads them.

use std::path::Path;
use std::process::Command;

use alloy_primitives::{hex, keccak256};
use esker_client::CallError;
use esker_e2e::disk::{FailingDisk, Fault};
use esker_e2e::funds::FUNDED;
use esker_e2e::socket::Socket;
use esker_e2e::{Node, until};
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

/// A development node that writes its log into a folder, as JSON.
fn logging(logs: &Path, level: &str) -> Node {
    let node = local().dev().arg("--log-dir").arg(logs).arg("--log-level").arg(level);
    node.arg("--log-format").arg("json").start().unwrap()
}

/// An account of a node, and the parameters of a send from it.
fn payment(node: &Node) -> [Value; 2] {
    let accounts: Vec<String> = node.rpc().call(EVM, "eth_accounts", json!([])).unwrap();
    let send = json!([{ "from": accounts[0], "to": accounts[1], "value": "0x1" }]);
    [json!(accounts[0]), send]
}

/// As logrotate does it: rename, then SIGHUP.
#[test]
fn renamed_files_are_left_at_sighup() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path();
    let node = logging(logs, "info");
    let mut rpc = node.rpc();
    let [_, send] = payment(&node);
    let mut mine = |blocks: usize, log: &Path| {
        let _hash: Value = rpc.call(EVM, "eth_sendTransaction", &send).unwrap();
        until("the block is in the log", || {
            let text = std::fs::read_to_string(log).unwrap_or_default();
            (text.matches("\"block accepted\"").count() == blocks).then_some(())
        });
    };
    let [main, c] = ["main", "C"].map(|name| logs.join(format!("{name}.log")));
    let [old_main, old_c] = ["main", "C"].map(|name| logs.join(format!("{name}.log-20261124")));
    mine(1, &c);
    std::fs::rename(&main, &old_main).unwrap();
    std::fs::rename(&c, &old_c).unwrap();
    mine(2, &old_c);
    let hangup = Command::new("kill").args(["-HUP", &node.pid().to_string()]).status().unwrap();
    assert!(hangup.success());
    until("the main log is there again", || {
        let text = std::fs::read_to_string(&main).unwrap_or_default();
        text.contains("reloaded the log levels").then_some(())
    });
    mine(1, &c);
    assert_eq!(with_message(logs, "C", "block accepted").len(), 1);
    assert!(node.stop().unwrap().success());
    let stopped = json_lines(&main);
    assert!(stopped.iter().any(|line| line["message"] == "stopped"), "{stopped:?}");
    let old = std::fs::read_to_string(&old_main).unwrap();
    assert!(!old.contains("reloaded") && !old.contains("stopped"), "{old}");
}

#[test]
fn each_block_is_logged_alone_or_in_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path();
    let node = logging(logs, "info");
    let mut rpc = node.rpc();
    let [sender, send] = payment(&node);
    for _ in 0..TRANSFERS {
        let _hash: Value = rpc.call(EVM, "eth_sendTransaction", &send).unwrap();
    }
    let last: String = until("all transfers are mined", || {
        let count: String =
            rpc.call(EVM, "eth_getTransactionCount", json!([sender, "latest"])).unwrap();
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

    // The block that funds the accounts of the development network.
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
        let node = logging(&logs, level);
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

/// A transaction with a value above 256 bits, of an account without funds: `v` is that of chain 43112.
const LARGE_VALUE: &str = "0xf847808477359400825208943535353535353535353535353535353535353535a1010000000000000000\
    00000000000000000000000000000000000000000000000080830150f30101";
/// Error number of Linux.
const EROFS: i32 = 30;

#[test]
fn refusals_of_values_and_of_transactions_built_for_users_are_logged() {
    let Some(disk) = FailingDisk::build().unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let node = local().dev().data_dir(folder.path().join("data")).arg("--log-dir").arg(&logs);
    let node = node.args(&["--log-format", "json", "--log-level", "debug"]);
    let node = disk.under(node).start().unwrap();
    let mut rpc = node.rpc();
    let mut refused = |path: &str, method: &str, params: Value| {
        let reply = rpc.call::<Value>(path, method, params);
        let Err(CallError::Rpc { message, .. }) = reply else { panic!("{method}: {reply:?}") };
        message
    };
    let text = refused(EVM, "eth_sendRawTransaction", json!([LARGE_VALUE]));
    assert!(text.contains("insufficient funds"), "{text}");

    // Transactions of a user of the keystore, at the end of all checks: the disk takes no writes.
    let mut rpc = node.rpc();
    let user = |mut params: Value| {
        params["username"] = json!("alice");
        params["password"] = json!("Str0ng-Pass-W0rd!");
        params
    };
    let (x, nat) = ("/ext/bc/X", "/ext/bc/C/nat");
    let mut ok = |path: &str, method: &str, params: Value| -> Value {
        rpc.call(path, method, user(params)).unwrap_or_else(|error| panic!("{method}: {error}"))
    };
    ok("/ext/keystore", "keystore.createUser", json!({}));
    let key = json!({ "privateKey": FUNDED });
    let on_x = ok(x, "xvm.importKey", key.clone())["address"].clone();
    let on_c = ok(nat, "nat.importKey", key)["address"].clone();
    let to = on_x.as_str().unwrap().replacen('X', "C", 1);
    let sent = json!({ "to": to, "amount": 5_000_000, "assetID": "NAT" });
    let exported = ok(x, "xvm.export", sent)["txID"].clone();
    until("the export is accepted", || {
        let status = ok(x, "xvm.getTxStatus", json!({ "txID": exported }));
        (status["status"] == "Accepted").then_some(())
    });
    disk.fail(Fault::Data, EROFS).unwrap();
    // A write, so that the node finds out.
    let accounts: Vec<String> = rpc.call(EVM, "eth_accounts", json!([])).unwrap();
    let tx = json!([{ "from": accounts[0], "to": accounts[1] }]);
    until("writes are refused", || rpc.call::<Value>(EVM, "eth_sendTransaction", &tx).err());
    for (method, params) in [
        ("nat.export", json!({ "to": on_x, "amount": 1_000_000, "assetID": "NAT" })),
        ("nat.import", json!({ "to": on_c, "sourceChain": "X" })),
    ] {
        let reply = rpc.call::<Value>(nat, method, user(params));
        let Err(CallError::Rpc { message, .. }) = reply else { panic!("{method}: {reply:?}") };
        assert!(message.contains("the disk is read-only"), "{method}: {message}");
    }
    disk.repair().unwrap();
    assert!(node.stop().unwrap().success());

    let lines = with_message(&logs, "C", "transaction refused");
    for line in &lines {
        assert_eq!((&line["level"], &line["logger"]), (&json!("DEBUG"), &json!("C")), "{line}");
    }
    let hash = keccak256(hex::decode(LARGE_VALUE).unwrap()).to_string();
    let line = the_line(&logs, "C", "transaction refused", "hash", &hash);
    assert_eq!(line["error"], json!(text), "{line}");
    let of_users: Vec<_> = lines.iter().filter(|line| !line["txID"].is_null()).collect();
    assert_eq!(of_users.len(), 2, "{lines:?}");
    for line in of_users {
        assert!(line["error"].as_str().unwrap().contains("the disk is read-only"), "{line}");
    }
}

#[test]
fn a_deprecated_method_is_logged_once_with_what_to_call_instead() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path();
    let node = local().dev().arg("--log-dir").arg(logs).args(&["--log-format", "json"]);
    let node = node.start().unwrap();
    let mut rpc = node.rpc();
    // Under its alias and its own name, and as a call that fails.
    for method in ["avm.getBalance", "xvm.getBalance"] {
        for asset in ["NAT", "missing"] {
            let params = json!({ "address": "X-local1", "assetID": asset });
            assert!(rpc.call::<Value>("/ext/bc/X", method, params).is_err());
        }
    }
    let _height: Value = rpc.call("/ext/bc/X", "xvm.getHeight", json!({})).unwrap();
    assert!(node.stop().unwrap().success());
    let lines = with_message(logs, "main", "deprecated method called");
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&line["level"], &line["namespace"]), (&json!("INFO"), &json!("xvm")), "{line}");
    assert_eq!(line["method"], "getBalance", "{line}");
    assert_eq!(line["instead"], "xvm.getUTXOs", "{line}");
    assert!(line["since"].as_str().unwrap().starts_with("AvalancheGo v"), "{line}");
}
