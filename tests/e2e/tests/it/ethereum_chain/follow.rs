//! Followers of a node that has the chain.

use std::path::Path;

use esker_e2e::{Node, NodeBuilder, until};
use serde_json::json;

use super::{
    VALUE, assert_follows, builder, eth, height, nonce, pay_on_x, receipt, send, send_each_kind,
    txs, verify, waiting,
};

fn follower(folder: &Path, source: &Node) -> NodeBuilder {
    builder(folder).args(&["--follow", &source.url()])
}

#[test]
fn followers_have_its_blocks_and_forward_its_transactions() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let source = builder(folders[0].path()).arg("--api-sync-enabled").start().unwrap();
    send_each_kind(&source);
    let node = follower(folders[1].path(), &source).start().unwrap();
    assert_follows(&node, &source);

    // Each kind, sent to the follower.
    send_each_kind(&node);
    pay_on_x(&node);
    assert_follows(&node, &source);
    // Many, as fast as the source takes them.
    let first = nonce(&source);
    for nonce in first..first + 30 {
        send(&source, &txs::transfer(nonce, VALUE));
    }
    until("the pool is empty", || (waiting(&source) == 0).then_some(()));
    assert_follows(&node, &source);

    // One that begins with the state, and one that was away.
    assert!(node.stop().unwrap().success());
    let joined = follower(folders[2].path(), &source).arg("--follow-snapshot").start().unwrap();
    assert!(joined.output().contains("joined from a snapshot"), "{}", joined.output());
    send_each_kind(&joined);
    let node = follower(folders[1].path(), &source).start().unwrap();
    assert_follows(&node, &source);
    let wanted = height(&source);
    until("the joined follower has the last block", || (height(&joined) >= wanted).then_some(()));
    let last = |node| eth(node, "eth_getBlockByNumber", json!(["latest", true]));
    assert_eq!(last(&joined), last(&source));
    for node in [joined, node, source] {
        assert!(node.stop().unwrap().success());
    }
    folders.iter().for_each(|folder| drop(verify(folder.path())));
}

#[test]
fn a_follower_refuses_what_its_source_would() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let source = builder(folders[0].path()).arg("--api-sync-enabled").start().unwrap();
    let node = follower(folders[1].path(), &source).start().unwrap();
    let hash = send(&node, &txs::transfer(0, VALUE));
    receipt(&node, &hash);
    for raw in [txs::transfer(0, VALUE + 1), txs::blob(1).in_block] {
        let refusals = [&node, &source].map(|node| {
            super::call(node, super::ETH, "eth_sendRawTransaction", json!([raw])).unwrap_err()
        });
        assert_eq!(refusals[0], refusals[1]);
    }
}
