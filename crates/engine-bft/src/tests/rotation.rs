//! Changes of the validators over real sockets of this machine.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{ChainMachine, Engine, Role};
use esker_storage::{KvStore, MemoryStore, StorageError, StorageResult};
use esker_validators::{
    ChangeLog, MemoryChangeLog, ValidatorAddress, ValidatorConfig, ValidatorEngine as _,
    ValidatorPublicKey,
};

use crate::ChangeHistory;
use crate::tests::loopback::{Node, PATIENCE, configs, until};

fn store() -> Arc<dyn KvStore> {
    Arc::new(MemoryStore::new())
}

/// Sends writes until the network is at a height; all go to the first node.
async fn drive(nodes: &[&Node], height: u64) {
    drive_to(nodes, height, u64::MAX).await;
}

/// As [`drive`]; while others are behind, the first node does not go on far beyond `most`.
async fn drive_to(nodes: &[&Node], height: u64, most: u64) {
    let first = nodes[0];
    until(&format!("the network is at {height}"), || {
        let last = first.machine.last_final().0;
        if last < most {
            first.toy.set(1_000 + last, last);
        }
        nodes.iter().all(|node| node.machine.last_final().0 >= height)
    })
    .await;
}

fn members(configs: &[ValidatorConfig]) -> Vec<(ValidatorPublicKey, ValidatorAddress)> {
    let of = |config: &ValidatorConfig| {
        (config.key.public_key(), config.listen.to_string().parse().unwrap())
    };
    configs.iter().map(of).collect()
}

async fn agree(nodes: &[&Node], height: u64, set: &[ValidatorConfig]) {
    for node in nodes {
        node.engine.approve_change(height, members(set)).unwrap();
    }
    until("the change is agreed", || {
        nodes.iter().all(|node| node.engine.change_status().unwrap().agreed.is_some())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_validators_become_five_and_four_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut configs = configs(folder.path(), 5);
    let first: Vec<_> = members(&configs[..4]);
    for config in &mut configs {
        config.validators = first.clone();
    }
    let stores: Vec<_> = (0..5).map(|_| store()).collect();
    let start = |node: usize| Node::start(configs[node].clone(), Arc::clone(&stores[node]));
    let (a, b, c) = (start(0), start(1), start(2));
    let fourth = start(3);
    drive(&[&a, &b, &c, &fourth], 3).await;

    // Nobody knows the fifth yet.
    let stranger = start(4);
    let error = stranger.running.await.unwrap().unwrap_err().to_string();
    let text = format!("{} is not a validator of this network", configs[4].key.public_key());
    assert_eq!(error, text);

    // The fourth is down while the others agree.
    fourth.stop().await;
    let height = a.machine.last_final().0 + 40;
    agree(&[&a, &b, &c], height, &configs).await;
    let documents = a.engine.changes();
    assert_eq!(documents.len(), 1);
    configs[4].given_changes = documents.clone();
    let start = |node: usize| Node::start(configs[node].clone(), Arc::clone(&stores[node]));
    let fifth = start(4);
    drive(&[&a, &b, &c, &fifth], height + 5).await;
    assert_eq!(fifth.engine.stats().validators, 5);
    assert_eq!(fifth.engine.status().role, Role::Validator);
    until("the fifth votes and proposes", || fifth.engine.stats().votes).await;
    fifth.toy.set(1, 7);
    until("the fifth's write is final", || a.toy.get(1) == Some(7)).await;
    // The fourth learns of it from its peers, and passes the end of the epoch.
    let fourth = start(3);
    drive(&[&a, &fourth], height + 10).await;
    assert_eq!(fourth.engine.changes(), documents);
    until("the fourth is in the new epoch", || fourth.engine.stats().epoch == 1).await;

    // Back to four, with the fifth instead of the first.
    let second = a.machine.last_final().0 + 40;
    agree(&[&a, &b, &c, &fourth, &fifth], second, &configs[1..]).await;
    drive(&[&b, &c, &fourth, &fifth, &a], second + 5).await;
    until("the first one follows", || a.engine.stats().epoch == 2).await;
    let stats = a.engine.stats();
    assert_eq!((stats.is_member, stats.votes, stats.validators), (false, false, 4), "{stats:?}");
    assert_eq!(a.engine.status().role, Role::Follower);
    // Three of the four decide without the first one.
    c.stop().await;
    b.toy.set(2, 8);
    until("three of four decide, and the one that left follows", || a.toy.get(2) == Some(8)).await;

    // One starts again in the new epoch, with what its store and its log have.
    b.stop().await;
    let b = start(1);
    b.toy.set(3, 9);
    until("it decides again", || {
        [&a, &fourth, &fifth].iter().all(|node| node.toy.get(3) == Some(9))
    })
    .await;

    // Anybody can check the changes with the network file alone.
    let mut history = ChangeHistory::new(12345, a.machine.genesis().id(), first).unwrap();
    for document in b.engine.changes() {
        assert!(history.append(&document).unwrap());
    }
    let heights: Vec<_> = history.committees().iter().map(|(first, ..)| *first).collect();
    assert_eq!(heights, [0, height, second]);
    let common = a.machine.last_final().0.min(fifth.machine.last_final().0);
    for height in 0..=common {
        let id = |node: &Node| node.machine.bundle_at(height).unwrap().unwrap().0.id();
        assert_eq!(id(&a), id(&fifth), "height {height}");
    }
    for node in [a, b, fourth, fifth] {
        node.stop().await;
    }
}

/// Time for which no bundle becomes final when the validators change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timed_new_validators_decide_soon_after_the_last_bundle_of_the_old_ones() {
    let folder = tempfile::tempdir().unwrap();
    let mut configs = configs(folder.path(), 5);
    let first = members(&configs[..4]);
    for config in &mut configs {
        config.validators = first.clone();
    }
    let mut nodes: Vec<Node> =
        configs[..4].iter().map(|config| Node::start(config.clone(), store())).collect();
    drive(&nodes.iter().collect::<Vec<_>>(), 3).await;
    let height = nodes[0].machine.last_final().0 + 45;
    agree(&nodes.iter().collect::<Vec<_>>(), height, &configs).await;
    configs[4].given_changes = nodes[0].engine.changes();
    nodes.push(Node::start(configs[4].clone(), store()));
    drive_to(&nodes.iter().collect::<Vec<_>>(), height - 30, height - 10).await;

    let begun = Instant::now();
    let (mut last, mut seen) = (nodes[0].machine.last_final().0, Vec::new());
    while last < height + 5 {
        assert!(begun.elapsed() < PATIENCE, "at {last}, the change is at {height}");
        nodes[0].toy.set(1_000 + last, last);
        tokio::time::sleep(Duration::from_millis(2)).await;
        let now = nodes[0].machine.last_final().0;
        seen.extend((last + 1..=now).map(|height| (height, begun.elapsed())));
        last = now;
    }
    let at = |wanted: u64| seen.iter().find(|(height, _)| *height == wanted).unwrap().1;
    let (change, before) = (at(height) - at(height - 1), at(height - 1) - at(height - 2));
    println!("{change:?} without a bundle at the change, {before:?} before it");
    assert!(change < Duration::from_secs(10), "{change:?}");
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_a_minority_has_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    let configs = configs(folder.path(), 4);
    let nodes: Vec<Node> =
        configs.iter().map(|config| Node::start(config.clone(), store())).collect();
    let all: Vec<&Node> = nodes.iter().collect();
    drive(&all, 2).await;
    let height = nodes[0].machine.last_final().0 + 40;
    for node in &nodes[..2] {
        node.engine.approve_change(height, members(&configs[..2])).unwrap();
    }
    until("all see the proposal", || {
        nodes.iter().all(|node| {
            let proposals = node.engine.change_status().unwrap().proposals;
            proposals.len() == 1 && proposals[0].approvals.len() == 2
        })
    })
    .await;
    drive(&all, height + 3).await;
    for node in &nodes {
        let status = node.engine.change_status().unwrap();
        assert_eq!((status.epoch, status.agreed), (0, None));
    }
    until("it is forgotten", || {
        nodes.iter().all(|node| node.engine.change_status().unwrap().proposals.is_empty())
    })
    .await;
    for node in nodes {
        node.stop().await;
    }
}

/// Takes no changes while it is full.
#[derive(Debug, Default)]
struct FullLog {
    changes: MemoryChangeLog,
    has_room: AtomicBool,
    refused: AtomicUsize,
}

#[async_trait]
impl ChangeLog for FullLog {
    fn read(&self) -> StorageResult<Vec<Bytes>> {
        self.changes.read()
    }

    async fn append(&self, epoch: u64, document: &[u8]) -> StorageResult<()> {
        if self.has_room.load(Ordering::Relaxed) {
            return self.changes.append(epoch, document).await;
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(StorageError::Full { size: 0 })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validator_that_can_not_store_a_change_runs_on_and_takes_it_later() {
    let folder = tempfile::tempdir().unwrap();
    let mut configs = configs(folder.path(), 4);
    let log = Arc::<FullLog>::default();
    configs[3].changes = log.clone();
    let nodes: Vec<Node> =
        configs.iter().map(|config| Node::start(config.clone(), store())).collect();
    let all: Vec<&Node> = nodes.iter().collect();
    drive(&all, 2).await;
    let height = nodes[0].machine.last_final().0 + 40;
    let set = &configs[..3];
    nodes[3].engine.approve_change(height, members(set)).unwrap();
    // From now on it can't store a promise either.
    let in_the_way = configs[3].folder.join("change.new");
    fs::create_dir(&in_the_way).unwrap();
    agree(&all[..3], height, set).await;
    until("the last one tried to store it twice", || log.refused.load(Ordering::Relaxed) > 1).await;
    drive(&all, nodes[0].machine.last_final().0 + 2).await;
    assert!(!nodes[3].running.is_finished());
    assert_eq!(nodes[3].engine.change_status().unwrap().agreed, None);
    log.has_room.store(true, Ordering::Relaxed);
    until("it has the change", || nodes[3].engine.changes().len() == 1).await;
    fs::remove_dir(&in_the_way).unwrap();
    drive(&all, height + 2).await;
    until("it is in the new epoch", || nodes[3].engine.stats().epoch == 1).await;
    for node in nodes {
        node.stop().await;
    }
}

/// A store that was restored from an older copy, with the votes that it had since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_store_with_its_newer_votes_fetches_what_it_misses() {
    let folder = tempfile::tempdir().unwrap();
    let configs = configs(folder.path(), 4);
    let mut nodes: Vec<Node> =
        configs.iter().map(|config| Node::start(config.clone(), store())).collect();
    drive(&nodes.iter().collect::<Vec<_>>(), 5).await;
    nodes.pop().unwrap().stop().await;
    drive(&nodes.iter().collect::<Vec<_>>(), 8).await;
    let node = Node::start(configs[3].clone(), store());
    let tip = nodes[0].machine.last_final().0;
    until("it has everything again", || node.machine.last_final().0 >= tip).await;
    assert!(node.engine.stats().votes, "the votes were kept");
    node.toy.set(1, 5);
    until("it decides with the others", || nodes.iter().all(|node| node.toy.get(1) == Some(5)))
        .await;
    nodes.push(node);
    for node in nodes {
        node.stop().await;
    }
}
