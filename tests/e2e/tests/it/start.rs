//! How a node starts where something is short or closed to it: file descriptors, folders of logs; and what
//! `esker dev` says when it does.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use esker_e2e::until;
use serde_json::{Value, json};

use crate::support::{local, screen};

#[test]
fn timed_few_descriptors_and_many_idle_connections() {
    const IDLE: usize = 200;
    let node = local().dev().open_files(64).start().unwrap();
    let mut rpc = node.rpc();
    let accounts: Vec<String> = rpc.call("/ext/bc/C/rpc", "eth_accounts", json!([])).unwrap();
    let send = json!([{ "from": accounts[0], "to": accounts[1], "value": "0x1" }]);
    let mut idle = Vec::new();
    let mut slowest = Duration::ZERO;
    for round in 0..20 {
        idle.extend((0..IDLE / 10).map(|_| TcpStream::connect(node.address()).unwrap()));
        // The oldest of them are closed by the node; their ends here go too, at last.
        let surplus = idle.len().saturating_sub(IDLE);
        idle.drain(..surplus);
        let begun = Instant::now();
        let hash: Value = node.rpc().call("/ext/bc/C/rpc", "eth_sendTransaction", &send).unwrap();
        assert!(hash.is_string(), "round {round}");
        slowest = slowest.max(begun.elapsed());
    }
    // Milliseconds, and the time that a machine under load takes.
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    let output = node.output();
    assert!(output.contains("the limit of open files allows fewer connections"), "{output}");
    let lines = output.lines().filter(|line| line.contains("no room for more connections"));
    assert_eq!(lines.count(), 1, "once a minute: {output}");
    assert!(!output.contains("cannot accept connections"), "{output}");
    drop(idle);
    assert!(node.stop().unwrap().success());
}

#[test]
fn logs_that_can_not_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for logs in [file.clone(), file.join("logs")] {
        let started = local().dev().arg("--log-dir").arg(&logs).start();
        let error = started.err().unwrap().to_string();
        assert!(error.contains("the node ended: exit status: 2"), "{error}");
        let expected = format!("can't write logs to {}: ", logs.display());
        assert!(error.contains(&expected) && error.contains("--log-dir"), "{error}");
    }
    let logs = folder.path().join("new/logs");
    let node = local().dev().arg("--log-dir").arg(&logs).start().unwrap();
    assert!(logs.join("main.log").metadata().unwrap().len() > 0);
    node.stop().unwrap();
}

#[test]
fn a_block_time_in_seconds_and_the_keys_on_the_screen() {
    let node = local().dev().arg("--block-time").arg("1").start().unwrap();
    let mut rpc = node.rpc();
    let accounts: Vec<String> = rpc.call("/ext/bc/C/rpc", "eth_accounts", json!([])).unwrap();
    let output = screen(&node);
    for (number, account, key) in [
        // Of the mnemonic that all development nodes share.
        (0, &accounts[0], "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"),
        (9, &accounts[9], "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"),
    ] {
        for shown in [account.as_str(), key] {
            let line = format!("({number}) {shown}");
            assert!(output.lines().any(|shown| shown.to_lowercase() == line), "{line}: {output}");
        }
    }
    let mut mined_at = |value: &str| -> u64 {
        let tx = json!([{ "from": accounts[0], "to": accounts[1], "value": value }]);
        let hash: Value = rpc.call("/ext/bc/C/rpc", "eth_sendTransaction", tx).unwrap();
        let receipt = until("it is mined", || {
            let receipt: Value =
                rpc.call("/ext/bc/C/rpc", "eth_getTransactionReceipt", json!([hash])).unwrap();
            receipt.is_object().then_some(receipt)
        });
        let number = &receipt["blockNumber"];
        let block: Value =
            rpc.call("/ext/bc/C/rpc", "eth_getBlockByNumber", json!([number, false])).unwrap();
        let time = block["timestamp"].as_str().unwrap().trim_start_matches("0x");
        u64::from_str_radix(time, 16).unwrap()
    };
    let first = mined_at("0x1");
    assert!(mined_at("0x2") > first, "a second lies between them");
}
