//! The controls on the X-Chain's endpoint.

use esker_client::CallError;
use esker_e2e::Node;
use esker_e2e::funds::funded;
use serde_json::{Value, json};

use super::snapshots::{see, send_x};
use super::{height, last_time, receipt, result, send};
use crate::support::{local, now_s, wallet};

fn x(node: &Node, method: &str, params: Value) -> Value {
    node.rpc().call("/ext/bc/X", &format!("dev.{method}"), params).unwrap()
}

pub(super) fn refused(node: &Node, method: &str, params: Value) -> String {
    match node.rpc().call::<Value>("/ext/bc/X", &format!("dev.{method}"), params) {
        Err(CallError::Rpc { message, .. }) => message,
        other => panic!("{method}: {other:?}"),
    }
}

#[test]
fn both_endpoints_have_the_same_snapshots() {
    let node = local().dev().start().unwrap();
    let wallet = wallet(&node, "X", funded());
    assert_eq!(x(&node, "reset", json!({})), json!({}));
    receipt(&node, &send(&node));
    let seen = see(&node);
    assert_eq!(x(&node, "snapshot", json!({})), json!({"id": "1"}));
    send_x(&node, &wallet);
    assert_eq!(result(&node, "evm_snapshot", json!([])), "0x2");
    assert_eq!(x(&node, "mine", json!({"blocks": "3"})), json!({}));
    assert_eq!(x(&node, "mine", json!({})), json!({}));
    assert_eq!(height(&node), 5);
    assert_eq!(x(&node, "revert", json!({"id": "2"})), json!({"success": true}));
    assert_eq!(height(&node), 1);
    assert_eq!(x(&node, "revert", json!({"id": 2})), json!({"success": false}));
    assert_eq!(result(&node, "evm_revert", json!(["0x1"])), true);
    assert_eq!(see(&node), seen);
    send_x(&node, &wallet);
    assert_eq!(x(&node, "reset", json!({})), json!({}));
    assert_eq!(height(&node), 0);
    assert_eq!(x(&node, "snapshot", json!({})), json!({"id": "3"}));
}

#[test]
fn both_endpoints_have_the_same_clock() {
    let node = local().dev().start().unwrap();
    let time = |reply: &Value| reply["timestamp"].as_str().unwrap().parse::<u64>().unwrap();
    let now = now_s();
    assert!((now..now + 60).contains(&time(&x(&node, "getTime", json!({})))));
    let moved = time(&x(&node, "increaseTime", json!({"seconds": "100000"})));
    assert!((now + 100_000..now + 100_060).contains(&moved));
    assert_eq!(time(&x(&node, "setTime", json!({"timestamp": 4_000_000_000_u64}))), 4_000_000_000);
    x(&node, "mine", json!({"blocks": 2, "interval": "1000"}));
    let last = last_time(&node);
    assert!((4_000_002_000..4_000_002_060).contains(&last), "{last}");
    for (method, params, text) in [
        ("setTime", json!({"timestamp": "5"}), "is lower than previous block's timestamp"),
        ("setTime", json!({"timestamp": "253370764801"}), "is too late"),
        ("increaseTime", json!({"seconds": "18446744073709551615"}), "is too late"),
        ("increaseTime", json!({"seconds": "-1"}), "couldn't unmarshal an argument"),
        ("mine", json!({"blocks": "100001"}), "cannot mine 100001 blocks at once"),
        ("mine", json!({"blocks": "2", "interval": "18446744073709551615"}), "is too late"),
        ("revert", json!({"id": "first"}), "couldn't unmarshal an argument"),
    ] {
        let refusal = refused(&node, method, params.clone());
        assert!(refusal.contains(text), "{method} {params}: {refusal}");
    }
    assert!((last..last + 60).contains(&time(&x(&node, "getTime", json!({})))));
}

#[test]
fn other_networks_have_none() {
    let node = local().start().unwrap();
    assert_eq!(refused(&node, "snapshot", json!({})), "rpc: can't find service \"dev.Snapshot\"");
}
