//! Followers of a writer under load: everything that the writer has, they have.

use esker_e2e::funds::key;
use esker_e2e::{Node, Socket, until};
use serde_json::{Value, json};

use super::support::{assert_same, follower, follower_health, verify, wait_for, writer};
use crate::load::{Mover, with_load};
use crate::support::{assert_state_is_replay, wallet};

/// Transfers between the chains that a run waits for.
const MOVES: usize = 6;

/// Runs `during` while clients send on both chains and between them; returns when so many exports are accepted.
pub(super) fn under_load(node: &Node, mover: &Mover, exports: usize, during: impl FnOnce()) {
    let on_x = wallet(node, "X", key(1));
    with_load(node.address(), on_x, mover, |reports| {
        during();
        assert_eq!(reports.iter().take(exports).count(), exports);
    });
}

#[test]
fn two_followers_in_a_row_have_what_the_writer_has() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, second, third] = folders.each_ref().map(|folder| folder.path());
    let source = writer(first).start().unwrap();
    let mover = Mover::new(&source);
    let near = follower(second, &source.url()).arg("--api-sync-enabled").start().unwrap();
    // It has to catch up, through the other.
    let mut far = None;
    under_load(&source, &mover, MOVES, || {
        wait_for(&near, &source);
        let node = follower(third, &near.url()).start().unwrap();
        let mut heads = Socket::open(node.address(), "/ext/bc/C/ws").unwrap();
        let subscribe =
            json!({"jsonrpc":"2.0","id":1,"method":"evm_subscribe","params":["newHeads"]});
        heads.send(&subscribe.to_string()).unwrap();
        let _subscribed = heads.read().unwrap();
        let head: Value = serde_json::from_str(&heads.read().unwrap()).unwrap();
        let number = head["params"]["result"]["number"].as_str().unwrap().to_owned();
        let known = super::support::call(&source, "evm_getBlockByNumber", &json!([number, false]));
        assert_eq!(known["hash"], head["params"]["result"]["hash"]);
        far = Some(node);
    });
    let far = far.unwrap();
    for node in [&near, &far] {
        wait_for(node, &source);
        assert_same(&source, node);
        let mut x = node.x();
        let native = x.get_asset_description("NAT").unwrap().asset_id;
        assert_state_is_replay(&mut x, &[native]);
        // The report may be a second old.
        until("the health report says that it is at the tip", || {
            let (message, error) = follower_health(node);
            assert_eq!(error, None);
            (message["lagBundles"] == 0 && message["lagMs"] == 0).then_some(())
        });
    }
    for node in [far, near, source] {
        assert!(node.stop().unwrap().success());
    }
    [first, second, third].into_iter().for_each(verify);
}

#[test]
fn a_follower_that_is_promoted_makes_blocks() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = writer(first.path()).start().unwrap();
    let mover = Mover::new(&source);
    let node = follower(second.path(), &source.url()).start().unwrap();
    under_load(&source, &mover, 1, || ());
    wait_for(&node, &source);
    assert!(source.stop().unwrap().success());
    until("the follower misses its source", || {
        follower_health(&node).0["source"].is_null().then_some(())
    });
    assert!(node.stop().unwrap().success());

    let promoted = crate::support::local().dev().data_dir(second.path()).start().unwrap();
    under_load(&promoted, &mover, 1, || ());
    assert!(promoted.stop().unwrap().success());
    verify(second.path());
}
