//! Sources that lie: nothing of theirs becomes final, the health check says what is wrong, and the follower goes on when
//! an honest source answers.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use esker_chain::Bundle;
use esker_e2e::{Node, Proxy, until};
use esker_follow::snapshot::SnapshotRecord;
use esker_follow::{Hello, Record, RecordReader};
use esker_primitives::Id;
use serde_json::json;

use super::load::under_load;
use super::support::{
    assert_same, follower, follower_health, heights, requested, snapshot_records, wait_for, writer,
};
use crate::load::Mover;
use crate::support::json_lines;

/// Bundles of the honest source that liars know.
pub(crate) const KNOWN: usize = 4;

/// When the network of source and follower begins: a source that lies can't be asked.
const BEGINNING: [&str; 2] = ["--timestamp", "1700000000"];

/// A source that answers each request with the same bytes, and then either closes or stays silent. It has no changes of
/// validators.
#[derive(Debug)]
pub(crate) struct Liar {
    pub(crate) address: SocketAddr,
    /// Requests that it has answered.
    requests: Arc<AtomicUsize>,
}

impl Liar {
    fn start(answer: Vec<u8>, stays: bool) -> Self {
        let (_, free) = mpsc::channel();
        Self::with_gate(answer, stays, free)
    }

    /// It waits for a message of the gate before each answer, until the gate's sender is dropped.
    fn with_gate(answer: Vec<u8>, stays: bool, gate: mpsc::Receiver<()>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicUsize::new(0));
        let answered = Arc::clone(&requests);
        // It ends with the process of the test.
        thread::spawn(move || {
            let mut silent = Vec::new();
            for mut client in listener.incoming().map_while(Result::ok) {
                let mut request = [0; 4096];
                let _head = client.read(&mut request);
                if request.starts_with(b"GET /ext/sync/validator-changes") {
                    let _left = client.write_all(&reply(b""));
                    continue;
                }
                let _opened = gate.recv();
                let _left = client.write_all(&answer);
                answered.fetch_add(1, Ordering::Relaxed);
                if stays {
                    silent.push(client);
                }
            }
        });
        Self { address, requests }
    }

    /// It goes on after its answer: with this again and again, each time after a pause.
    fn with_drip(answer: Vec<u8>, pause: Duration, drip: Vec<u8>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicUsize::new(0));
        let answered = Arc::clone(&requests);
        thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                let (answer, drip) = (answer.clone(), drip.clone());
                answered.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || {
                    let _head = client.read(&mut [0; 4096]);
                    let mut open = client.write_all(&answer).is_ok();
                    while open {
                        thread::sleep(pause);
                        open = client.write_all(&drip).is_ok();
                    }
                });
            }
        });
        Self { address, requests }
    }

    fn with_body(body: &[u8]) -> Self {
        Self::start(reply(body), true)
    }

    pub(crate) fn with_records(records: &[Record]) -> Self {
        Self::with_body(&body(records))
    }
}

/// An answer with this body.
fn reply(body: &[u8]) -> Vec<u8> {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n\r\n";
    [&head[..], body].concat()
}

fn body(records: &[Record]) -> Vec<u8> {
    records.iter().flat_map(Record::to_bytes).collect()
}

/// The first records of an honest source.
pub(crate) fn honest_records(source: &Node) -> (Hello, Vec<(Bundle, Option<Bytes>)>) {
    let mut stream = requested(source, "/ext/sync/bundles?from=1");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.0 200"), "{}", String::from_utf8_lossy(&head));
    let mut records = RecordReader::default();
    let (mut hello, mut bundles) = (None, Vec::new());
    let mut piece = [0; 4096];
    while bundles.len() < KNOWN {
        while let Some(record) = records.next().unwrap() {
            match record {
                Record::Hello(first) => hello = Some(first),
                Record::Bundle { bundle, proof } => bundles.push((bundle, proof)),
                Record::Tip(_) => {}
                Record::End(reason) => panic!("{reason}"),
            }
        }
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "the stream goes on");
        records.push(&piece[..read]);
    }
    bundles.truncate(KNOWN);
    (hello.unwrap(), bundles)
}

pub(crate) fn record((bundle, proof): &(Bundle, Option<Bytes>)) -> Record {
    Record::Bundle { bundle: bundle.clone(), proof: proof.clone() }
}

/// The bundle with a changed byte in its block.
pub(crate) fn tampered((bundle, proof): &(Bundle, Option<Bytes>)) -> Record {
    let mut bundle = bundle.clone();
    let mut block = bundle.blocks[0].1.to_vec();
    let last = block.len() - 1;
    block[last] ^= 1;
    bundle.blocks[0].1 = block.into();
    Record::Bundle { bundle, proof: proof.clone() }
}

#[test]
fn nothing_of_a_source_that_lies_becomes_final() {
    let first = tempfile::tempdir().unwrap();
    let source = writer(first.path()).args(&BEGINNING).start().unwrap();
    under_load(&source, &Mover::new(&source), 1, || ());
    let (hello, bundles) = honest_records(&source);
    let other = Id::sha256(b"another");
    let greeting = Record::Hello(hello);
    let with = |change: &dyn Fn(&mut Hello)| {
        let mut hello = hello;
        change(&mut hello);
        Liar::with_records(&[Record::Hello(hello)])
    };
    let endless = [0xff; 8];
    let refused = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec();
    let liars = [
        ("garbage", Liar::with_body(b"<html>hello</html>"), "invalid data from source: "),
        ("an endless record", Liar::with_body(&endless), "invalid record length: 4294967295 bytes"),
        ("silence", Liar::start(Vec::new(), true), "nothing arrived for 5 s"),
        ("no stream", Liar::start(refused, false), "with --api-sync-enabled"),
        ("not HTTP", Liar::start(b"SSH-2.0\r\n".to_vec(), false), "invalid HTTP version parsed"),
        (
            "silence after the greeting",
            Liar::with_records(std::slice::from_ref(&greeting)),
            "for 3 s",
        ),
        ("another network", with(&|hello| hello.network_id = 7), "it is of network 7"),
        ("other chains", with(&|hello| hello.genesis = other), "has other chains or parameters"),
        ("a later version", with(&|hello| hello.version = 9), "its stream has version 9"),
        ("a fork", with(&|hello| hello.parent = other), "bundle 0 is "),
        (
            "no greeting",
            Liar::with_records(&[record(&bundles[0])]),
            "first record is not a greeting",
        ),
        (
            "an invalid block",
            Liar::with_records(&[greeting.clone(), tampered(&bundles[0])]),
            "bundle 1 is invalid",
        ),
        (
            "a gap",
            Liar::with_records(&[greeting.clone(), record(&bundles[1])]),
            "bundle 2 instead of 1",
        ),
        (
            "a second greeting",
            Liar::with_records(&[greeting.clone(), greeting.clone()]),
            "a second greeting",
        ),
        (
            "an end",
            Liar::with_records(&[greeting.clone(), Record::End("maintenance".to_owned())]),
            "source ended the stream: maintenance",
        ),
    ];
    thread::scope(|scope| {
        for (what, liar, text) in &liars {
            let source = &source;
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let proxy = Proxy::start(liar.address).unwrap();
                let node = follower(folder.path(), &proxy.url())
                    .args(&BEGINNING)
                    .args(&["--follow-max-lag", "1s"]);
                let node = node.start().unwrap();
                until(&format!("{what}: the health check says {text:?}"), || {
                    follower_health(&node).1.filter(|error| error.contains(text))
                });
                assert_eq!(heights(&node), (0, 0), "{what}");
                proxy.set_target(source.address());
                proxy.cut_all();
                wait_for(&node, source);
                assert_same(source, &node);
                until(&format!("{what}: the follower is healthy"), || {
                    follower_health(&node).1.is_none().then_some(())
                });
            });
        }
    });
}

/// A source that sends something, but not the bundles that it says it has, or no snapshot, is left for the next one.
#[test]
fn a_source_that_withholds_is_left_for_the_next_one() {
    let first = tempfile::tempdir().unwrap();
    let source = writer(first.path()).start().unwrap();
    under_load(&source, &Mover::new(&source), 1, || ());
    let (hello, bundles) = honest_records(&source);
    let greeting = Record::Hello(hello);
    let tip = Record::Tip(hello.tip).to_bytes().to_vec();
    let (tips, bytes) = (Duration::from_millis(500), Duration::from_secs(1));
    let some: Vec<Record> =
        std::iter::once(greeting.clone()).chain(bundles.iter().map(record)).collect();
    // The length of a record, and then its bytes one by one.
    let begun = [reply(&body(std::slice::from_ref(&greeting))), vec![0, 0, 1, 0, 1]].concat();
    let alive = SnapshotRecord::Alive.to_bytes().to_vec();
    let liars = [
        ("tips", Liar::with_drip(reply(&body(&[greeting])), tips, tip.clone()), false),
        ("a byte now and then", Liar::with_drip(begun, bytes, vec![0]), false),
        ("some bundles and tips", Liar::with_drip(reply(&body(&some)), tips, tip), false),
        ("a snapshot without records", Liar::with_drip(reply(b""), bytes, vec![0]), true),
        ("a snapshot without rows", Liar::with_drip(snapshot_head(&source), tips, alive), true),
    ];
    thread::scope(|scope| {
        for (what, liar, joins) in &liars {
            let source = &source;
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let sources = format!("http://{},{}", liar.address, source.url());
                let mut node = follower(folder.path(), &sources);
                if *joins {
                    node = node.arg("--snapshot");
                }
                let node = node.start().unwrap();
                wait_for(&node, source);
                until(&format!("{what}: the honest source is followed"), || {
                    (follower_health(&node).0["source"] == source.url().as_str()).then_some(())
                });
                assert!(liar.requests.load(Ordering::Relaxed) > 0, "{what}");
                let output = node.output();
                let joined = output.contains("joined from a snapshot");
                assert_eq!(joined, *joins, "{what}: {output}");
            });
        }
    });
}

/// An answer with a snapshot's first records.
fn snapshot_head(source: &Node) -> Vec<u8> {
    let records = snapshot_records(source);
    let first: Vec<u8> = records[..3].iter().flat_map(SnapshotRecord::to_bytes).collect();
    reply(&first)
}

#[test]
fn good_bundles_before_an_invalid_one_are_final() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = writer(first.path()).args(&BEGINNING).start().unwrap();
    under_load(&source, &Mover::new(&source), 1, || ());
    let (hello, bundles) = honest_records(&source);
    let records =
        [Record::Hello(hello), record(&bundles[0]), record(&bundles[1]), tampered(&bundles[2])];
    let (gate, opened) = mpsc::channel();
    let liar = Liar::with_gate(reply(&body(&records)), true, opened);
    gate.send(()).unwrap();
    let proxy = Proxy::start(liar.address).unwrap();
    let node = follower(second.path(), &proxy.url()).args(&BEGINNING).start().unwrap();
    let error = until("the health check names the bundle", || follower_health(&node).1);
    assert!(error.contains("bundle 3 is invalid"), "{error}");
    drop(gate);
    // Asked for bundle 3, the liar begins with bundle 1 again: it contradicts what is final.
    let error = until("the health check names the contradiction", || {
        follower_health(&node).1.filter(|error| error.contains("bundle 2 is "))
    });
    assert!(error.contains("contradicts this node"), "{error}");
    proxy.set_target(source.address());
    proxy.cut_all();
    wait_for(&node, &source);
    assert_same(&source, &node);
}

#[test]
fn sources_that_fail_for_different_reasons_are_logged_once() {
    const ROUNDS: usize = 6;
    let (folder, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let refused = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec();
    let (refuses, lies) = (Liar::start(refused, false), Liar::with_body(b"<html>hello</html>"));
    let sources = format!("http://{},http://{}", refuses.address, lies.address);
    let node = follower(folder.path(), &sources).args(&BEGINNING).args(&["--log-format", "json"]);
    let node = node.arg("--log-dir").arg(logs.path()).start().unwrap();
    until("both sources were asked some times", || {
        let asked = |liar: &Liar| liar.requests.load(Ordering::Relaxed);
        (asked(&refuses) >= ROUNDS && asked(&lies) >= ROUNDS).then_some(())
    });
    assert!(node.stop().unwrap().success());
    let lines = json_lines(&logs.path().join("main.log"));
    for (liar, level, message) in [
        (&refuses, "WARN", "lost the source; trying the next"),
        (&lies, "ERROR", "the source can't be followed"),
    ] {
        let url = format!("http://{}", liar.address);
        let of_liar: Vec<_> = lines.iter().filter(|line| line["source"] == url).collect();
        assert_eq!(of_liar.len(), 1, "{of_liar:?}");
        assert_eq!(
            (&of_liar[0]["level"], &of_liar[0]["message"]),
            (&json!(level), &json!(message))
        );
    }
}
