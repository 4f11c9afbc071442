//! Development networks that begin with outputs of another one, as programs.

use std::path::Path;

use esker_e2e::Node;
use esker_e2e::disk::SmallDisk;
use serde_json::{Value, json};

use crate::fixtures::x;
use crate::support::{esker, local};

/// The second account for development.
const PAYER: &str = "X-local1cjzphr67dug28rw9ueewrqllmxlqe5f0unaxss";
/// An address whose key nobody has, and another one.
const OWNER: &str = "X-local14242424242424242424242424242424230tmpf";
const OTHER: &str = "X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u";
const UNIT: u64 = 1_000_000_000;

/// A source where the owner has five units and the right to mint an asset; the ID of the asset.
fn source() -> (Node, String) {
    let node = local().dev().start().unwrap();
    for address in [PAYER, OWNER] {
        x(&node, "dev.impersonateAddress", json!({"address": address}));
    }
    let sent = json!({"from": [PAYER], "to": OWNER, "assetID": "AVAX", "amount": 5 * UNIT});
    x(&node, "xvm.send", sent);
    let minters = json!([{"minters": [OWNER], "threshold": 1}]);
    let made = json!({"from": [PAYER], "name": "Taken", "symbol": "TKN", "minterSets": minters});
    let asset = x(&node, "xvm.createVariableCapAsset", made)["assetID"].take();
    let asset = asset.as_str().unwrap().to_owned();
    x(&node, "xvm.mint", json!({"from": [OWNER], "assetID": asset, "amount": 100, "to": OWNER}));
    (node, asset)
}

fn balance(node: &Node, address: &str, asset: &str) -> u64 {
    let found = x(node, "xvm.getBalance", json!({"address": address, "assetID": asset}));
    found["balance"].as_str().unwrap().parse().unwrap()
}

fn fork(folder: &Path, url: &str) -> Node {
    let reserve = "--store-disk-reserve";
    let flags = ["--fork-x", url, "--fork-x-address", OWNER, reserve, "0"];
    local().dev().data_dir(folder).args(&flags).start().unwrap()
}

fn verify(folder: &Path) {
    let (code, output) = esker(&["db", "verify", "--dev", "--data-dir"], &[folder]);
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn a_fork_spends_what_it_took_over_and_is_verified_without_its_source() {
    let (source, asset) = source();
    let folder = tempfile::tempdir().unwrap();
    let node = fork(folder.path(), &source.url());
    assert_eq!(
        (balance(&node, OWNER, "AVAX"), balance(&node, OWNER, &asset)),
        (5 * UNIT - 1_000_000, 100)
    );
    let (code, status) = esker(&["status", "--url", &node.url()], &[]);
    assert_eq!(code, Some(0), "{status}");
    assert!(status.contains("taken over") && status.contains("1 assets, 1 addresses"), "{status}");
    x(&node, "dev.impersonateAddress", json!({"address": OWNER}));
    x(&node, "xvm.mint", json!({"from": [OWNER], "assetID": asset, "amount": 7, "to": OTHER}));
    x(&node, "xvm.send", json!({"from": [OWNER], "assetID": asset, "amount": 3, "to": OTHER}));
    let to = OWNER.replace("X-", "C-");
    let exported = json!({"from": [OWNER], "assetID": "AVAX", "amount": 2 * UNIT, "to": to});
    x(&node, "xvm.export", exported);
    let account = "0x00000000000000000000000000000000000000aa";
    let import = json!({"sourceChain": "X", "to": account});
    let _tx: Value = node.rpc().call("/ext/bc/C/nat", "nat.import", import).unwrap();
    let held = |node: &Node| {
        (balance(node, OWNER, "AVAX"), balance(node, OWNER, &asset), balance(node, OTHER, &asset))
    };
    let before = held(&node);
    assert_eq!(before, (3 * UNIT - 4_000_000, 97, 10));
    // It goes on after a crash, without its source.
    node.kill().unwrap();
    let url = source.url();
    assert!(source.stop().unwrap().success());
    let node = fork(folder.path(), &url);
    assert_eq!(held(&node), before);
    assert!(node.stop().unwrap().success());
    verify(folder.path());
    let node = local().dev().data_dir(folder.path()).start().unwrap();
    assert_eq!(held(&node), before);
    assert!(node.stop().unwrap().success());
}

#[test]
fn a_full_disk_at_the_first_start_leaves_nothing() {
    let Some(disk) = SmallDisk::mount(48 << 20).unwrap() else { return };
    let (source, asset) = source();
    let folder = disk.path().join("data");
    disk.fill().unwrap();
    let url = source.url();
    let flags = ["--fork-x", &url, "--fork-x-address", OWNER, "--store-disk-reserve", "0"];
    let refused = local().dev().data_dir(&folder).args(&flags).start();
    assert!(refused.is_err(), "there is no room");
    disk.free().unwrap();
    let node = fork(&folder, &source.url());
    assert_eq!(balance(&node, OWNER, &asset), 100);
    assert!(node.stop().unwrap().success());
    verify(&folder);
    assert!(source.stop().unwrap().success());
}
