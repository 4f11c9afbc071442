//! What forks keep: packs, which run without a network, and the cache that they share.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Ended, Esker, run};

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
/// Accounts that have something, one that has nothing, and one with a balance that no run reads, the 21st for development of the
/// source.
const TO: &str = "0x00000000000000000000000000000000000000aa";
const EMPTY: &str = "0x00000000000000000000000000000000000000ee";
const UNREAD: &str = "0x09db0a93b389bef724429898f539aeb7ac2dd55f";
/// Init code of a contract that counts its calls in slot 0.
const COUNTER: &str = "0x600b80600b6000396000f360005460010180600055005b";
const PATIENCE: Duration = Duration::from_secs(60);

/// A chain with a transfer and a contract that was called once.
struct Source {
    node: Esker,
    url: String,
    counter: Value,
}

impl Source {
    fn start() -> Self {
        let node = Esker::start_alone(&["--accounts", "21"]);
        let url = format!("http://{}", node.ready["evm"].as_str().unwrap());
        let send = |tx: Value| node.receipt(&node.evm("eth_sendTransaction", json!([tx])));
        send(json!({"from": FROM, "to": TO, "value": "0x5"}));
        let deployed = send(json!({"from": FROM, "data": COUNTER, "gas": "0x50000"}));
        let counter = deployed["contractAddress"].clone();
        send(json!({"from": FROM, "to": counter, "gas": "0x30000"}));
        Self { node, url, counter }
    }

    /// What a run on the fork sees.
    fn journey(&self, fork: &Esker) -> Vec<Value> {
        journey(fork, &self.counter)
    }
}

/// What it sees without a transaction.
fn reads(fork: &Esker, counter: &Value) -> Vec<Value> {
    vec![
        fork.evm("eth_blockNumber", json!([])),
        fork.evm("eth_getBalance", json!([TO, "latest"])),
        fork.evm("eth_getBalance", json!([EMPTY, "latest"])),
        fork.evm("eth_getStorageAt", json!([counter, "0x0", "latest"])),
    ]
}

fn journey(fork: &Esker, counter: &Value) -> Vec<Value> {
    let mut seen = reads(fork, counter);
    let tx = json!({"from": FROM, "to": counter, "gas": "0x30000"});
    let receipt = fork.receipt(&fork.evm("eth_sendTransaction", json!([tx])));
    let value = fork.evm("eth_getStorageAt", json!([counter, "0x0", "latest"]));
    seen.extend([receipt["gasUsed"].clone(), value]);
    seen
}

/// A file that was made by the command while the fork ran, in a folder of its own, and what the run saw.
struct Pack {
    _folder: TempDir,
    path: PathBuf,
    counter: Value,
    seen: Vec<Value>,
}

impl Pack {
    fn make() -> Self {
        let source = Source::start();
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let data_dir = data.path().to_str().unwrap();
        // Hardhat has so many accounts for development.
        let flags = ["--data-dir", data_dir, "--fork-url", &source.url, "--accounts", "20"];
        let fork = Esker::start_alone(&flags);
        let seen = source.journey(&fork);
        let (running, stopped) = (data.path().join("one.pack"), data.path().join("two.pack"));
        let pack = |path: &Path| {
            let path = path.to_str().unwrap();
            let ended = run(&["fork", "pack", path, "--data-dir", data_dir]);
            assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
            assert!(
                ended.stdout.contains("claimed by the source, not proven: 0 "),
                "{}",
                ended.stdout
            );
        };
        pack(&running);
        assert!(fork.stop("TERM").0.success());
        assert!(source.node.stop("TERM").0.success());
        pack(&stopped);
        assert_eq!(fs::read(&running).unwrap(), fs::read(&stopped).unwrap());
        let path = folder.path().join("run.pack");
        fs::rename(&stopped, &path).unwrap();
        Self { _folder: folder, path, counter: source.counter.clone(), seen }
    }

    fn text(&self) -> &str {
        self.path.to_str().unwrap()
    }

    fn verify(&self, more: &[&str]) -> Ended {
        run(&[&["fork", "verify", self.text()], more].concat())
    }
}

#[test]
fn a_moved_pack_runs_alone_under_each_command() {
    let pack = Pack::make();
    let ended = pack.verify(&[]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let hash = ended.stdout.split("chain 31337: ").nth(1).unwrap()[..66].to_owned();
    assert_eq!(pack.verify(&["--block-hash", &hash]).code(), Some(0));
    let other = format!("0x{}", "1".repeat(64));
    let ended = pack.verify(&["--block-hash", &other]);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.stderr.contains("it is of block"), "{}", ended.stderr);

    let alone = Esker::start_alone(&["--fork-from", pack.text()]);
    let anvil = Esker::start_anvil(&["--port", "0", "--fork-from", pack.text()]).0;
    let hardhat = Esker::start_hardhat(&["node", "--port", "0", "--fork-from", pack.text()]).0;
    for node in [alone, anvil, hardhat] {
        assert_eq!(journey(&node, &pack.counter), pack.seen);
        let address = node.ready["evm"].as_str().unwrap();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [UNREAD, "latest"]});
        let (_, reply) = node.http_at(address, "POST", "/", &body.to_string());
        assert!(reply.contains("run.pack") && reply.contains("esker fork pack"), "{reply}");
        assert!(node.stop("TERM").0.success());
    }
}

/// The first bytes of the records.
fn records(file: &[u8]) -> Vec<usize> {
    let mut at = 8;
    let mut found = Vec::new();
    while at < file.len() {
        found.push(at);
        at += 8 + u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    }
    found
}

/// Alters the first record of each kind of a file in turn, and calls `check` with the kind. The file stays altered.
pub(crate) fn alter_each_kind(path: &Path, check: impl Fn(u8)) {
    let good = fs::read(path).unwrap();
    let mut kinds = Vec::new();
    for at in records(&good) {
        let kind = good[at + 8];
        if kinds.contains(&kind) {
            continue;
        }
        kinds.push(kind);
        let mut bytes = good.clone();
        bytes[at + 12] ^= 1;
        fs::write(path, &bytes).unwrap();
        check(kind);
    }
    kinds.sort_unstable();
    // The block, nodes, accounts, slots, codes, and the rules.
    assert_eq!(kinds, [1, 2, 3, 4, 5, 9]);
}

#[test]
fn an_altered_pack_is_refused() {
    let pack = Pack::make();
    let good = fs::read(&pack.path).unwrap();
    alter_each_kind(&pack.path, |kind| {
        let verified = pack.verify(&[]);
        let started = run(&["evm", "--port", "0", "--fork-from", pack.text()]);
        for ended in [&verified, &started] {
            assert_eq!(ended.code(), Some(1), "kind {kind}: {}{}", ended.stdout, ended.stderr);
            assert!(ended.stderr.contains(pack.text()), "{}", ended.stderr);
        }
    });
    fs::write(&pack.path, &good[..good.len() / 2]).unwrap();
    assert_eq!(pack.verify(&[]).code(), Some(1));
    fs::remove_file(&pack.path).unwrap();
    assert_eq!(pack.verify(&[]).code(), Some(1));
}

#[test]
fn what_can_not_be_packed_is_named() {
    let (empty, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = home.path().join("a.pack");
    let ended = run(&[
        "fork",
        "pack",
        file.to_str().unwrap(),
        "--data-dir",
        empty.path().to_str().unwrap(),
    ]);
    assert_eq!(ended.code(), Some(2));
    assert!(ended.stderr.contains("has nothing that a fork has read"), "{}", ended.stderr);
    assert!(!file.exists());
}

/// Whether a file has the record of an account.
fn has_account(file: &[u8], address: &str) -> bool {
    let address = hex(address);
    records(file).iter().any(|at| file[at + 8] == 3 && file[at + 9..].starts_with(&address))
}

/// The RLP of a list of one address.
fn hex(address: &str) -> Vec<u8> {
    let digits = &address[2..];
    let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
    [&[0xd5, 0x94][..], &bytes.map(Result::unwrap).collect::<Vec<_>>()].concat()
}

/// The shared file of the forks of a home.
fn shared(home: &Path) -> Option<PathBuf> {
    let folder = fs::read_dir(home.join(".cache/esker/forks/31337")).ok()?;
    let mut files = folder.filter_map(|entry| Some(entry.ok()?.path()));
    files.find(|path| path.extension().is_some_and(|ending| ending == "fork"))
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_next_fork_of_a_user_begins_warm() {
    for signal in ["TERM", "KILL"] {
        let source = Source::start();
        let home = tempfile::tempdir().unwrap();
        let flags = ["--fork-url", &source.url, "--fork-block", "3"];
        let cold = Esker::start_alone_in(&flags, home.path());
        let seen = source.journey(&cold);
        if signal == "KILL" {
            // Each write has all that was read before it.
            cold.evm("eth_getBalance", json!([UNREAD, "latest"]));
            until("the shared file", || {
                let file = shared(home.path()).and_then(|path| fs::read(path).ok());
                file.is_some_and(|file| has_account(&file, UNREAD))
            });
        }
        cold.stop(signal);
        let warm = Esker::start_alone_in(&flags, home.path());
        // It has the block; the state is there without the source.
        assert!(source.node.stop("KILL").0.code().is_none());
        assert_eq!(reads(&warm, &source.counter), seen[..4], "{signal}");
        assert!(warm.stop("TERM").0.success());
    }
}

#[test]
fn the_shared_cache_can_be_off() {
    let source = Source::start();
    let home = tempfile::tempdir().unwrap();
    let flags = ["--fork-url", &source.url, "--fork-cache", "off"];
    let fork = Esker::start_alone_in(&flags, home.path());
    source.journey(&fork);
    assert!(fork.stop("TERM").0.success());
    assert!(shared(home.path()).is_none());
    assert!(!home.path().join(".cache").exists());
}
