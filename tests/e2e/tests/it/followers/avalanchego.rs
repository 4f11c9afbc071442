//! A node that follows AvalancheGo, over the stand-in with the recorded chains.

use std::path::Path;
use std::process::{Command, Stdio};

use esker_avalanchego::Chain;
use esker_e2e::avalanchego::{Recording, StandIn};
use esker_e2e::{Node, NodeBuilder, until};
use serde_json::{Value, json};

use super::support::{call, follower_health, heights};
use crate::support::PROGRAM;

fn follower(recording: &Recording, folder: &Path, source: &str) -> NodeBuilder {
    let node = NodeBuilder::new(PROGRAM).network(&recording.network).data_dir(folder);
    node.args(&["--follow", source, "--follow-max-lag", "2s"])
}

/// The recorded heights of X and C.
fn recorded(recording: &Recording) -> (u64, u64) {
    let height = |chain: &str| {
        let text = recording.state[chain]["height"].as_str().unwrap();
        text.parse().unwrap()
    };
    (height("X"), height("C"))
}

fn wait(node: &Node, wanted: (u64, u64)) {
    until(&format!("the follower reaches {wanted:?}"), || (heights(node) == wanted).then_some(()));
}

fn verify(recording: &Recording, folder: &Path) {
    let mut command = Command::new(PROGRAM);
    command.args(["db", "verify", "--network", &recording.network, "--data-dir"]).arg(folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let reported = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && reported.ends_with("\nnothing is wrong\n"), "{reported}");
}

#[test]
fn the_recorded_chains_are_followed_and_served() {
    for recording in &Recording::all() {
        let folder = tempfile::tempdir().unwrap();
        let stand_in = StandIn::start(recording);
        let node = follower(recording, folder.path(), &stand_in.url()).start().unwrap();
        stand_in.show(Chain::X, 5);
        until("X waits for what P exports", || (heights(&node).0 > 0).then_some(()));
        stand_in.show_all();
        wait(&node, recorded(recording));
        let number = format!("{:#x}", recorded(recording).1);
        let block = call(&node, "eth_getBlockByNumber", &json!([number, false]));
        assert_eq!(block["stateRoot"], recording.state["C"]["stateRoot"]);
        assert_eq!(block["hash"], recording.state["C"]["lastAcceptedInner"]);
        let x = node.x().get_block_by_height(recorded(recording).0).unwrap();
        assert_eq!(x.id().to_string(), recording.state["X"]["lastAcceptedInner"]);
        until("the follower is healthy", || {
            let (message, error) = follower_health(&node);
            (error.is_none() && message["source"] == stand_in.url().as_str()).then_some(())
        });
        assert!(node.stop().unwrap().success());
        verify(recording, folder.path());
    }
}

#[test]
fn a_killed_follower_and_a_source_that_restarts_go_on() {
    let recording = &Recording::all()[0];
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = StandIn::start(recording);
    let url = stand_in.url();
    for part in 1..=4usize {
        let node = follower(recording, folder.path(), &url).start().unwrap();
        for chain in Chain::ALL {
            stand_in.show(chain, recording.of(chain).len() * part / 5);
        }
        let before = heights(&node);
        until("some blocks are taken", || (heights(&node) > before || part > 1).then_some(()));
        node.kill().unwrap();
        verify(recording, folder.path());
    }
    let node = follower(recording, folder.path(), &url).start().unwrap();
    stand_in.stop();
    until("the health check misses the source", || {
        follower_health(&node).1.filter(|error| error.contains("behind for"))
    });
    stand_in.restart();
    stand_in.show_all();
    wait(&node, recorded(recording));
    assert!(node.stop().unwrap().success());
    verify(recording, folder.path());
}

#[test]
fn a_source_that_contradicts_is_a_fault() {
    let recording = &Recording::all()[0];
    let folder = tempfile::tempdir().unwrap();
    let stand_in = StandIn::start(recording);
    stand_in.show_all();
    stand_in.change(Chain::X, |containers| drop(containers.remove(4)));
    let node = follower(recording, folder.path(), &stand_in.url()).start().unwrap();
    let error = until("the health check names the gap", || {
        follower_health(&node).1.filter(|error| error.contains("container 4"))
    });
    assert!(error.contains("its block has height 6, expected 5"), "{error}");
    let (x, _) = heights(&node);
    assert!(x <= 4, "{x}");
}

#[test]
fn transactions_go_to_the_followed_node() {
    let recording = &Recording::all()[0];
    let folder = tempfile::tempdir().unwrap();
    let stand_in = StandIn::start(recording);
    let node =
        follower(recording, folder.path(), &stand_in.url()).arg("--read-only").start().unwrap();
    let sent: Result<Value, _> =
        node.rpc().call("/ext/bc/C/rpc", "evm_sendRawTransaction", json!(["0x00"]));
    let refused = sent.unwrap_err().to_string();
    assert_eq!(refused, "this node is read-only: send transactions to another node");
}
