//! A fork on a disk that fills up: what is read from the source is answered, also if it can't be kept, writes are refused, and
//! nothing that was seen is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use esker_client::{CallError, RpcClient};
use esker_e2e::disk::SmallDisk;
use esker_e2e::{Node, until};
use serde_json::{Value, json};

use crate::support::{PROGRAM, esker, local};

/// A disk with more than enough room for what these tests write.
const DISK: u64 = 48 << 20;
const FULL: &str = "insufficient disk space";
const NO_SPACE: &str = "No space left on device";
/// The accounts of the source that are read.
const ACCOUNTS: usize = 120;

/// Calls; the error is the message.
fn call(rpc: &mut RpcClient, method: &str, params: Value) -> Result<Value, String> {
    rpc.call("/", method, params).map_err(|error| match error {
        CallError::Rpc { message, .. } => message,
        other => panic!("{method}: {other}"),
    })
}

fn account(n: usize) -> String {
    format!("0x{:040x}", 0xc000 + n)
}

/// A node whose accounts have amounts, and the fork of it on a small disk.
struct Disk {
    source: Option<Node>,
    url: String,
    reserve: &'static str,
    elsewhere: tempfile::TempDir,
    disk: SmallDisk,
}

impl Disk {
    fn mount(reserve: &'static str) -> Option<Self> {
        let disk = SmallDisk::mount(DISK).unwrap()?;
        let source = local().evm().start().unwrap();
        let mut rpc = source.rpc();
        for n in 0..ACCOUNTS {
            let params = json!([account(n), format!("{:#x}", 1 + n)]);
            call(&mut rpc, "anvil_setBalance", params).unwrap();
        }
        call(&mut rpc, "evm_mine", json!([])).unwrap();
        let (url, elsewhere) = (source.url(), tempfile::tempdir().unwrap());
        Some(Self { source: Some(source), url, reserve, elsewhere, disk })
    }

    fn folder(&self) -> PathBuf {
        self.disk.path().join("data")
    }

    fn start(&self, flags: &[&str]) -> Client {
        let own = ["--store-disk-reserve", self.reserve];
        let node = local().evm().data_dir(self.folder()).args(&own).args(flags).start().unwrap();
        let mut rpc = node.rpc();
        let accounts = call(&mut rpc, "eth_accounts", json!([])).unwrap();
        let accounts = serde_json::from_value(accounts).unwrap();
        Client { rpc, node, accounts }
    }

    /// The fork, whose shared cache is on the disk, too.
    fn start_on_source(&self) -> Client {
        let cache = self.disk.path().join("cache");
        self.start(&["--fork-url", &self.url, "--fork-cache", cache.to_str().unwrap()])
    }

    /// The fork of the folder alone.
    fn start_offline(&self) -> Client {
        self.start(&["--fork-cache", "off"])
    }

    /// `esker fork pack` of the folder.
    fn pack(&self, file: &Path) -> (Option<i32>, String) {
        let folder = self.folder();
        let args = ["fork", "pack", file.to_str().unwrap(), "--data-dir"];
        esker(&args, &[&folder])
    }

    /// A whole file with everything that was read.
    fn pack_elsewhere(&self) -> PathBuf {
        let file = self.elsewhere.path().join("run.pack");
        let (code, text) = self.pack(&file);
        assert_eq!(code, Some(0), "{text}");
        assert!(!text.contains("left out"), "{text}");
        let (code, text) = esker(&["fork", "verify"], &[&file]);
        assert_eq!(code, Some(0), "{text}");
        file
    }

    /// What is on the disk besides the folders of the fork.
    fn others(&self) -> Vec<String> {
        let names = fs::read_dir(self.disk.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> =
            names.filter(|name| !["data", "cache", "filling"].contains(&&**name)).collect();
        names.sort();
        names
    }
}

/// The fork, and what it has shown.
struct Client {
    rpc: RpcClient,
    node: Node,
    accounts: Vec<String>,
}

impl Client {
    fn ask(&mut self, method: &str, params: Value) -> Value {
        call(&mut self.rpc, method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Reads accounts of the source.
    fn read(&mut self, numbers: std::ops::Range<usize>) {
        for n in numbers {
            let balance = self.ask("eth_getBalance", json!([account(n), "latest"]));
            assert_eq!(balance, json!(format!("{:#x}", 1 + n)), "account {n}");
        }
    }

    fn send(&mut self) -> Result<String, String> {
        let (from, to) = (&self.accounts[0], &self.accounts[1]);
        let data = format!("0x{}", "01".repeat(100));
        let tx =
            json!([{ "from": from, "to": to, "value": "0x1", "data": data, "gas": "0x20000" }]);
        let hash = call(&mut self.rpc, "eth_sendTransaction", tx)?;
        Ok(hash.as_str().unwrap().to_owned())
    }

    fn receipt(&mut self, hash: &str) -> Option<Value> {
        let receipt = self.ask("eth_getTransactionReceipt", json!([hash]));
        (!receipt.is_null()).then_some(receipt)
    }

    /// Sends, and waits for the receipt.
    fn sent(&mut self, seen: &mut Vec<(String, Value)>) {
        let hash = self.send().unwrap();
        let receipt = until(&format!("{hash} is mined"), || self.receipt(&hash));
        seen.push((hash, receipt));
    }

    fn assert_has(&mut self, seen: &[(String, Value)]) {
        for (hash, receipt) in seen {
            assert_eq!(self.receipt(hash).as_ref(), Some(receipt), "{hash} was seen before");
        }
    }

    fn assert_refused(&mut self, seen: &mut Vec<(String, Value)>) {
        // The first ones may still find room, and are seen then.
        let mut hashes = Vec::new();
        let refused = until("a send is refused", || match self.send() {
            Ok(hash) => {
                hashes.push(hash);
                None
            }
            Err(error) => Some(error),
        });
        assert!(refused.starts_with(FULL), "{refused}");
        for hash in hashes {
            seen.extend(self.receipt(&hash).map(|receipt| (hash.clone(), receipt)));
        }
        let refused = self.send().unwrap_err();
        assert!(refused.starts_with(FULL), "{refused}");
    }
}

#[test]
fn a_fork_reads_on_while_its_disk_is_full() {
    for reserve in ["16777216", "0"] {
        let Some(mut disk) = Disk::mount(reserve) else { return };
        let mut fork = disk.start_on_source();
        let mut seen = Vec::new();
        fork.read(0..10);
        fork.sent(&mut seen);
        for episode in 0..2 {
            disk.disk.fill().unwrap();
            // What was read before, and what was not and can't be kept.
            let new = 10 + episode * 20..30 + episode * 20;
            fork.read(0..10);
            fork.read(new.clone());
            fork.assert_refused(&mut seen);
            fork.read(new);
            fork.assert_has(&seen);
            disk.disk.free().unwrap();
            until("writes are taken again", || {
                fork.send().ok().map(|hash| {
                    let receipt = until("it is mined", || fork.receipt(&hash));
                    seen.push((hash, receipt));
                })
            });
        }
        // What was read on a full disk is kept once there is room, with what is read then.
        fork.read(50..52);
        disk.disk.fill().unwrap();
        fork.read(52..70);
        fork.assert_refused(&mut seen);
        fork.node.kill().unwrap();
        disk.pack_elsewhere();
        // Started on a full disk, with its source and without.
        let mut fork = disk.start_on_source();
        fork.assert_has(&seen);
        fork.read(0..80);
        fork.assert_refused(&mut seen);
        assert!(fork.node.stop().unwrap().success(), "a stop is a stop");
        disk.source.take().unwrap().stop().unwrap();
        let mut fork = disk.start_offline();
        fork.assert_has(&seen);
        fork.read(0..52);
        fork.assert_refused(&mut seen);
        fork.node.kill().unwrap();
        disk.disk.free().unwrap();
        let mut fork = disk.start_offline();
        fork.assert_has(&seen);
        fork.read(0..52);
        fork.sent(&mut seen);
        fork.assert_has(&seen);
        assert!(fork.node.stop().unwrap().success());
        disk.pack_elsewhere();
        assert_eq!(disk.others(), Vec::<String>::new());
    }
}

/// Ends a start that is to fail; its text.
fn refused_start(folder: &Path, pack: &Path) -> String {
    let mut command = Command::new(PROGRAM);
    command.args(["evm", "--port", "0", "--fork-from"]).arg(pack).arg("--data-dir").arg(folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    text
}

#[test]
fn files_of_a_fork_on_a_full_disk_are_whole_or_not_there() {
    let Some(disk) = Disk::mount("0") else { return };
    let mut fork = disk.start_on_source();
    fork.read(0..ACCOUNTS);
    let mut seen = Vec::new();
    fork.sent(&mut seen);
    assert!(fork.node.stop().unwrap().success());
    let pack = disk.pack_elsewhere();
    let (on_disk, new) = (disk.disk.path().join("run.pack"), disk.disk.path().join("new"));
    disk.disk.fill().unwrap();
    let (code, text) = disk.pack(&on_disk);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains(NO_SPACE) && text.contains("run.pack"), "{text}");
    assert_eq!(disk.others(), Vec::<String>::new());
    let text = refused_start(&new, &pack);
    assert!(text.contains(NO_SPACE) || text.contains(FULL), "{text}");
    let folder = |folder: &Path| {
        let chains = fs::read_dir(folder.join("fork")).into_iter().flatten();
        let files = chains.flat_map(|chain| fs::read_dir(chain.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect::<Vec<_>>()
    };
    for file in folder(&new) {
        assert_eq!(file.extension().unwrap(), "lock", "{}", file.display());
    }
    // An older file stays whole.
    disk.disk.free().unwrap();
    assert_eq!(disk.pack(&on_disk).0, Some(0));
    let whole = fs::read(&on_disk).unwrap();
    assert_eq!(whole, fs::read(&pack).unwrap());
    disk.disk.fill().unwrap();
    assert_eq!(disk.pack(&on_disk).0, Some(1));
    assert_eq!(fs::read(&on_disk).unwrap(), whole);
    disk.disk.free().unwrap();
    // With room the same start works.
    let flags = ["--fork-from", pack.to_str().unwrap()];
    let node = local().evm().data_dir(&new).args(&flags).start().unwrap();
    let balance = call(&mut node.rpc(), "eth_getBalance", json!([account(7), "latest"])).unwrap();
    assert_eq!(balance, "0x8");
    assert!(node.stop().unwrap().success());
}
