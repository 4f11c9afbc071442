//! The recorded blocks in the order of their timestamps, through the machine; then the folder for other commands.

use std::path::Path;

use esker_avalanchego::{Chain, Outer};
use esker_chain::{ChainMachine as _, ChainVm as _};
use esker_commands::replay::ReplayCommand;
use esker_commands::{replay, verify};
use esker_e2e::avalanchego::{Container, Recording};
use esker_e2e::files::copy_folder;
use esker_node::{Environment, Node};
use esker_settings::config::{Config, Flags, Mode};
use esker_storage::meta::{self, OpenOptions};
use esker_storage::{KvStore as _, WriteSet};

use crate::ledger::{Ledger, config, config_of};
use crate::stand_in::post;

#[tokio::test(flavor = "multi_thread")]
async fn blocks_in_the_recorded_order_give_the_recorded_state() {
    for recording in Recording::all() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("node");
        let ledger = Ledger::open(&config_of(&recording.network, &place));
        accept(&ledger, &recording.containers).await;
        ledger.assert_is_end_of(&recording);
        let check = move || after(ledger, folder.path(), &recording);
        tokio::task::spawn_blocking(check).await.unwrap();
    }
}

async fn accept(ledger: &Ledger, containers: &[Container]) {
    for Container { chain, index, bytes, .. } in containers {
        let id = ledger.chain_id(chain.alias());
        let block = Outer::parse(*chain, bytes).unwrap().inner;
        let accepted = ledger.accept(id, block).await;
        accepted.unwrap_or_else(|error| panic!("{chain}, container {index}: {error}"));
    }
}

/// The stopped folder is whole, and its export makes the same one.
fn after(ledger: Ledger, folder: &Path, recording: &Recording) {
    let path = |name: &str| folder.join(name);
    ledger.close();
    let config = |name: &str| config_of(&recording.network, &path(name));
    let mut stopped = config("node");
    // The folder knows that P is observed.
    stopped.observes_p = false;
    assert_verified(&stopped);
    let file = path("blocks.jsonl");
    replay::run(&ReplayCommand::Export { file: file.clone(), from: None }, &stopped).unwrap();
    let imported = config("imported");
    replay::run(&ReplayCommand::Import(file), &imported).unwrap();
    Ledger::open(&imported).assert_is_end_of(recording);
}

fn assert_verified(config: &Config) {
    let mut out = Vec::new();
    let findings = verify::run(config, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(findings, 0, "{out}");
    assert!(out.contains(" on P;"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_that_p_cannot_have_are_refused() {
    let recording = Recording::load("follow-1");
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&config(folder.path()));
    let p = ledger.chain_id("P");
    let mut blocks = recording.of(Chain::P).into_iter();
    let first = blocks.next().unwrap().outer().inner;
    let second = blocks.next().unwrap().outer().inner;
    let refused = ledger.accept(p, second.clone()).await.unwrap_err();
    assert!(refused.contains("block has height 2, expected 1"), "{refused}");
    let refused = ledger.accept(p, first.slice(..first.len() - 1)).await.unwrap_err();
    assert!(refused.contains("insufficient length"), "{refused}");
    ledger.accept(p, first).await.unwrap();
    // Another parent.
    let mut other = second.to_vec();
    other[14] ^= 1;
    let refused = ledger.accept(p, other.into()).await.unwrap_err();
    assert!(refused.contains("parent block"), "{refused}");
    ledger.accept(p, second).await.unwrap();
    // The first import of C's export, which is not there.
    let mut error = None;
    for container in blocks {
        if let Err(refused) = ledger.accept(p, container.outer().inner).await {
            error = Some(refused);
            break;
        }
    }
    let error = error.expect("P imports from C, of which there are no blocks");
    assert!(error.contains("which") && error.contains("did not export"), "{error}");
}

/// Damage of any row of P's tables, and of what P left in shared memory, is reported.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_rows_of_p_are_reported() {
    let recording = Recording::load("follow-signed");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let ledger = Ledger::open(&config(&path("node")));
    // Up to an export of P that is not imported yet.
    accept(&ledger, &recording.containers[..40]).await;
    let p = ledger.open.observed_p.as_ref().unwrap().context().scope;
    ledger.close();
    let damaged = |name: &str, row: &[u8], is_removed: bool| {
        copy_folder(&path("node"), &path(name)).unwrap();
        let store = meta::open_dir(&path(name), &OpenOptions::TEST).unwrap();
        let (key, mut value) = store.snapshot().unwrap().seek(row).unwrap().unwrap();
        assert!(key.starts_with(row));
        let mut set = WriteSet::new();
        if is_removed {
            set.delete(&key);
        } else {
            *value.last_mut().unwrap() ^= 1;
            set.put(&key, &value);
        }
        store.write(&set).unwrap();
        drop(store);
        let mut out = Vec::new();
        let findings = verify::run(&config(&path(name)), &mut out).unwrap();
        assert!(findings > 0, "{name}: {}", String::from_utf8_lossy(&out));
    };
    let [high, low] = p.0.to_be_bytes();
    for is_removed in [true, false] {
        damaged(&format!("tip {is_removed}"), &[high, low, 1], is_removed);
        damaged(&format!("block {is_removed}"), &[high, low, 2], is_removed);
        damaged(&format!("shared memory {is_removed}"), &[0, 0, 0x20], is_removed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p_is_rewound_with_the_other_chains() {
    let recording = Recording::load("follow-1");
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&config(folder.path()));
    accept(&ledger, &recording.containers).await;
    for last in [179, 100, 3, 0] {
        ledger.open.machine.rewind(last).await.unwrap();
        let (kept, rewound) = recording.containers.split_at(usize::try_from(last).unwrap());
        for chain in Chain::ALL {
            let height = kept.iter().filter(|container| container.chain == chain).count();
            assert_eq!(ledger.height(chain.alias()), height as u64);
        }
        accept(&ledger, rewound).await;
        ledger.assert_is_end_of(&recording);
    }
}

/// P is no genesis chain: a node with it has the first bundle of all others, also if it gets P later.
#[tokio::test(flavor = "multi_thread")]
async fn p_joins_a_folder_that_began_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut without = config(&path("node"));
    without.observes_p = false;
    let ledger = Ledger::open(&without);
    let first = ledger.open.machine.genesis().id();
    assert!(ledger.open.observed_p.is_none());
    ledger.close();
    let ledger = Ledger::open(&config(&path("node")));
    assert_eq!(ledger.open.machine.genesis().id(), first);
    let ours = Ledger::open(&config(&path("new")));
    assert_eq!(ours.open.machine.genesis().id(), first);
    let recording = Recording::load("follow-signed");
    accept(&ledger, &recording.containers).await;
    ledger.assert_is_end_of(&recording);
}

/// A whole node with the observed chain serves what others serve.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_the_observed_p_serves_the_same_methods() {
    let mut heights = Vec::new();
    for observes_p in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let flags = [
            ("network", "local"),
            ("http-port", "0"),
            ("data-dir", path),
            ("log-display-level", "fatal"),
        ];
        let flags: Flags = flags.map(|(name, text)| (name, text.to_owned())).into();
        let mut config = Config::load(Mode::Node, flags, []).unwrap();
        config.observes_p = observes_p;
        let node = Node::start(config, Environment::system()).await.unwrap();
        let address = node.http_addr().to_string();
        let ask = |path: &'static str, method: &str| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}"#);
            let address = address.clone();
            tokio::task::spawn_blocking(move || post(&address, path, &body))
        };
        let height = ask("/ext/bc/P", "platform.getHeight").await.unwrap();
        let health = ask("/ext/health", "health.health").await.unwrap();
        assert!(health.1.contains(r#""healthy":true"#), "{health:?}");
        let x = ask("/ext/bc/X", "xvm.getHeight").await.unwrap();
        assert!(x.1.contains(r#""height":"0""#), "{x:?}");
        heights.push(height);
        node.stop().await.unwrap();
    }
    assert_eq!(heights[0], heights[1]);
}
