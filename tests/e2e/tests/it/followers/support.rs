//! A writer, its followers, and what must be the same on all of them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use esker_client::RpcClient;
use esker_e2e::until::PATIENCE;
use esker_e2e::{Node, NodeBuilder, until};
use esker_follow::snapshot::{SnapshotRecord, SnapshotRecordReader};
use serde_json::{Value, json};

use crate::load::EVM;
use crate::support::{PROGRAM, local};

/// A development node that serves followers.
pub(crate) fn writer(folder: &Path) -> NodeBuilder {
    local().dev().data_dir(folder).arg("--api-sync-enabled")
}

/// A follower of the development network.
pub(crate) fn follower(folder: &Path, sources: &str) -> NodeBuilder {
    let limits = ["--follow-idle-timeout", "3s"];
    local().network("dev").data_dir(folder).args(&["--follow", sources]).args(&limits)
}

/// A connection on which a source was asked for a path over HTTP/1.0. Its reads have a deadline.
pub(super) fn requested(source: &Node, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(source.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// The records of an honest snapshot.
pub(super) fn snapshot_records(source: &Node) -> Vec<SnapshotRecord> {
    let mut answer = Vec::new();
    requested(source, "/ext/sync/snapshot").read_to_end(&mut answer).unwrap();
    let body = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    assert!(answer.starts_with(b"HTTP/1.0 200"), "{}", String::from_utf8_lossy(&answer[..body]));
    let mut reader = SnapshotRecordReader::default();
    reader.push(&answer[body..]);
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

/// The heights of both chains.
pub(crate) fn heights(node: &Node) -> (u64, u64) {
    (node.x().get_height().unwrap(), c_height(node))
}

fn c_height(node: &Node) -> u64 {
    let text: String = node.rpc().call(EVM, "evm_blockNumber", json!([])).unwrap();
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// The message of the follower's health check, and its error.
pub(crate) fn follower_health(node: &Node) -> (Value, Option<String>) {
    let report: Value = node.rpc().call("/ext/health", "health.health", json!({})).unwrap();
    let check = &report["checks"]["follower"];
    (check["message"].clone(), check["error"].as_str().map(str::to_owned))
}

/// Waits until a follower has what its source has now.
pub(crate) fn wait_for(follower: &Node, source: &Node) {
    let wanted = heights(source);
    until(&format!("the follower reaches {wanted:?}"), || {
        let (x, c) = heights(follower);
        (x >= wanted.0 && c >= wanted.1).then_some(())
    });
}

/// Every block, and what a client reads of the state, is the same on both nodes.
pub(crate) fn assert_same(one: &Node, other: &Node) {
    assert_same_blocks(one, other);
    let accounts = call(one, "evm_accounts", &json!([]));
    for account in accounts.as_array().into_iter().flatten() {
        let params = json!([account, "latest"]);
        let balance = |node| call(node, "evm_getBalance", &params);
        assert_eq!(balance(one), balance(other), "{account}");
    }
}

/// Every block is the same on both nodes.
pub(crate) fn assert_same_blocks(one: &Node, other: &Node) {
    assert_eq!(heights(one), heights(other));
    let (x, c) = heights(one);
    for height in 0..=x {
        let block = |node: &Node| node.x().get_block_by_height(height).unwrap().id();
        assert_eq!(block(one), block(other), "X {height}");
    }
    for height in 0..=c {
        let number = format!("{height:#x}");
        for (method, params) in [
            ("evm_getBlockByNumber", json!([number, true])),
            ("evm_getBlockReceipts", json!([number])),
        ] {
            assert_eq!(call(one, method, &params), call(other, method, &params), "C {height}");
        }
    }
}

pub(crate) fn call(node: &Node, method: &str, params: &Value) -> Value {
    let mut rpc: RpcClient = node.rpc();
    rpc.call(EVM, method, params.clone()).unwrap()
}

/// `esker db verify` finds nothing.
pub(crate) fn verify(folder: &Path) {
    let mut command = Command::new(PROGRAM);
    command.args(["db", "verify", "--network", "dev", "--data-dir"]).arg(folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let reported = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && reported.ends_with("\nnothing is wrong\n"), "{reported}");
}
