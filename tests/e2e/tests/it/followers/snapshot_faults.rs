//! Joins from a snapshot whose process, source, connection or disk fails.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use esker_client::RpcClient;
use esker_e2e::disk::SmallDisk;
use esker_e2e::hostile::figures::metric;
use esker_e2e::until::PATIENCE;
use esker_e2e::{Node, Proxy, StartingNode, until};

use serde_json::{Value, json};

use super::crowd::{Crowd, CrowdSize, SOME, assert_same_state, move_funds};
use super::faults::{rounds, signal};
use super::support::wait_for;
use crate::load::Random;

/// Kills of one run.
const ROUNDS: u64 = 10;
/// The error of a command on a folder with an unfinished snapshot.
const UNFINISHED: &str = "the snapshot was not completed";

#[test]
fn kills_of_a_join_leave_no_state_or_all_of_it() {
    let rounds = rounds(ROUNDS);
    let crowd = Crowd::new(CrowdSize { contracts: 20, ..CrowdSize::USUAL });
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = crowd.source(first.path());
    let joining = |node: &StartingNode| {
        until("the join has begun", || node.output().contains("joining from").then_some(()));
    };
    let millis = |begun: Instant| u64::try_from(begun.elapsed().as_millis()).unwrap().max(1);
    let begun = Instant::now();
    let node = crowd.joiner(second.path(), &source.url()).spawn().unwrap();
    joining(&node);
    let in_join = Instant::now();
    let node = node.wait().unwrap();
    let (whole_ms, join_ms) = (millis(begun), millis(in_join));
    assert_same_state(&source, &node);
    assert!(node.stop().unwrap().success());
    let mut random = Random(rounds);
    let mut unfinished = 0;
    for round in 0..rounds {
        let folder = tempfile::tempdir().unwrap();
        move_funds(&source);
        let node = crowd.joiner(folder.path(), &source.url()).spawn().unwrap();
        // At any moment of the start, or of the join.
        let within_ms = if round % 3 == 0 {
            whole_ms
        } else {
            joining(&node);
            join_ms
        };
        thread::sleep(Duration::from_millis(random.below(within_ms)));
        node.kill().unwrap();
        let (code, text) = crowd.run(&["db", "verify"], folder.path());
        match code {
            Some(0) => assert!(text.ends_with("\nnothing is wrong\n"), "{text}"),
            Some(2) if text.contains(UNFINISHED) => unfinished += 1,
            Some(2) => assert!(text.contains("no node data"), "{text}"),
            other => panic!("{other:?}: {text}"),
        }
        let node = crowd.joiner(folder.path(), &source.url()).start().unwrap();
        wait_for(&node, &source);
        assert_same_state(&source, &node);
        assert!(node.stop().unwrap().success());
        crowd.verify(folder.path());
    }
    assert!(unfinished > 0, "no kill of {rounds} was within the join");
}

#[test]
fn a_source_that_is_killed_during_a_join_is_joined_after_its_restart() {
    let crowd = Crowd::new(CrowdSize::USUAL);
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = crowd.source(first.path());
    let (proxy, node) = crowd.held_join(second.path(), &source);
    source.kill().unwrap();
    proxy.release();
    until("the follower misses its source", || {
        node.output().contains("no snapshot from the source; trying the next").then_some(())
    });
    let source = crowd.writer(first.path()).start().unwrap();
    proxy.set_target(source.address());
    let node = node.wait().unwrap();
    wait_for(&node, &source);
    assert_same_state(&source, &node);
    assert!(node.stop().unwrap().success());
    crowd.verify(second.path());
}

#[test]
fn a_source_that_stalls_during_a_join_is_left_and_joined_again() {
    let crowd = Crowd::new(CrowdSize::USUAL);
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = crowd.source(first.path());
    let (proxy, node) = crowd.held_join(second.path(), &source);
    signal(&source, "STOP");
    proxy.release();
    until("the follower leaves its source", || {
        let output = node.output();
        output.contains("trying the next").then(|| {
            assert!(output.contains("nothing arrived for 3 s"), "{output}");
        })
    });
    signal(&source, "CONT");
    let node = node.wait().unwrap();
    wait_for(&node, &source);
    assert_same_state(&source, &node);
    assert!(node.stop().unwrap().success());
    crowd.verify(second.path());
}

/// A client of a node that joins.
fn rpc(node: &StartingNode) -> RpcClient {
    let address = until("the node answers while it joins", || {
        let output = node.output();
        let (_, rest) = output.split_once("answering while joining")?;
        rest.split_once("http=")?.1.split_whitespace().next()?.parse().ok()
    });
    RpcClient::new(address)
}

/// A client of the snapshot that reads the head of the answer.
fn reader(source: &Node) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(source.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = "GET /ext/sync/snapshot HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    (stream, String::from_utf8(head).unwrap())
}

#[test]
fn a_follower_waits_while_two_snapshots_are_sent() {
    let crowd = Crowd::new(CrowdSize::USUAL);
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, second, third] = folders.each_ref().map(|folder| folder.path());
    let source = crowd.source(first);
    let busy: Vec<_> = (0..2).map(|_| reader(&source)).collect();
    assert!(busy.iter().all(|(_, head)| head.starts_with("HTTP/1.1 200")), "{busy:?}");
    let (mut refused, head) = reader(&source);
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    let text = "2 snapshots are being sent: try again later\n";
    let mut body = vec![0; text.len()];
    refused.read_exact(&mut body).unwrap();
    assert_eq!(String::from_utf8(body).unwrap(), text);
    let node = crowd.joiner(second, &source.url()).spawn().unwrap();
    until("the follower has no place", || {
        node.output().contains("503: 2 snapshots are being sent: try again later").then_some(())
    });
    drop(busy);
    let node = node.wait().unwrap();
    wait_for(&node, &source);
    assert_same_state(&source, &node);
    // Another source has a place.
    let _busy: Vec<_> = (0..2).map(|_| reader(&source)).collect();
    let sources = format!("{},{}", source.url(), node.url());
    let other = crowd.joiner(third, &sources).start().unwrap();
    assert!(other.output().contains("503: 2 snapshots are being sent"), "{}", other.output());
    wait_for(&other, &source);
    assert_same_state(&source, &other);
}

#[test]
fn a_client_that_reads_no_snapshot_is_cut() {
    let crowd = Crowd::new(CrowdSize::USUAL);
    let folder = tempfile::tempdir().unwrap();
    let source = crowd.writer(folder.path()).args(&["--http-write-timeout", "4s"]);
    let source = source.start().unwrap();
    move_funds(&source);
    let oldest = || metric(&source, "esker_store_oldest_reader_seconds").unwrap();
    let deaf = reader(&source);
    until("the snapshot is an open reader", || (oldest() > 1.0).then_some(()));
    move_funds(&source);
    assert!(source.output().contains("sending a snapshot"));
    until("the client is cut", || source.output().contains("a snapshot ended early").then_some(()));
    until("the store has no old reader", || (oldest() < 1.0).then_some(()));
    move_funds(&source);
    drop(deaf);
}

#[test]
fn a_join_on_a_full_disk_goes_on_when_there_is_room() {
    let crowd = Crowd::new(CrowdSize::USUAL);
    let first = tempfile::tempdir().unwrap();
    let source = crowd.source(first.path());
    let proxy = Proxy::start(source.address()).unwrap();
    let Some(disk) = SmallDisk::mount(128 << 20).unwrap() else {
        println!("skipped: this machine lets no test mount a disk");
        return;
    };
    let folder = disk.path().join("data");
    // A node without room for the rest of its snapshot.
    let suspended = || {
        proxy.hold_after(SOME);
        let node = crowd.joiner(&folder, &proxy.url()).spawn().unwrap();
        until("a part of the snapshot was sent", || (proxy.held() > 0).then_some(()));
        disk.fill().unwrap();
        proxy.release();
        until("the follower has no room for the snapshot", || {
            node.output().contains("insufficient disk space").then_some(())
        });
        node
    };
    let assert_unfinished = || {
        let (code, text) = crowd.run(&["db", "verify"], &folder);
        assert!(code == Some(2) && text.contains(UNFINISHED), "{text}");
    };
    let node = suspended();
    let error = |check: &str| {
        let report: Value = rpc(&node).call("/ext/health", "health.health", json!({})).unwrap();
        report["checks"][check]["error"].as_str().unwrap_or_default().to_owned()
    };
    until("the health report says so", || {
        error("database").starts_with("insufficient disk space").then_some(())
    });
    assert!(error("follower").starts_with("joining from a snapshot, "), "{}", error("follower"));
    node.kill().unwrap();
    assert_unfinished();
    // Started without room.
    let node = crowd.joiner(&folder, &source.url()).spawn().unwrap();
    until("the follower can't begin", || {
        node.output().contains("can't write the snapshot; trying again").then_some(())
    });
    assert!(node.stop().unwrap().success());
    disk.free().unwrap();
    let node = suspended();
    assert!(node.stop().unwrap().success());
    assert_unfinished();
    disk.free().unwrap();
    let node = suspended();
    disk.free().unwrap();
    let node = node.wait().unwrap();
    wait_for(&node, &source);
    assert_same_state(&source, &node);
    assert!(node.stop().unwrap().success());
    crowd.verify(&folder);
}
