//! Followers among the validators' peers, over real sockets of this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use esker_chain::{ChainMachine as _, Engine as _, Role};
use esker_storage::{KvStore, MemoryStore};
use esker_validators::{ValidatorConfig, ValidatorEngine as _, ValidatorKey, journal};

use crate::tests::loopback::{Node, configs, until};

/// A follower of these validators, with a key of its own, which they know.
fn follower_config(folder: &Path, validators: &mut [ValidatorConfig]) -> ValidatorConfig {
    let key = ValidatorKey::from_bytes(&[77; 32]);
    for config in validators.iter_mut() {
        config.followers = vec![key.public_key()];
    }
    ValidatorConfig {
        folder: folder.join("follower"),
        key,
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        is_new_key: false,
        ..validators[0].clone()
    }
}

fn store() -> Arc<dyn KvStore> {
    Arc::new(MemoryStore::new())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_takes_what_is_decided_passes_transactions_on_and_never_votes() {
    let folder = tempfile::tempdir().unwrap();
    let mut configs = configs(folder.path(), 4);
    let config = follower_config(folder.path(), &mut configs);
    let stores: Vec<_> = (0..4).map(|_| store()).collect();
    let start = |node: usize| Node::start(configs[node].clone(), Arc::clone(&stores[node]));
    let mut nodes: Vec<Node> = (0..4).map(start).collect();
    let kept = store();
    let follower = Node::start(config.clone(), Arc::clone(&kept));
    until("it is connected to all validators", || follower.engine.status().peers == 4).await;
    until("they count it as a follower", || {
        nodes
            .iter()
            .all(|node| (node.engine.stats().followers, node.engine.status().peers) == (1, 3))
    })
    .await;
    assert_eq!(follower.engine.status().role, Role::Follower);
    nodes[0].toy.set(1, 10);
    until("it has what they decide", || follower.toy.get(1) == Some(10)).await;
    follower.toy.set(2, 20);
    until("they decide what it was sent", || {
        nodes.iter().chain([&follower]).all(|node| node.toy.get(2) == Some(20))
    })
    .await;
    assert!(!follower.engine.stats().votes);

    // Two of four do not decide with it.
    for node in nodes.split_off(2) {
        node.stop().await;
    }
    follower.toy.set(3, 30);
    until("the others know it", || nodes.iter().all(|node| node.toy.queue.lock().len() == 1)).await;
    assert!(nodes.iter().all(|node| node.toy.get(3).is_none()), "no quorum without validators");

    // It restarts where it was.
    let (height, id) = follower.machine.last_final();
    follower.stop().await;
    let follower = Node::start(config, kept);
    assert_eq!(follower.machine.last_final(), (height, id));
    nodes.push(start(2));
    until("three decide again, and it follows", || {
        nodes.iter().chain([&follower]).all(|node| node.toy.get(3) == Some(30))
    })
    .await;
    assert!(!follower.engine.stats().votes);
    follower.stop().await;
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_is_not_let_in_and_a_folder_with_votes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut configs = configs(folder.path(), 1);
    let config = follower_config(folder.path(), &mut configs);
    let node = Node::start(configs[0].clone(), store());
    // The stranger thinks that it is named.
    let key = ValidatorKey::from_bytes(&[78; 32]);
    let stranger = ValidatorConfig {
        followers: vec![key.public_key()],
        folder: folder.path().join("stranger"),
        key: key.clone(),
        ..config.clone()
    };
    let stranger = Node::start(stranger, store());
    let follower = Node::start(config.clone(), store());
    node.toy.set(1, 1);
    until("the follower has what is decided", || follower.toy.get(1) == Some(1)).await;
    until("the follower is counted", || follower.engine.status().peers == 1).await;
    assert_eq!(stranger.engine.status().peers, 0);
    assert_eq!(stranger.machine.last_final().0, 0);
    // Each counts its peers once a second.
    until("the validator counts it", || node.engine.stats().followers == 1).await;
    stranger.stop().await;
    follower.stop().await;

    // A key that is not named, and the folder of a validator.
    let unnamed = ValidatorConfig { key, ..config.clone() };
    let refused = Node::start(unnamed.clone(), store()).running.await.unwrap().unwrap_err();
    let text = format!("{} is not a validator of this network", unnamed.key.public_key());
    assert_eq!(refused.to_string(), text);
    let voted = ValidatorConfig { folder: folder.path().join("voted"), ..config };
    journal::begin(&voted.folder, &configs[0].key.public_key()).unwrap();
    let refused = Node::start(voted, store()).running.await.unwrap().unwrap_err().to_string();
    let text = format!("has the votes of another validator, {}", configs[0].key.public_key());
    assert!(refused.ends_with(&text), "{refused}");
    node.stop().await;
}
