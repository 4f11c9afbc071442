//! Followers that join from a snapshot of their source's state.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use esker_chain::snapshot::{Page, PageBuilder, SnapshotItem};
use esker_e2e::funds::key;
use esker_e2e::{Node, NodeBuilder, Proxy, until};
use esker_follow::snapshot::{SnapshotRecord, SnapshotTotals};
use esker_primitives::Id;
use esker_utxo::UtxoId;
use serde_json::json;

use super::load::under_load;
use super::support::{call, follower, heights, snapshot_records, verify, wait_for, writer};
use crate::load::Mover;
use crate::support::{PROGRAM, liar, local, wallet};

/// A follower that begins with a snapshot.
pub(super) fn joiner(folder: &Path, sources: &str) -> NodeBuilder {
    follower(folder, sources).args(&["--snapshot", "--api-sync-enabled"])
}

/// The state that a client reads is the same on both nodes of the development network, and so are the last blocks.
pub(super) fn assert_same_state(one: &Node, other: &Node) {
    assert_same_tips(one, other);
    for account in call(one, "evm_accounts", &json!([])).as_array().into_iter().flatten() {
        for method in ["evm_getBalance", "evm_getTransactionCount"] {
            let read = |node| call(node, method, &json!([account, "latest"]));
            assert_eq!(read(one), read(other), "{method} {account}");
        }
    }
    assert_eq!(outputs(one, 1), outputs(other, 1));
}

/// The last blocks are the same on both nodes.
pub(super) fn assert_same_tips(one: &Node, other: &Node) {
    assert_eq!(heights(one), heights(other));
    let (x, _) = heights(one);
    let block = |node: &Node| node.x().get_block_by_height(x).unwrap().id();
    assert_eq!(block(one), block(other));
    let last = |node| call(node, "evm_getBlockByNumber", &json!(["latest", true]));
    assert_eq!(last(one), last(other));
    let receipts = |node| call(node, "evm_getBlockReceipts", &json!(["latest"]));
    assert_eq!(receipts(one), receipts(other));
}

/// The outputs of a test key on the X-Chain.
pub(super) fn outputs(node: &Node, owner: u8) -> Vec<UtxoId> {
    let mut ids: Vec<_> =
        wallet(node, "X", key(owner)).coins().iter().map(|utxo| utxo.utxo_id).collect();
    ids.sort_unstable();
    ids
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
    let joining = joiner(second.path(), &proxy.url()).spawn().unwrap();
    until("a snapshot was begun", || {
        joining.output().contains("no snapshot from the source").then_some(())
    });
    joining.kill().unwrap();
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

/// Records as a source sends them, with an end of the right length.
fn body(records: &[SnapshotRecord]) -> Vec<u8> {
    let mut body = Vec::new();
    for record in records {
        let record = match record {
            SnapshotRecord::End(SnapshotTotals { rows, bytes: 1.. }) => {
                SnapshotRecord::End(SnapshotTotals { rows: *rows, bytes: body.len() as u64 })
            }
            other => other.clone(),
        };
        body.extend_from_slice(&record.to_bytes());
    }
    body
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The records with the rows of the first page of a table changed. `None`: the table has no row.
fn with_rows(
    records: &[SnapshotRecord],
    wanted: u8,
    change: &dyn Fn(&mut Rows),
) -> Option<Vec<SnapshotRecord>> {
    let mut records = records.to_vec();
    let mut added = 0i64;
    let page = records.iter_mut().find_map(|record| match record {
        SnapshotRecord::Item(SnapshotItem::Rows { tag, page, .. }) if *tag == wanted => Some(page),
        _ => None,
    })?;
    let split = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
    let mut rows: Rows = Page(page).flatten().map(split).collect();
    added -= rows.len() as i64;
    change(&mut rows);
    added += rows.len() as i64;
    let mut changed = PageBuilder::default();
    for (key, value) in &rows {
        changed.push(key, value);
    }
    *page = changed.finish();
    for record in &mut records {
        match record {
            SnapshotRecord::Total(rows) => *rows = rows.checked_add_signed(added).unwrap(),
            SnapshotRecord::End(totals) => {
                totals.rows = totals.rows.checked_add_signed(added).unwrap();
            }
            _ => {}
        }
    }
    // No page is empty.
    records.retain(|record| !matches!(record, SnapshotRecord::Item(SnapshotItem::Rows { page, .. }) if page.is_empty()));
    Some(records)
}

/// The records with a bundle that commits to their summary, and the greeting of that bundle.
fn committed(mut records: Vec<SnapshotRecord>) -> Vec<SnapshotRecord> {
    let summary = records.iter().find_map(|record| match record {
        SnapshotRecord::Summary(summary) => Some(summary.commitment()),
        _ => None,
    });
    let mut id = None;
    for record in &mut records {
        if let SnapshotRecord::Bundle { bundle, .. } = record {
            bundle.commitment = summary.unwrap();
            id = Some(bundle.id());
        }
    }
    if let SnapshotRecord::Hello(hello) = &mut records[0] {
        hello.bundle = id.unwrap();
    }
    records
}

#[test]
fn a_snapshot_that_is_altered_is_refused() {
    let first = tempfile::tempdir().unwrap();
    let source = writer(first.path()).start().unwrap();
    under_load(&source, &Mover::new(&source), 3, || ());
    let honest = snapshot_records(&source);
    let mut lies: Vec<(String, Vec<SnapshotRecord>)> = Vec::new();
    for tag in [0x20, 0x09, 0x06, 0x42, 0x40, 0x41] {
        let mut lie = |what: &str, change: &dyn Fn(&mut Rows)| {
            let records = with_rows(&honest, tag, change);
            lies.extend(records.map(|records| (format!("{what} {tag:#x}"), records)));
        };
        lie("a changed value of", &|rows| {
            let value = rows.iter_mut().map(|row| &mut row.1).find(|value| !value.is_empty());
            if let Some(last) = value.and_then(|value| value.last_mut()) {
                *last ^= 1;
            }
        });
        lie("a missing row of", &|rows| drop(rows.pop()));
        lie("a row twice of", &|rows| rows.extend(rows.last().cloned()));
        lie("a further row of", &|rows| {
            let (mut key, value) = rows.last().cloned().unwrap();
            *key.last_mut().unwrap() ^= 1;
            rows.push((key, value));
            rows.sort();
        });
    }
    let mut lie = |what: &str, change: &dyn Fn(&mut SnapshotRecord)| {
        let mut records = honest.clone();
        records.iter_mut().for_each(change);
        assert_ne!(records, honest, "{what}");
        lies.push((what.to_owned(), records));
    };
    lie("another network", &|record| {
        if let SnapshotRecord::Hello(hello) = record {
            hello.network_id = 7;
        }
    });
    lie("another bundle", &|record| {
        if let SnapshotRecord::Bundle { bundle, .. } = record {
            bundle.timestamp_ms += 1;
        }
    });
    lie("another summary", &|record| {
        if let SnapshotRecord::Summary(summary) = record {
            summary.shared = Id::sha256(b"another");
        }
    });
    lie("changed blocks", &|record| {
        if let SnapshotRecord::Item(SnapshotItem::Block { bytes, .. }) = record {
            let mut changed = bytes.to_vec();
            *changed.last_mut().unwrap() ^= 1;
            *bytes = changed.into();
        }
    });
    lie("receipts of another block", &|record| {
        if let SnapshotRecord::Item(SnapshotItem::Block { extra, .. }) = record {
            *extra = vec![1, 2, 3].into();
        }
    });
    lie("another number of rows", &|record| {
        if let SnapshotRecord::End(totals) = record {
            totals.rows += 1;
        }
    });
    lie("another number of bytes", &|record| {
        if let SnapshotRecord::End(totals) = record {
            totals.bytes = 0;
        }
    });
    for (what, change) in [("a total that is too small", -1i64), ("a total that is too great", 1)] {
        lie(what, &|record| {
            if let SnapshotRecord::Total(rows) = record {
                *rows = rows.checked_add_signed(change).unwrap();
            }
        });
    }
    let total =
        honest.iter().position(|record| matches!(record, SnapshotRecord::Total(_))).unwrap();
    let with = |place: usize, record: SnapshotRecord| {
        let mut records = honest.clone();
        records.insert(place, record);
        records
    };
    lies.push(("a second total".to_owned(), with(total, honest[total].clone())));
    lies.push(("a late total".to_owned(), with(total + 2, honest[total].clone())));
    lies.push(("bytes after its end".to_owned(), with(honest.len(), SnapshotRecord::Alive)));
    let mut without_blocks = honest.clone();
    for record in &mut without_blocks {
        if let SnapshotRecord::Summary(summary) = record {
            summary.chains.values_mut().for_each(|chain| chain.height = 0);
        }
    }
    lies.push(("chains at height 0".to_owned(), committed(without_blocks)));
    let mut second_greeting = honest.clone();
    second_greeting.insert(4, honest[0].clone());
    lies.push(("a second greeting".to_owned(), second_greeting));
    let mut endless = honest[..3].to_vec();
    endless.extend(std::iter::repeat_n(SnapshotRecord::Alive, 3601));
    lies.push(("no content".to_owned(), endless));
    lies.push(("no greeting".to_owned(), honest[1..].to_vec()));
    lies.push(("a cut".to_owned(), honest[..honest.len() - 1].to_vec()));
    thread::scope(|scope| {
        for lies in lies.chunks(lies.len().div_ceil(4)) {
            let source = &source;
            scope.spawn(move || {
                for (what, records) in lies {
                    let folder = tempfile::tempdir().unwrap();
                    let sources = format!("{},{}", liar(&body(records)), source.url());
                    let node = joiner(folder.path(), &sources).start().unwrap();
                    let output = node.output();
                    let is_left = ["a cut", "no content"].contains(&what.as_str());
                    let is_refused = match is_left {
                        true => output.contains("no snapshot from the source"),
                        false => output.contains("the source's snapshot is refused"),
                    };
                    assert!(is_refused, "{what}: {output}");
                    assert_same_state(source, &node);
                }
            });
        }
    });
}
