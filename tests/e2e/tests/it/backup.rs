//! Backups of running and stopped nodes: `admin.backup` and `esker backup`. A backup verifies, starts, and holds all
//! that was accepted before it began; what fails or is killed leaves nothing that could be taken for one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use esker_client::{CallError, HttpClient, RpcClient};
use esker_e2e::disk::SmallDisk;
use esker_e2e::funds::FUNDED;
use esker_e2e::{Node, NodeBuilder, until};
use serde_json::{Value, json};

use crate::support::{esker, json_lines, local};

const ADMIN: &str = "/ext/admin";
const C: &str = "/ext/bc/C/rpc";
const X: &str = "/ext/bc/X";
const KEYSTORE: &str = "/ext/keystore";
const PASSWORD: &str = "Str0ng-Pass-W0rd!";
/// A rate at which a backup does not end within a test.
const NEVER: &str = "1";

fn dev(folder: &Path) -> NodeBuilder {
    local().dev().data_dir(folder).args(&["--api-admin-enabled", "--log-format", "json"])
}

fn call(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Result<Value, String> {
    rpc.call(path, method, params).map_err(|error| match error {
        CallError::Rpc { message, .. } => message,
        other => other.to_string(),
    })
}

fn backup(node: &Node, path: &Path, rate: &str) -> Result<Value, String> {
    let params = json!({ "path": path, "bytesPerSecond": rate });
    call(&mut node.rpc(), ADMIN, "admin.backup", params)
}

fn assert_verifies(folder: &Path) {
    let (code, text) = esker(&["db", "verify", "--dev", "--data-dir"], &[folder]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.ends_with("\nnothing is wrong\n"), "{text}");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn alice(mut params: Value) -> Value {
    params["username"] = json!("alice");
    params["password"] = json!(PASSWORD);
    params
}

fn heights(rpc: &mut RpcClient) -> [u64; 2] {
    let x = call(rpc, X, "xvm.getHeight", json!({})).unwrap();
    let c = call(rpc, C, "eth_blockNumber", json!([])).unwrap();
    let c = c.as_str().unwrap().trim_start_matches("0x");
    [x["height"].as_str().unwrap().parse().unwrap(), u64::from_str_radix(c, 16).unwrap()]
}

/// The blocks at these heights.
fn blocks(rpc: &mut RpcClient, [x, c]: [u64; 2]) -> [Value; 2] {
    let by_height = json!({ "height": x, "encoding": "hex" });
    [
        call(rpc, X, "xvm.getBlockByHeight", by_height).unwrap(),
        call(rpc, C, "eth_getBlockByNumber", json!([format!("{c:#x}"), true])).unwrap(),
    ]
}

fn node_id(rpc: &mut RpcClient) -> Value {
    call(rpc, "/ext/info", "info.getNodeID", json!({})).unwrap()
}

/// A transfer with so many bytes of data; the hash.
fn send_c(rpc: &mut RpcClient, bytes: usize) -> Value {
    let accounts = call(rpc, C, "eth_accounts", json!([])).unwrap();
    let data = format!("0x{}", "01".repeat(bytes));
    let tx = json!([{ "from": accounts[0], "to": accounts[1], "value": "0x1", "data": data, "gas": "0x200000" }]);
    call(rpc, C, "eth_sendTransaction", tx).unwrap()
}

fn send_x(rpc: &mut RpcClient) {
    let addresses = call(rpc, X, "xvm.listAddresses", alice(json!({}))).unwrap();
    let to = &addresses["addresses"][0];
    let params = alice(json!({ "to": to, "amount": 1, "assetID": "NAT" }));
    call(rpc, X, "xvm.send", params).unwrap();
}

/// A user with the funded key, and some mebibytes of blocks: a copy that takes several steps.
fn fill(node: &Node) {
    let mut rpc = node.rpc();
    call(&mut rpc, KEYSTORE, "keystore.createUser", alice(json!({}))).unwrap();
    call(&mut rpc, X, "xvm.importKey", alice(json!({ "privateKey": FUNDED }))).unwrap();
    let last = (0..48).map(|_| send_c(&mut rpc, 60_000)).last().unwrap();
    until("the transactions are mined", || {
        let receipt = call(&mut rpc, C, "eth_getTransactionReceipt", json!([last])).unwrap();
        (!receipt.is_null()).then_some(())
    });
}

/// Clients that send on both chains until they are stopped.
struct Load {
    stop: Arc<AtomicBool>,
    sent: Arc<[AtomicU64; 2]>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(node: &Node) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let sent = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let sends: [fn(&mut RpcClient); 2] = [send_x, |rpc| drop(send_c(rpc, 10))];
        let clients = sends.into_iter().enumerate().map(|(chain, send)| {
            let (mut rpc, stop, sent) = (node.rpc(), Arc::clone(&stop), Arc::clone(&sent));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    send(&mut rpc);
                    sent[chain].fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        Self { clients: clients.collect(), stop, sent }
    }

    fn sent(&self) -> [u64; 2] {
        [0, 1].map(|chain| self.sent[chain].load(Ordering::Relaxed))
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.clients.into_iter().for_each(|client| client.join().unwrap());
    }
}

/// Log lines of backups, with this message.
fn logged(data: &Path, message: &str) -> Vec<Value> {
    let mut lines = json_lines(&data.join("logs/main.log"));
    lines.retain(|line| line["message"] == message);
    lines
}

#[test]
fn a_backup_under_load_verifies_and_starts() {
    let dir = tempfile::tempdir().unwrap();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let node = dev(&data).start().unwrap();
    fill(&node);
    let mut rpc = node.rpc();
    let account = call(&mut rpc, C, "personal_newAccount", json!(["a passphrase"])).unwrap();
    let load = Load::start(&node);
    until("both chains are under load", || load.sent().iter().all(|n| *n > 5).then_some(()));

    let (begun, sent) = (heights(&mut rpc), load.sent());
    let url = node.url();
    let args = ["backup", "--url", &url, "--bytes-per-second", "2000000"];
    let (code, text) = esker(&args, &[&copy]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with(&format!("backup written to {}, ", copy.display())), "{text}");
    let (ended, sent_meanwhile) = (heights(&mut rpc), load.sent());
    for chain in [0, 1] {
        assert!(sent_meanwhile[chain] > sent[chain], "chain {chain} stood still meanwhile");
        assert!(ended[chain] > begun[chain], "chain {chain} stood still meanwhile");
    }
    load.stop();
    let written = &logged(&data, "backup written")[0];
    assert_eq!(written["path"], copy.to_str().unwrap());
    assert!(written["bytes"].as_u64() > Some(2 << 20), "{written}");
    assert_eq!(names(dir.path()), ["copy", "data"]);
    assert_eq!(names(&copy), ["esker.mdb", "keystore", "staking"]);
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o700);
    for file in ["esker.mdb", "staking/staker.key"] {
        let mode = fs::metadata(copy.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }

    assert_verifies(&copy);
    let restored = dev(&copy).start().unwrap();
    let mut other = restored.rpc();
    let found = heights(&mut other);
    for chain in [0, 1] {
        assert!((begun[chain]..=ended[chain]).contains(&found[chain]), "{begun:?} {found:?}");
    }
    assert_eq!(blocks(&mut other, found), blocks(&mut rpc, found));
    assert_eq!(node_id(&mut other), node_id(&mut rpc));
    let users = call(&mut other, KEYSTORE, "keystore.listUsers", json!({})).unwrap();
    assert_eq!(users, json!({ "users": ["alice"] }));
    let accounts = call(&mut other, C, "personal_listAccounts", json!([])).unwrap();
    let account = account.as_str().unwrap().to_lowercase();
    assert!(accounts.as_array().unwrap().contains(&json!(account)), "{accounts}");
    // Both go on from there.
    send_x(&mut other);
    send_c(&mut other, 10);
    until("new blocks on both chains", || {
        let now = heights(&mut other);
        (now[0] > found[0] && now[1] > found[1]).then_some(())
    });
    assert!(restored.stop().unwrap().success());
    assert!(node.stop().unwrap().success());
}

#[test]
fn a_stopped_folder_is_copied_by_the_command_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let command = ["backup", "--dev", "--data-dir"];
    let (code, text) = esker(&command, &[&data, &copy]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("no node data in"), "{text}");

    let node = dev(&data).start().unwrap();
    send_c(&mut node.rpc(), 10);
    let (code, text) = esker(&command, &[&data, &copy]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("is in use by another process") && text.contains("--url"), "{text}");
    let id = node_id(&mut node.rpc());
    assert!(node.stop().unwrap().success());

    let (code, text) = esker(&command, &[&data, &copy]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = esker(&command, &[&data, &copy]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("already exists; choose another folder"), "{text}");
    assert_verifies(&copy);
    let restored = dev(&copy).start().unwrap();
    assert_eq!(node_id(&mut restored.rpc()), id);
    assert!(heights(&mut restored.rpc())[1] > 0);
}

#[test]
fn targets_that_can_not_be_written_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (data, there) = (dir.path().join("data"), dir.path().join("there"));
    let node = dev(&data).start().unwrap();
    fs::create_dir(&there).unwrap();
    // A folder of somebody else's that has the name of an unfinished backup.
    let (other, mine) = (dir.path().join("other"), dir.path().join("other.partial"));
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("file"), "x").unwrap();
    for (path, message) in [
        (there.as_path(), format!("{} already exists; choose another folder", there.display())),
        (&other, format!("{} already exists; choose another folder", mine.display())),
        (&dir.path().join("no/where"), "cannot create folder".to_owned()),
        (Path::new(""), "invalid folder: \"\"".to_owned()),
        (Path::new("/"), "invalid folder: \"/\"".to_owned()),
    ] {
        let refused = backup(&node, path, "0").unwrap_err();
        assert!(refused.starts_with(&message), "{refused}");
    }
    assert_eq!(fs::read_to_string(mine.join("file")).unwrap(), "x");
    assert_eq!(logged(&data, "backup failed").len(), 4, "one with an empty path does not begin");
    assert_eq!(names(dir.path()), ["data", "other.partial", "there"]);
    // A relative path is one in the data folder.
    let written = backup(&node, Path::new("copy"), "0").unwrap();
    assert_eq!(written["path"], data.join("copy").to_str().unwrap());
    let size = fs::metadata(data.join("copy/esker.mdb")).unwrap().len();
    assert_eq!(written["size"], size.to_string());
    assert_verifies(&data.join("copy"));

    // As without --url.
    let (code, text) = esker(&["backup", "--url", &node.url()], &[&mine]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains(" already exists; choose another folder"), "{text}");
    let ca_file = ["backup", "--ca-file", "/nowhere", "--url", "https://127.0.0.1:1"];
    let (code, text) = esker(&ca_file, &[&other]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--ca-file: can't read /nowhere"), "{text}");
    let closed = local().dev().start().unwrap();
    let (code, text) = esker(&["backup", "--url", &closed.url()], &[&other]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("does not serve its admin API (api-admin-enabled)"), "{text}");
    assert!(!other.exists());
}

#[test]
fn a_disk_without_room_refuses_a_backup_and_the_node_goes_on() {
    let Some(disk) = SmallDisk::mount(256 << 10).unwrap() else { return };
    let dir = tempfile::tempdir().unwrap();
    let node = dev(&dir.path().join("data")).start().unwrap();
    fill(&node);
    let refused = backup(&node, &disk.path().join("copy"), "0").unwrap_err();
    assert!(refused.starts_with("insufficient disk space: "), "{refused}");
    assert!(names(disk.path()).is_empty(), "nothing half-written is left");
    send_x(&mut node.rpc());
}

#[test]
fn a_backup_goes_on_when_its_client_goes_away() {
    let dir = tempfile::tempdir().unwrap();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let node = dev(&data).start().unwrap();
    fill(&node);
    let mut rpc = node.rpc();
    *rpc.http() = HttpClient::new(node.address()).with_timeout(Duration::from_millis(200));
    let params = json!({ "path": copy, "bytesPerSecond": "1000000" });
    let gone = call(&mut rpc, ADMIN, "admin.backup", params).unwrap_err();
    assert!(gone.starts_with("connection: "), "{gone}");
    assert!(!copy.exists(), "it still runs");
    drop(rpc);
    until("the backup is written", || (!logged(&data, "backup written").is_empty()).then_some(()));
    assert_verifies(&copy);
}

/// Starts a backup that does not end by itself; the thread returns what its caller gets.
fn endless(node: &Node, path: &Path) -> JoinHandle<Result<Value, String>> {
    let (mut rpc, params) = (node.rpc(), json!({ "path": path, "bytesPerSecond": NEVER }));
    let running = thread::spawn(move || call(&mut rpc, ADMIN, "admin.backup", params));
    let partial = path.with_extension("partial");
    until("the backup has begun", || partial.join("esker.mdb.partial").exists().then_some(()));
    running
}

#[test]
fn a_node_that_stops_ends_its_backup() {
    let dir = tempfile::tempdir().unwrap();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let node = dev(&data).start().unwrap();
    fill(&node);
    let running = endless(&node, &copy);
    // One at a time.
    let second = dir.path().join("second");
    assert_eq!(backup(&node, &second, "0").unwrap_err(), "another backup is running");
    let (code, text) = esker(&["backup", "--url", &node.url()], &[&second]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("another backup is running"), "{text}");
    assert!(node.stop().unwrap().success());
    running.join().unwrap().unwrap_err();
    assert_eq!(names(dir.path()), ["data"], "nothing half-written is left");
    assert_eq!(logged(&data, "backup failed")[0]["error"], "the node is stopping");
    assert_eq!(logged(&data, "stopped").len(), 1);
    assert_verifies(&data);
}

#[test]
fn what_a_kill_leaves_is_removed_by_the_next_backup() {
    let dir = tempfile::tempdir().unwrap();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let node = dev(&data).start().unwrap();
    fill(&node);
    let before = heights(&mut node.rpc());
    let running = endless(&node, &copy);
    // Another process does not take it for abandoned.
    let other = dev(&dir.path().join("other")).start().unwrap();
    let refused = backup(&other, &copy, "0").unwrap_err();
    assert!(refused.ends_with("is being written by another process"), "{refused}");
    node.kill().unwrap();
    running.join().unwrap().unwrap_err();
    assert_eq!(names(dir.path()), ["copy.partial", "data", "other"]);
    // A folder of that name is no data folder.
    let (code, text) =
        esker(&["db", "verify", "--dev", "--data-dir"], &[&dir.path().join("copy.partial")]);
    assert_eq!(code, Some(2), "{text}");

    let node = dev(&data).start().unwrap();
    backup(&node, &copy, "0").unwrap();
    assert_eq!(names(dir.path()), ["copy", "data", "other"]);
    assert_eq!(logged(&data, "removed a backup that was not finished").len(), 1);
    assert_verifies(&copy);
    assert_eq!(heights(&mut dev(&copy).start().unwrap().rpc()), before);
}
