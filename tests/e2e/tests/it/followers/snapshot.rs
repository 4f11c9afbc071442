//! Followers that join from a snapshot of their source's state.

use std::path::Path;
use std::process::{Command, Stdio};

use esker_e2e::funds::key;
use esker_e2e::{Node, NodeBuilder, Proxy, until};
use serde_json::json;

use super::load::under_load;
use super::support::{call, follower, heights, verify, wait_for, writer};
use crate::load::Mover;
use crate::support::{PROGRAM, local, wallet};

/// A follower that begins with a snapshot.
fn joiner(folder: &Path, sources: &str) -> NodeBuilder {
    follower(folder, sources).args(&["--snapshot", "--api-sync-enabled"])
}

/// What a client reads of the state is the same on both nodes, and so are the last blocks.
fn assert_same_state(one: &Node, other: &Node) {
    assert_eq!(heights(one), heights(other));
    let (x, _) = heights(one);
    let block = |node: &Node| node.x().get_block_by_height(x).unwrap().id();
    assert_eq!(block(one), block(other));
    let last = |node| call(node, "evm_getBlockByNumber", &json!(["latest", true]));
    assert_eq!(last(one), last(other));
    let receipts = |node| call(node, "evm_getBlockReceipts", &json!(["latest"]));
    assert_eq!(receipts(one), receipts(other));
    for account in call(one, "evm_accounts", &json!([])).as_array().into_iter().flatten() {
        for method in ["evm_getBalance", "evm_getTransactionCount"] {
            let read = |node| call(node, method, &json!([account, "latest"]));
            assert_eq!(read(one), read(other), "{method} {account}");
        }
    }
    let utxos = |node: &Node| {
        let mut ids: Vec<_> =
            wallet(node, "X", key(1)).coins().iter().map(|utxo| utxo.utxo_id).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(utxos(one), utxos(other));
}

#[test]
fn a_follower_that_joins_under_load_has_the_state_of_its_source() {
    let folders = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let [first, second, third, fourth] = folders.each_ref().map(|folder| folder.path());
    let source = writer(first).start().unwrap();
    let mover = Mover::new(&source);
    under_load(&source, &mover, 2, || ());
    let mut joined = None;
    under_load(&source, &mover, 3, || {
        joined = Some(joiner(second, &source.url()).start().unwrap());
    });
    let node = joined.unwrap();
    assert!(node.output().contains("joined from a snapshot"), "{}", node.output());
    wait_for(&node, &source);
    assert_same_state(&source, &node);
    // Restarted, it goes on; the setting has no effect any more.
    assert!(node.stop().unwrap().success());
    verify(second);
    let node = joiner(second, &source.url()).start().unwrap();
    assert!(node.output().contains("follow-snapshot has no effect"), "{}", node.output());
    under_load(&source, &mover, 1, || ());
    wait_for(&node, &source);
    assert_same_state(&source, &node);
    // It is a source itself: of a snapshot, but not of the bundles before its own.
    let far = joiner(third, &node.url()).start().unwrap();
    wait_for(&far, &source);
    assert_same_state(&source, &far);
    let late = follower(fourth, &format!("{},{}", node.url(), source.url())).start().unwrap();
    until("a follower from the beginning leaves it", || {
        late.output().contains("410").then_some(())
    });
    wait_for(&late, &source);
    assert_same_state(&source, &late);
    for node in [late, far, node, source] {
        assert!(node.stop().unwrap().success());
    }
    [first, second, third, fourth].into_iter().for_each(verify);
}

#[test]
fn a_source_without_bundles_is_followed_from_the_beginning() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = local().network("dev").data_dir(first.path()).arg("--api-sync-enabled");
    let source = source.start().unwrap();
    let node = joiner(second.path(), &source.url()).start().unwrap();
    let output = node.output();
    assert_eq!(heights(&node), heights(&source));
    // The development accounts are funded by the first blocks, which may be there already.
    assert!(
        output.contains("no snapshot yet; following from the beginning")
            || output.contains("joined from a snapshot"),
        "{output}"
    );
}

/// Runs a command of the program on a folder; its exit code and outputs.
fn run(folder: &Path, command: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(PROGRAM);
    program.args(command).args(["--network", "dev", "--data-dir"]).arg(folder);
    let output = program.stdin(Stdio::null()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn an_unfinished_snapshot_is_no_state() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = writer(first.path()).start().unwrap();
    let mover = Mover::new(&source);
    under_load(&source, &mover, 1, || ());
    let proxy = Proxy::start(source.address()).unwrap();
    proxy.cut_after(4_000);
    let mut joining = start_unready(second.path(), &proxy.url());
    until("a snapshot was begun", || {
        joining.output().contains("no snapshot from the source").then_some(())
    });
    joining.kill();
    let copy = first.path().join("copy");
    let copy = copy.to_str().unwrap();
    for command in [&["node"][..], &["db", "verify"], &["backup", copy]] {
        let (code, text) = run(second.path(), command);
        assert_eq!(code, Some(2), "{command:?}: {text}");
        assert!(text.contains("the snapshot was not completed"), "{command:?}: {text}");
    }
    let node = joiner(second.path(), &source.url()).start().unwrap();
    wait_for(&node, &source);
    assert_same_state(&source, &node);
    assert!(node.stop().unwrap().success());
    verify(second.path());
}

/// A joining node, which is not waited for.
#[derive(Debug)]
struct Unready {
    child: std::process::Child,
    log: std::path::PathBuf,
}

impl Unready {
    fn output(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn kill(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }

    /// Where it answers while it joins.
    fn address(&self) -> std::net::SocketAddr {
        until("the joining node answers", || {
            let output = self.output();
            let (_, rest) = output.split_once("answering while joining")?;
            let (_, rest) = rest.split_once("http=")?;
            rest.split_whitespace().next()?.parse().ok()
        })
    }
}

impl Drop for Unready {
    fn drop(&mut self) {
        self.kill();
    }
}

fn start_unready(folder: &Path, source: &str) -> Unready {
    let log = folder.with_extension("output");
    let output = std::fs::File::create(&log).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["node", "--network", "dev", "--http-port", "0", "--snapshot"]);
    command.args(["--follow", source, "--follow-idle-timeout", "3s", "--data-dir"]).arg(folder);
    command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
    Unready { child: command.spawn().unwrap(), log }
}
