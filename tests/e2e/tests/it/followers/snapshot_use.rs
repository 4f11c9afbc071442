//! Joins as operators ask for them: with wrong settings, into folders in use, beside other work of the source.

use esker_client::CallError;
use esker_e2e::{Proxy, until};
use serde_json::{Value, json};

use super::access::start;
use super::crowd::{Crowd, CrowdSize, SOME, assert_same_state, move_funds};
use super::load::under_load;
use super::snapshot::joiner;
use super::support::{follower, follower_health, heights, verify, wait_for, writer};
use crate::load::Mover;
use crate::support::local;

#[test]
fn settings_without_a_source_of_snapshots_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let reason = "follow-snapshot: only together with follow, of an Esker node";
    for (args, text) in [
        (&["node", "--network", "dev", "--snapshot"][..], reason),
        (&["node", "--follow", "avalanchego+http://127.0.0.1:1", "--snapshot"], reason),
        (&["dev", "--snapshot"], reason),
        (
            &["dev", "--follow", "http://127.0.0.1:1", "--snapshot"],
            "esker dev makes its own blocks",
        ),
    ] {
        let (code, message) = start(args, folder.path());
        assert_eq!(code, Some(2), "{args:?}: {message}");
        assert!(message.contains(text), "{args:?}: {message}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_of_another_network_is_not_joined() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [first, second] = folders.each_ref().map(|folder| folder.path());
    let source = writer(first).start().unwrap();
    // A node of the local network, without blocks.
    assert!(local().data_dir(second).start().unwrap().stop().unwrap().success());
    let error = joiner(second, &source.url()).start().unwrap_err().to_string();
    assert!(
        error.contains(
            "the data folder belongs to network \"local\", this start is of network \"dev\""
        ),
        "{error}"
    );
    // It is still what it was.
    assert!(local().data_dir(second).start().unwrap().stop().unwrap().success());
}

#[test]
fn a_folder_that_joins_is_in_use_and_a_signal_ends_it() {
    let crowd = Crowd::new(CrowdSize::USUAL);
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = crowd.source(first.path());
    let (_proxy, node) = crowd.held_join(second.path(), &source);
    let error = crowd.joiner(second.path(), &source.url()).start().unwrap_err().to_string();
    assert!(error.contains("is in use by"), "{error}");
    let (code, text) = crowd.run(&["db", "verify"], second.path());
    assert!(code == Some(1) && text.contains("is in use by"), "{code:?}: {text}");
    assert!(node.stop().unwrap().success());
    let node = crowd.joiner(second.path(), &source.url()).start().unwrap();
    wait_for(&node, &source);
    assert_same_state(&source, &node);
    assert!(node.stop().unwrap().success());
    crowd.verify(second.path());
}

#[test]
fn a_joined_follower_needs_a_source_with_the_next_bundles() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, second, third] = folders.each_ref().map(|folder| folder.path());
    let source = writer(first).start().unwrap();
    let mover = Mover::new(&source);
    let node = joiner(second, &source.url()).start().unwrap();
    wait_for(&node, &source);
    let known = heights(&node);
    assert!(node.stop().unwrap().success());
    under_load(&source, &mover, 1, || ());
    let later = joiner(third, &source.url()).start().unwrap();
    wait_for(&later, &source);
    let node = follower(second, &later.url()).args(&["--snapshot", "--follow-max-lag", "1s"]);
    let node = node.start().unwrap();
    let error = until("the health check names the reason", || follower_health(&node).1);
    assert!(error.contains("410") && error.contains("join from a snapshot"), "{error}");
    assert_eq!(heights(&node), known);
    assert!(node.stop().unwrap().success());
    let node = follower(second, &format!("{},{}", later.url(), source.url())).start().unwrap();
    wait_for(&node, &source);
    assert!(node.stop().unwrap().success());
    verify(second);
}

#[test]
fn a_source_without_bundles_is_passed_over_while_another_has_a_snapshot() {
    let crowd = Crowd::new(CrowdSize { accounts: 10, contracts: 1, outputs: 1 });
    let folders = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let [first, second, third, fourth] = folders.each_ref().map(|folder| folder.path());
    let empty = crowd.writer(first).start().unwrap();
    let source = crowd.source(second);
    let sources = format!("{},{}", empty.url(), source.url());
    let node = crowd.joiner(third, &sources).start().unwrap();
    assert!(node.output().contains("joined from a snapshot"), "{}", node.output());
    wait_for(&node, &source);
    assert_same_state(&source, &node);
    let node = crowd.joiner(fourth, &empty.url()).start().unwrap();
    let text = "no snapshot yet; following from the beginning";
    assert!(node.output().contains(text), "{}", node.output());
    assert_eq!(heights(&node), (0, 0));
}

#[test]
fn a_join_without_a_source_leaves_an_empty_folder() {
    let crowd = Crowd::new(CrowdSize { accounts: 10, contracts: 1, outputs: 1 });
    let folder = tempfile::tempdir().unwrap();
    let node = crowd.joiner(folder.path(), "http://127.0.0.1:1").spawn().unwrap();
    until("the source can't be reached", || {
        node.output().contains("no snapshot from the source; trying the next").then_some(())
    });
    node.kill().unwrap();
    let (code, text) = crowd.run(&["db", "verify"], folder.path());
    assert!(code == Some(2) && text.contains("no node data in "), "{code:?}: {text}");
    // It may as well begin with the genesis.
    let node = crowd.writer(folder.path()).start().unwrap();
    assert_eq!(heights(&node), (0, 0));
}

#[test]
fn a_read_only_follower_joins() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = writer(first.path()).start().unwrap();
    let mover = Mover::new(&source);
    under_load(&source, &mover, 1, || ());
    let node = joiner(second.path(), &source.url()).arg("--read-only").start().unwrap();
    assert!(node.output().contains("joined from a snapshot"), "{}", node.output());
    wait_for(&node, &source);
    let accounts: Vec<String> =
        source.rpc().call(crate::load::EVM, "evm_accounts", json!([])).unwrap();
    let transfer = json!([{ "from": accounts[0], "to": accounts[1], "value": "0x1" }]);
    let refused = node.rpc().call::<Value>(crate::load::EVM, "evm_sendTransaction", transfer);
    let Err(CallError::Rpc { message, .. }) = refused else { panic!("{refused:?}") };
    assert!(message.contains("this node is read-only"), "{message}");
}

#[test]
fn a_source_sends_a_snapshot_while_it_is_backed_up() {
    let crowd = Crowd::new(CrowdSize::USUAL);
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, second, third] = folders.each_ref().map(|folder| folder.path());
    let source = crowd.writer(first).arg("--api-admin-enabled").start().unwrap();
    move_funds(&source);
    let proxy = Proxy::start(source.address()).unwrap();
    proxy.hold_after(SOME);
    let node = crowd.writer(second).args(&["--follow", &proxy.url(), "--snapshot"]);
    let node = node.spawn().unwrap();
    until("a part of the snapshot was sent", || (proxy.held() > 0).then_some(()));
    let copy = third.join("copy");
    let params = json!({ "path": copy, "bytesPerSecond": "0" });
    let _written: Value = source.rpc().call("/ext/admin", "admin.backup", params).unwrap();
    move_funds(&source);
    proxy.release();
    let node = node.wait().unwrap();
    assert!(!node.output().contains("trying the next"), "{}", node.output());
    wait_for(&node, &source);
    assert_same_state(&source, &node);
    assert!(node.stop().unwrap().success());
    crowd.verify(second);
    crowd.verify(&copy);
}
