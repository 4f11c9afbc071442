//! The data folder: restarts, `db verify`, export and import, backup, rewinding.

use std::path::Path;

use esker_e2e::Node;
use serde_json::json;

use super::{
    ETH, VALUE, blocks, builder, call, command, eth, height, nonce, pay_on_x, receipt, send,
    send_each_kind, txs, verify,
};
use crate::support::esker;

fn start(folder: &Path) -> Node {
    builder(folder).args(&["--rewind-depth", "1000"]).start().unwrap()
}

/// Runs a command that must succeed.
fn done(folder: &Path, args: &[&str]) -> String {
    let (code, printed) = command(folder, args);
    assert_eq!(code, Some(0), "{args:?}: {printed}");
    printed
}

#[test]
fn waiting_transactions_and_blocks_survive_restarts_and_kills() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path());
    send_each_kind(&node);
    pay_on_x(&node);
    let before = blocks(&node);
    node.kill().unwrap();
    let supply = verify(folder.path());
    assert!(supply.contains("\nsupply of the coin of ETH: 10000 in genesis; "), "{supply}");
    let node = start(folder.path());
    assert_eq!(blocks(&node), before);
    // It can't be in a block before the one that is missing.
    let next = nonce(&node);
    let waiting = send(&node, &txs::blob(next + 1).pooled);
    assert!(node.stop().unwrap().success());
    let node = start(folder.path());
    assert!(eth(&node, "eth_getTransactionReceipt", json!([waiting])).is_null());
    send(&node, &txs::transfer(next, VALUE));
    assert_eq!(receipt(&node, &waiting)["type"], "0x3");
    assert!(node.stop().unwrap().success());
    verify(folder.path());
}

#[test]
fn its_blocks_are_exported_imported_copied_and_rewound() {
    let (folder, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [file, copy, backup] = ["blocks", "copy", "backup"].map(|name| scratch.path().join(name));
    let node = start(folder.path());
    send_each_kind(&node);
    pay_on_x(&node);
    send_each_kind(&node);
    let (before, last) = (blocks(&node), height(&node));
    assert!(node.stop().unwrap().success());
    let supply = verify(folder.path());

    let file = file.to_str().unwrap();
    done(folder.path(), &["export", file]);
    let imported = done(&copy, &["import", file]);
    assert!(imported.contains(&format!("{ETH} at height {last}")), "{imported}");
    done(folder.path(), &["backup", backup.to_str().unwrap()]);
    for copy in [&copy, &backup] {
        assert_eq!(verify(copy), supply);
        let node = start(copy);
        assert_eq!(blocks(&node), before);
        send_each_kind(&node);
        assert!(node.stop().unwrap().success());
    }

    // A block that was altered is refused, and what came before it is kept.
    let text = std::fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (altered, other) = (scratch.path().join("altered"), scratch.path().join("other"));
    let (whole, cut) = lines.split_at(lines.len() - 1);
    let half = &cut[0][..cut[0].len() / 2];
    std::fs::write(&altered, format!("{}\n{half}\n", whole.join("\n"))).unwrap();
    let (code, printed) = command(&other, &["import", altered.to_str().unwrap()]);
    assert_ne!(code, Some(0), "{printed}");
    assert!(printed.contains(&lines.len().to_string()), "the line is named: {printed}");
    verify(&other);

    done(folder.path(), &["db", "rewind", "--to-height", "0", "--yes"]);
    let genesis = verify(folder.path());
    assert!(genesis.contains("10000 in genesis; 10000 on ETH; "), "{genesis}");
    done(folder.path(), &["import", file]);
    assert_eq!(verify(folder.path()), supply);
    let node = start(folder.path());
    assert_eq!(blocks(&node), before);
}

#[test]
fn a_folder_requires_the_rules_that_it_was_made_with() {
    let (folder, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert!(start(folder.path()).stop().unwrap().success());
    let mut content = super::network_content();
    let chain = &mut content["esker"]["chains"][0];
    chain.as_object_mut().unwrap().remove("rules");
    let other = scratch.path().join("other.json");
    std::fs::write(&other, content.to_string()).unwrap();
    let refused = crate::support::local().network(&other).data_dir(folder.path()).start();
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("exit status: 2") && refused.contains("ETH"), "{refused}");
    let args = ["db", "verify", "--network", other.to_str().unwrap(), "--data-dir"];
    let (code, printed) = esker(&args, &[folder.path()]);
    assert_eq!(code, Some(2), "{printed}");
    let node = start(folder.path());
    assert_eq!(call(&node, ETH, "eth_blockNumber", json!([])).unwrap(), "0x0");
}
