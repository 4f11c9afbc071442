//! Followers whose source, connection, process or disk fails. Each goes on by itself, with the bundles of its source.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use esker_e2e::disk::SmallDisk;
use esker_e2e::{Node, Proxy, until};

use super::load::under_load;
use super::support::{assert_same, follower, follower_health, heights, verify, wait_for, writer};
use crate::load::{Mover, Random};

/// Kills of one run.
const ROUNDS: u64 = 5;
/// A variable that asks for more of them.
const ROUNDS_VARIABLE: &str = "CRASH_ROUNDS";
/// Longest time from a start to the kill, in milliseconds.
const MOST_MS: u64 = 300;
/// A disk with more than enough room for what these tests write.
const DISK: u64 = 48 << 20;

#[test]
fn kills_of_a_follower_lose_nothing() {
    let rounds = rounds(ROUNDS);
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = writer(first.path()).start().unwrap();
    let mover = Mover::new(&source);
    let start = || follower(second.path(), &source.url()).start().unwrap();
    let mut random = Random(rounds);
    under_load(&source, &mover, 1, || {
        let mut last = (0, 0);
        for round in 0..rounds {
            let node = start();
            // Accepted blocks are durable.
            let now = heights(&node);
            assert!(now.0 >= last.0 && now.1 >= last.1, "round {round}: {now:?} after {last:?}");
            // At no particular moment of the node's work.
            thread::sleep(Duration::from_millis(random.below(MOST_MS)));
            last = heights(&node);
            node.kill().unwrap();
            verify(second.path());
        }
    });
    let node = start();
    wait_for(&node, &source);
    assert_same(&source, &node);
    assert!(node.stop().unwrap().success());
    verify(second.path());
}

#[test]
fn a_source_that_is_killed_is_followed_again_after_its_restart() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let start = || writer(first.path()).start().unwrap();
    let mut source = start();
    let proxy = Proxy::start(source.address()).unwrap();
    let mover = Mover::new(&source);
    let node = follower(second.path(), &proxy.url()).start().unwrap();
    for _ in 0..3 {
        under_load(&source, &mover, 1, || ());
        source.kill().unwrap();
        source = start();
        proxy.set_target(source.address());
    }
    wait_for(&node, &source);
    assert_same(&source, &node);
}

#[test]
fn a_source_that_stalls_is_left_and_followed_again() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = writer(first.path()).start().unwrap();
    let mover = Mover::new(&source);
    let node = follower(second.path(), &source.url()).args(&["--follow-max-lag", "1s"]);
    let node = node.start().unwrap();
    wait_for(&node, &source);
    signal(&source, "STOP");
    let error = until("the follower's health check fails", || follower_health(&node).1);
    assert!(error.contains("behind for"), "{error}");
    until("the follower leaves its source", || {
        follower_health(&node).1.filter(|error| error.contains("nothing arrived for 3 s"))
    });
    signal(&source, "CONT");
    under_load(&source, &mover, 1, || ());
    wait_for(&node, &source);
    assert_same(&source, &node);
    until("the follower is healthy", || follower_health(&node).1.is_none().then_some(()));
}

#[test]
fn connections_that_are_cut_within_records_are_resumed() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = writer(first.path()).start().unwrap();
    let mover = Mover::new(&source);
    let proxy = Proxy::start(source.address()).unwrap();
    let node = follower(second.path(), &proxy.url()).start().unwrap();
    under_load(&source, &mover, 3, || {
        let mut random = Random(1);
        let until_ms = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until_ms {
            proxy.cut_after(500 + random.below(4000));
            proxy.cut_all();
            thread::sleep(Duration::from_millis(50));
        }
    });
    proxy.cut_after(0);
    proxy.cut_all();
    wait_for(&node, &source);
    assert_same(&source, &node);
}

#[test]
fn a_follower_takes_the_next_source_where_one_is_gone() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, second, third] = folders.each_ref().map(|folder| folder.path());
    let source = writer(first).start().unwrap();
    let mover = Mover::new(&source);
    let nearer = || follower(second, &source.url()).arg("--api-sync-enabled").start().unwrap();
    let near = nearer();
    let proxy = Proxy::start(near.address()).unwrap();
    let sources = format!("{},{}", proxy.url(), source.url());
    let node = follower(third, &sources).start().unwrap();
    under_load(&source, &mover, 1, || ());
    wait_for(&node, &source);
    near.kill().unwrap();
    under_load(&source, &mover, 1, || ());
    wait_for(&node, &source);
    until("the health report names the other source", || {
        (follower_health(&node).0["source"] == source.url().as_str()).then_some(())
    });
    assert_same(&source, &node);
    // It returns to the first one when that is back, and stays.
    let near = nearer();
    proxy.set_target(near.address());
    until("the follower returns to its first source", || {
        (follower_health(&node).0["source"] == proxy.url().as_str()).then_some(())
    });
    under_load(&source, &mover, 1, || ());
    wait_for(&node, &source);
    assert_same(&source, &node);
    assert_eq!(follower_health(&node).0["source"], proxy.url().as_str());
    let output = node.output();
    assert_eq!(output.matches("a preferred one is back").count(), 1, "{output}");
}

#[test]
fn a_follower_whose_disk_is_full_goes_on_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(DISK).unwrap() else {
        println!("skipped: this machine lets no test mount a disk");
        return;
    };
    let first = tempfile::tempdir().unwrap();
    let source = writer(first.path()).start().unwrap();
    let mover = Mover::new(&source);
    let folder = disk.path().join("data");
    let node = follower(&folder, &source.url()).start().unwrap();
    under_load(&source, &mover, 1, || ());
    wait_for(&node, &source);
    disk.fill().unwrap();
    let before = heights(&node);
    under_load(&source, &mover, 2, || ());
    until("the follower has no room for the blocks", || {
        let report = node.output();
        report.contains("no blocks are made and writes are refused").then_some(())
    });
    let full = heights(&node);
    assert!(full.0 < heights(&source).0, "{before:?} {full:?}");
    disk.free().unwrap();
    wait_for(&node, &source);
    assert_same(&source, &node);
    assert!(node.stop().unwrap().success());
    verify(&folder);
}

/// Number of kills of a run.
pub(super) fn rounds(usual: u64) -> u64 {
    std::env::var(ROUNDS_VARIABLE).map_or(usual, |text| text.parse().unwrap())
}

pub(super) fn signal(node: &Node, name: &str) {
    let mut kill = Command::new("kill");
    kill.arg(format!("-{name}")).arg(node.pid().to_string());
    assert!(kill.status().unwrap().success());
}
