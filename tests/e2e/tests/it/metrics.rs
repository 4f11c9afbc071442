//! The metrics of a running node, as Prometheus gets them.

use std::collections::BTreeMap;

use esker_e2e::{Node, Socket, until};
use serde_json::{Value, json};

use crate::support::local;

const PATH: &str = "/ext/bc/C/rpc";
/// Accounts of `esker dev`.
const ALICE: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER: &str = "0x00000000000000000000000000000000000000aa";

/// Every series and its value.
fn series(node: &Node) -> BTreeMap<String, f64> {
    let text = node.rpc().http().request("GET", "/ext/metrics", &[], b"").unwrap().text();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.rsplit_once(' '));
    pairs.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
}

fn until_series(node: &Node, name: &str, value: f64) {
    until(&format!("{name} is {value}"), || (series(node)[name] == value).then_some(()));
}

#[test]
fn a_running_node_reports_its_process_its_disk_and_its_chains() {
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let before = series(&node);
    for (name, least) in [
        ("process_cpu_seconds_total", 0.01),
        ("process_resident_memory_bytes", 10e6),
        ("esker_process_anonymous_memory_bytes", 1e6),
        ("process_virtual_memory_bytes", 100e6),
        ("process_open_fds", 10.0),
        ("process_max_fds", 64.0),
        ("process_threads", 4.0),
        ("process_start_time_seconds", 1.7e9),
        ("esker_store_size_limit_bytes", 1e9),
        ("esker_store_disk_free_bytes", 1e6),
        ("esker_store_disk_reserve_bytes", 1e6),
        ("esker_chain_last_block_timestamp_seconds{chain=\"X\"}", 1.5e9),
        ("esker_chain_last_block_timestamp_seconds{chain=\"C\"}", 1.5e9),
        ("esker_chain_last_block_gas_limit{chain=\"C\"}", 8e6),
        ("esker_log_lines_total{level=\"info\"}", 3.0),
    ] {
        let value = before.get(name).unwrap_or_else(|| panic!("no {name}"));
        assert!(*value >= least, "{name} {value}");
    }
    for name in [
        "esker_log_lines_total{level=\"error\"}",
        "esker_password_hashes_running{keys=\"users\"}",
        "esker_chain_atomic_mempool_transactions{chain=\"C\"}",
        "esker_chain_atomic_mempool_refused_total{chain=\"C\",reason=\"invalid\"}",
        "esker_chain_mempool_refused_total{chain=\"X\",reason=\"conflict\"}",
        "esker_http_websockets",
        "esker_rpc_subscriptions{chain=\"C\",kind=\"newHeads\"}",
        "esker_rpc_filters{chain=\"C\",kind=\"blocks\"}",
    ] {
        assert_eq!(before.get(name), Some(&0.0), "{name}");
    }

    // A block, and what counts it.
    let tx = json!([{"from": ALICE, "to": OTHER, "gas": "0x5208"}]);
    let hash: String = rpc.call(PATH, "eth_sendTransaction", tx).unwrap();
    until("the transaction is mined", || {
        let receipt: Value = rpc.call(PATH, "eth_getTransactionReceipt", json!([hash])).unwrap();
        (!receipt.is_null()).then_some(())
    });
    let gas = "esker_chain_gas_used_total{chain=\"C\"}";
    until_series(&node, gas, before[gas] + 21_000.0);
    let after = series(&node);
    assert_eq!(after["esker_chain_last_block_gas_used{chain=\"C\"}"], 21_000.0);
    assert!(after.contains_key("esker_chain_base_fee_wei{chain=\"C\"}"));
    let calls = r#"{endpoint="C/rpc",method="evm_sendTransaction",outcome="ok"}"#;
    assert_eq!(after[&format!("esker_http_requests_total{calls}")], 1.0);

    // Filters and subscriptions that clients keep open.
    let _filter: String = rpc.call(PATH, "eth_newBlockFilter", json!([])).unwrap();
    let mut socket = Socket::open(node.address(), "/ext/bc/C/ws").unwrap();
    socket
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}"#)
        .unwrap();
    socket.read().unwrap();
    let open = series(&node);
    assert_eq!(open["esker_http_websockets"], 1.0);
    assert_eq!(open["esker_rpc_subscriptions{chain=\"C\",kind=\"newHeads\"}"], 1.0);
    assert_eq!(open["esker_rpc_filters{chain=\"C\",kind=\"blocks\"}"], 1.0);
    let subscribed = r#"{endpoint="C/ws",method="evm_subscribe",outcome="ok"}"#;
    let subscribed = format!("esker_http_requests_total{subscribed}");
    until("the subscription is counted by its method", || {
        (series(&node).get(&subscribed) == Some(&1.0)).then_some(())
    });
    drop(socket);
    until_series(&node, "esker_http_websockets", 0.0);
    until_series(&node, "esker_rpc_subscriptions{chain=\"C\",kind=\"newHeads\"}", 0.0);
}
