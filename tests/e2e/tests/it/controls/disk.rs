//! Controls while the disk is full.

use std::time::{Duration, Instant};

use esker_e2e::disk::SmallDisk;
use esker_e2e::until;
use serde_json::json;

use super::{FIRST, OTHER, call, error, height, receipt, result, send, start, verify};

/// A disk with more than enough room for what this test writes.
const DISK: u64 = 48 << 20;

#[test]
fn controls_are_refused_on_a_full_disk() {
    let Some(disk) = SmallDisk::mount(DISK).unwrap() else { return };
    let folder = disk.path().join("data");
    let node = start(&folder);
    result(&node, "anvil_setBalance", json!([OTHER, "0x5"]));
    let id = result(&node, "evm_snapshot", json!([]));
    result(&node, "anvil_mine", json!([3]));
    let dump = result(&node, "anvil_dumpState", json!([]));
    let is_refused = || call(&node, "evm_revert", json!(["0x99"])).get("error").is_some();
    for _ in 0..2 {
        disk.fill().unwrap();
        until("controls are refused", || is_refused().then_some(()));
        let begun = Instant::now();
        for (method, params) in [
            ("anvil_setBalance", json!([OTHER, "0x6"])),
            ("anvil_addBalance", json!([OTHER, "0x6"])),
            ("anvil_setNonce", json!([OTHER, "0x6"])),
            ("anvil_setCode", json!([OTHER, "0x00"])),
            ("anvil_setStorageAt", json!([OTHER, "0x0", "0x1"])),
            ("anvil_dealERC20", json!([OTHER, OTHER, "0x1"])),
            ("anvil_setERC20Allowance", json!([OTHER, FIRST, OTHER, "0x1"])),
            ("anvil_loadState", json!([dump])),
            ("evm_mine", json!([{"timestamp": 4_000_000_000_u64}])),
            ("anvil_mine", json!([2])),
            ("hardhat_mine", json!([2])),
            ("evm_snapshot", json!([])),
            ("evm_revert", json!([id])),
            ("anvil_rollback", json!([1])),
            ("hardhat_reset", json!([])),
        ] {
            let text = error(&node, method, params);
            assert!(text.starts_with("insufficient disk space"), "{method}: {text}");
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        // Controls that write nothing work.
        assert_eq!(height(&node), 4);
        result(&node, "anvil_impersonateAccount", json!([OTHER]));
        result(&node, "evm_increaseTime", json!([50]));
        disk.free().unwrap();
        until("controls work again", || (!is_refused()).then_some(()));
    }
    result(&node, "anvil_setBalance", json!([OTHER, "0x7"]));
    assert_eq!(height(&node), 5);
    assert_eq!(result(&node, "evm_revert", json!([id])), true);
    assert_eq!(height(&node), 1);
    assert_eq!(result(&node, "eth_getBalance", json!([OTHER, "latest"])), "0x5");
    receipt(&node, &send(&node));
    assert!(node.stop().unwrap().success());
    verify(&folder);
}
