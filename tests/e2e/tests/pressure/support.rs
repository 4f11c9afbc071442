//! Functions that all journeys use.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use esker_client::RpcClient;
use esker_e2e::{Node, NodeBuilder, until};
use serde_json::{Value, json};

pub(crate) const C: &str = "/ext/bc/C/rpc";
pub(crate) const X: &str = "/ext/bc/X";
pub(crate) const NAT: &str = "/ext/bc/C/nat";
/// Clients that call at the same time.
pub(crate) const CLIENTS: usize = 4;

const PROGRAM: &str = env!("CARGO_BIN_EXE_esker-e2e-node");

/// A fresh development network in a folder that is kept.
pub(crate) fn start(folder: &Path) -> Node {
    NodeBuilder::new(PROGRAM).dev().data_dir(folder).start().unwrap()
}

/// As [`start`], as fast as it gets: nothing is kept.
pub(crate) fn start_temporary() -> Node {
    NodeBuilder::new(PROGRAM).dev().temporary().start().unwrap()
}

/// Stops the node and looks at all that it wrote: the supply of the native asset is whole.
pub(crate) fn stop_and_verify(node: Node, folder: &Path) {
    assert!(node.stop().unwrap().success());
    let mut command = Command::new(PROGRAM);
    command.args(["db", "verify", "--dev", "--data-dir"]).arg(folder).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

/// Calls; the error is the message.
pub(crate) fn call(
    rpc: &mut RpcClient,
    path: &str,
    method: &str,
    params: Value,
) -> Result<Value, String> {
    rpc.call(path, method, params).map_err(|error| {
        error.rpc_message().unwrap_or_else(|| panic!("{path} {method}: {error}")).to_owned()
    })
}

/// A quantity of the C-Chain.
pub(crate) fn number(value: &Value) -> u128 {
    let text = value.as_str().unwrap_or_else(|| panic!("no quantity: {value}"));
    u128::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// Asserts that no answer was given twice.
pub(crate) fn check_distinct<'a>(ids: impl Iterator<Item = &'a String>) {
    let mut seen = BTreeSet::new();
    for id in ids {
        assert!(seen.insert(id), "{id} is the answer to two calls");
    }
}

/// Asserts that no account has a transaction in the pool that could run and does not, and that nothing waits.
pub(crate) fn check_pool_is_empty(rpc: &mut RpcClient) {
    let content = until("the pool has nothing that can run", || {
        let content = call(rpc, C, "txpool_content", json!([])).unwrap();
        content["pending"].as_object()?.is_empty().then_some(content)
    });
    if let Some((account, waiting)) = content["queued"].as_object().unwrap().iter().next() {
        let next = call(rpc, C, "eth_getTransactionCount", json!([account, "latest"])).unwrap();
        let nonces: Vec<&String> = waiting.as_object().unwrap().keys().collect();
        panic!("{account} has nonce {next} next, and {nonces:?} in queued");
    }
}
