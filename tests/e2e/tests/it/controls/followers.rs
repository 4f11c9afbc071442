//! Followers of a development network whose blocks come from controls.

use esker_e2e::Node;
use serde_json::json;

use super::x_names::refused;
use super::{FIRST, OTHER, error, receipt, result, send, start, verify};
use crate::followers::support::{assert_same, follower, heights, wait_for, writer};
use crate::support::local;

const COIN: &str = "0xde0b6b3a7640000";
const YEAR_S: u64 = 365 * 24 * 3600;

/// Blocks of every kind that controls make, the last ones in a year.
fn control(node: &Node) {
    result(node, "anvil_setBalance", json!([OTHER, COIN]));
    result(node, "anvil_setCode", json!([OTHER, "0x00"]));
    result(node, "anvil_setStorageAt", json!([OTHER, "0x1", format!("{:#066x}", 7)]));
    result(node, "anvil_impersonateAccount", json!([OTHER]));
    let tx = json!([{"from": OTHER, "to": FIRST, "value": "0x7", "gas": "0x5208"}]);
    receipt(node, &result(node, "eth_sendTransaction", tx));
    result(node, "evm_increaseTime", json!([YEAR_S]));
    result(node, "anvil_mine", json!([3, 1]));
    receipt(node, &send(node));
}

#[test]
fn blocks_of_controls_are_followed_and_joined() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, second, third] = folders.each_ref().map(|folder| folder.path());
    let node = start(first);
    control(&node);
    assert!(node.stop().unwrap().success());
    let source = writer(first).start().unwrap();
    let near = follower(second, &source.url()).start().unwrap();
    wait_for(&near, &source);
    assert_same(&source, &near);
    let joined = follower(third, &source.url()).arg("--snapshot").start().unwrap();
    wait_for(&joined, &source);
    assert_eq!(heights(&joined), heights(&source));
    // Both go on with blocks of the later time.
    receipt(&source, &send(&source));
    for node in [&near, &joined] {
        wait_for(node, &source);
        for (method, params) in [
            ("eth_getBlockByNumber", json!(["latest", true])),
            ("eth_getBalance", json!([OTHER, "latest"])),
            ("eth_getStorageAt", json!([OTHER, "0x1", "latest"])),
        ] {
            assert_eq!(result(node, method, params.clone()), result(&source, method, params));
        }
    }
    for node in [source, near, joined] {
        assert!(node.stop().unwrap().success());
    }
    folders.iter().for_each(|folder| verify(folder.path()));
}

#[test]
fn a_node_that_others_can_follow_has_no_controls() {
    let node = local().dev().temporary().arg("--api-sync-enabled").start().unwrap();
    for refusal in [
        error(&node, "evm_snapshot", json!([])),
        error(&node, "anvil_setBalance", json!([OTHER, COIN])),
        refused(&node, "revert", json!({"id": "1"})),
    ] {
        let expected =
            "a node that others can follow has no controls: start it without api-sync-enabled";
        assert_eq!(refusal, expected);
    }
}
