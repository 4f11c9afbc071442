//! A disk that fills up, fails or ends under a running node: reads go on, writes are refused with a text, and the node
//! goes on by itself; nothing that was accepted is lost.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use esker_client::{CallError, RpcClient};
use esker_e2e::disk::{FailingDisk, Fault, SmallDisk};
use esker_e2e::funds::{FUNDED, funded};
use esker_e2e::{Node, NodeBuilder, until};
use esker_primitives::{address, hexfmt};
use serde_json::{Value, json};

use crate::support::{PROGRAM, local, wallet};

const C: &str = "/ext/bc/C/rpc";
const X: &str = "/ext/bc/X";
const WALLET: &str = "/ext/bc/X/wallet";
const NAT: &str = "/ext/bc/C/nat";
const KEYSTORE: &str = "/ext/keystore";
const PASSWORD: &str = "Str0ng-Pass-W0rd!";
/// A disk with more than enough room for what these tests write.
const DISK: u64 = 48 << 20;
const FULL: &str = "insufficient disk space";
const SUSPENDED: &str = "no blocks are made and writes are refused";
const RESUMED: &str = "the disk is writable again";
/// Error numbers of Linux.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;

fn dev(folder: &Path) -> NodeBuilder {
    local().dev().data_dir(folder)
}

/// Calls; the error is the message.
fn call(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Result<Value, String> {
    rpc.call(path, method, params).map_err(|error| match error {
        CallError::Rpc { message, .. } => message,
        other => panic!("{path} {method}: {other}"),
    })
}

fn alice(mut params: Value) -> Value {
    params["username"] = json!("alice");
    params["password"] = json!(PASSWORD);
    params
}

/// A client, with what the node has returned to it.
struct Client {
    rpc: RpcClient,
    accounts: Vec<String>,
    /// Hashes that were returned.
    sent: Vec<String>,
    /// Receipts that were served.
    receipts: Vec<(String, Value)>,
}

impl Client {
    /// A client with a user of the keystore that holds the funded key on both chains.
    fn first(node: &Node) -> Self {
        let client = Self::of(node);
        let mut rpc = node.rpc();
        call(&mut rpc, KEYSTORE, "keystore.createUser", alice(json!({}))).unwrap();
        for (path, method) in [(X, "xvm.importKey"), (NAT, "nat.importKey")] {
            call(&mut rpc, path, method, alice(json!({ "privateKey": FUNDED }))).unwrap();
        }
        client
    }

    fn of(node: &Node) -> Self {
        let mut rpc = node.rpc();
        let accounts = call(&mut rpc, C, "eth_accounts", json!([])).unwrap();
        let accounts = serde_json::from_value(accounts).unwrap();
        Self { rpc, accounts, sent: Vec::new(), receipts: Vec::new() }
    }

    /// The same after a restart.
    fn on(self, node: &Node) -> Self {
        Self { rpc: node.rpc(), ..self }
    }

    fn c(&mut self, method: &str, params: Value) -> Result<Value, String> {
        call(&mut self.rpc, C, method, params)
    }

    /// A transaction with so many bytes of data from the first account.
    fn send(&mut self, data: usize) -> Result<(), String> {
        let data = format!("0x{}", "01".repeat(data));
        let (from, to) = (&self.accounts[0], &self.accounts[1]);
        let tx =
            json!([{ "from": from, "to": to, "value": "0x1", "data": data, "gas": "0x200000" }]);
        let hash = self.c("eth_sendTransaction", tx)?;
        self.sent.push(hash.as_str().unwrap().to_owned());
        Ok(())
    }

    fn receipt(&mut self, hash: &str) -> Option<Value> {
        let receipt = self.c("eth_getTransactionReceipt", json!([hash])).unwrap();
        (!receipt.is_null()).then_some(receipt)
    }

    /// Waits until every hash that was returned is mined.
    fn all_mined(&mut self) {
        for hash in std::mem::take(&mut self.sent) {
            let receipt = until(&format!("{hash} is mined"), || self.receipt(&hash));
            self.receipts.push((hash, receipt));
        }
    }

    /// Every mined transaction is still mined, with the same receipt, and the nonce of the account fits. The nonce
    /// may be higher, since waiting transactions may have found a block.
    fn assert_nothing_lost(&mut self) {
        for (hash, receipt) in std::mem::take(&mut self.receipts) {
            assert_eq!(self.receipt(&hash).as_ref(), Some(&receipt), "{hash} was mined before");
            self.receipts.push((hash, receipt));
        }
        let account = self.accounts[0].clone();
        let nonce = self.c("eth_getTransactionCount", json!([account, "latest"])).unwrap();
        let nonce = nonce.as_str().unwrap().trim_start_matches("0x");
        let nonce = usize::from_str_radix(nonce, 16).unwrap();
        assert!(nonce >= self.receipts.len(), "{nonce} of {}", self.receipts.len());
    }

    /// Sends until that is refused, which the text must say.
    fn send_until_refused(&mut self, data: usize, text: &str) {
        let refused = until("a send is refused", || self.send(data).err());
        assert!(refused.starts_with(text), "{refused}");
        let refused = self.send(data).unwrap_err();
        assert!(refused.starts_with(text), "{refused}");
    }

    fn assert_reads_work(&mut self) {
        let account = self.accounts[0].clone();
        let height = self.c("eth_blockNumber", json!([])).unwrap();
        assert!(self.c("eth_getBlockByNumber", json!([height, true])).unwrap().is_object());
        assert!(self.c("eth_getBalance", json!([account, "latest"])).unwrap().is_string());
        assert!(self.c("eth_call", json!([{ "to": account }, "latest"])).unwrap().is_string());
        let rpc = &mut self.rpc;
        assert!(call(rpc, X, "xvm.getHeight", json!({})).unwrap()["height"].is_string());
        let addresses = call(rpc, X, "xvm.listAddresses", alice(json!({}))).unwrap();
        let address = &addresses["addresses"][0];
        let balance = json!({ "address": address, "assetID": "NAT" });
        assert!(call(rpc, X, "xvm.getBalance", balance).unwrap()["balance"].is_string());
        assert!(call(rpc, KEYSTORE, "keystore.listUsers", json!({})).unwrap().is_object());
    }

    fn get(&mut self, path: &str) -> (u16, Value) {
        let reply = self.rpc.http().request("GET", path, &[], b"").unwrap();
        (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
    }

    fn metric(&mut self, name: &str) -> String {
        let reply = self.rpc.http().request("GET", "/ext/metrics", &[], b"").unwrap();
        let text = reply.text();
        let value = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        value.unwrap().to_owned()
    }

    /// Health, readiness and metrics report that writes are refused, with the reason.
    fn assert_suspended(&mut self, text: &str) {
        until("the health report says it", || {
            let (status, report) = self.get("/ext/health");
            let error = report["checks"]["database"]["error"].as_str().unwrap_or_default();
            (status == 503 && error.starts_with(text)).then_some(())
        });
        let (status, report) = self.get("/ext/health/readiness");
        assert_eq!(status, 503, "{report}");
        assert_eq!(self.get("/ext/health/liveness").0, 200);
        assert_eq!(self.metric("esker_store_writable"), "0");
    }

    fn assert_recovered(&mut self) {
        until("the node is ready", || (self.get("/ext/health/readiness").0 == 200).then_some(()));
        assert_eq!(self.metric("esker_store_writable"), "1");
    }
}

/// The requests that are refused while there is no room, one of each kind. Some are valid transactions, which are
/// accepted later.
struct Refused(Vec<(&'static str, &'static str, Value)>);

impl Refused {
    fn prepare(node: &Node, client: &mut Client) -> Self {
        let (from, to) = (client.accounts[2].clone(), client.accounts[3].clone());
        let tx = json!([{ "from": from, "to": to, "value": "0x1", "nonce": "0x0", "gas": "0x5208",
            "gasPrice": "0x3b9aca00" }]);
        let signed = client.c("eth_signTransaction", tx).unwrap();
        let funded = wallet(node, "X", funded());
        let native = funded.params().fee_asset_id;
        let output = |amount| esker_client::Wallet::output(native, amount, funded.owner());
        let text = |amount| {
            let tx = funded.base_tx(vec![output(amount)], b"").unwrap();
            json!({ "tx": hexfmt::encode_checked(tx.bytes()) })
        };
        let on = |chain: &str| address::format(chain, "local", &funded.owner());
        Self(vec![
            (C, "eth_sendRawTransaction", json!([signed["raw"]])),
            (X, "xvm.issueTx", text(1)),
            (WALLET, "wallet.issueTx", text(2)),
            (X, "xvm.send", alice(json!({ "to": on("X"), "amount": 3, "assetID": "NAT" }))),
            (X, "xvm.export", alice(json!({ "to": on("C"), "amount": 4, "assetID": "NAT" }))),
            (
                NAT,
                "nat.export",
                alice(json!({ "to": on("X"), "amount": 1_000_000, "assetID": "NAT" })),
            ),
            (X, "xvm.createAddress", alice(json!({}))),
            (KEYSTORE, "keystore.createUser", json!({ "username": "bob", "password": PASSWORD })),
        ])
    }

    fn assert_refused(&self, client: &mut Client, text: &str) {
        for (path, method, params) in &self.0 {
            let refused = call(&mut client.rpc, path, method, params.clone()).unwrap_err();
            assert!(refused.contains(text), "{method}: {refused}");
        }
    }

    fn take(&self, client: &mut Client) {
        for (path, method, params) in &self.0 {
            // Two of them spend what the first one has spent.
            if !["wallet.issueTx", "xvm.issueTx"].contains(method) {
                call(&mut client.rpc, path, method, params.clone()).unwrap();
            }
        }
    }
}

fn verify(folder: &Path) {
    let mut command = Command::new(PROGRAM);
    command.args(["db", "verify", "--dev", "--data-dir"]).arg(folder).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

fn count(node: &Node, line: &str) -> usize {
    node.output().matches(line).count()
}

#[test]
fn a_disk_fills_up_and_is_freed() {
    for reserve in ["16777216", "0"] {
        let Some(disk) = SmallDisk::mount(DISK).unwrap() else { return };
        let folder = disk.path().join("data");
        let start = || dev(&folder).arg("--store-disk-reserve").arg(reserve).start().unwrap();
        let node = start();
        let mut client = Client::first(&node);
        let refused = Refused::prepare(&node, &mut client);
        client.send(100).unwrap();
        client.all_mined();
        for episode in 1..=2 {
            disk.fill().unwrap();
            client.send_until_refused(100, FULL);
            refused.assert_refused(&mut client, FULL);
            client.assert_reads_work();
            client.assert_suspended(FULL);
            disk.free().unwrap();
            client.assert_recovered();
            client.all_mined();
            client.send(100).unwrap();
            client.all_mined();
            assert_eq!((count(&node, SUSPENDED), count(&node, RESUMED)), (episode, episode));
        }
        refused.take(&mut client);
        // Killed on a full disk, and started on one.
        disk.fill().unwrap();
        client.send_until_refused(100, FULL);
        client.sent.clear();
        node.kill().unwrap();
        verify(&folder);
        let node = start();
        let mut client = client.on(&node);
        client.assert_nothing_lost();
        client.assert_reads_work();
        client.send_until_refused(100, FULL);
        client.sent.clear();
        assert!(node.stop().unwrap().success(), "a stop is a stop");
        disk.free().unwrap();
        let node = start();
        let mut client = client.on(&node);
        client.assert_nothing_lost();
        client.send(100).unwrap();
        client.all_mined();
        client.assert_nothing_lost();
        assert!(node.stop().unwrap().success());
        verify(&folder);
    }
}

/// `esker export` to a file on the disk of the node's folder; the error's text where it fails.
fn export(folder: &Path, file: &Path, flags: &[&str]) -> Result<(), String> {
    let mut command = Command::new(PROGRAM);
    command.arg("export").arg(file).args(["--dev", "--data-dir"]).arg(folder).args(flags);
    let output = command.stdin(Stdio::null()).output().unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn an_export_leaves_room_for_the_node() {
    let Some(disk) = SmallDisk::mount(DISK).unwrap() else { return };
    let folder = disk.path().join("data");
    let node = dev(&folder).start().unwrap();
    let mut client = Client::first(&node);
    for _ in 0..30 {
        client.send(80_000).unwrap();
    }
    client.all_mined();
    assert!(node.stop().unwrap().success());
    let file = disk.path().join("blocks.jsonl");
    let mut others = std::fs::File::create(disk.path().join("others")).unwrap();
    let refused = loop {
        if let Err(refused) = export(&folder, &file, &[]) {
            break refused;
        }
        std::fs::remove_file(&file).unwrap();
        others.write_all(&vec![7; 2 << 20]).expect("an export was never refused");
    };
    let text = format!("esker: {}: {FULL}: ", file.display());
    assert!(refused.starts_with(&text) && refused.contains("store-disk-reserve"), "{refused}");
    let mut left: Vec<_> =
        std::fs::read_dir(disk.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["data", "others"]);
    // On another disk, and without a reserve, it is written.
    let elsewhere = tempfile::tempdir().unwrap();
    export(&folder, &elsewhere.path().join("blocks.jsonl"), &[]).unwrap();
    export(&folder, &file, &["--store-disk-reserve", "0"]).unwrap();
    std::fs::remove_file(&file).unwrap();
    let node = dev(&folder).start().unwrap();
    let mut client = client.on(&node);
    client.send(100).unwrap();
    client.all_mined();
    assert_eq!(count(&node, SUSPENDED), 0);
    assert!(node.stop().unwrap().success());
}

/// Code that never ends by itself: its trace is as long as its gas allows.
const LOOP: &str = "0x5b600056";
const NO_ROOM: &str =
    "the result does not fit into memory, and writing it to a file failed: insufficient disk space";

/// Asks for a trace of some megabytes; true if there is an answer, of which only the first bytes are read.
fn begin_large_answer(node: &Node) -> (TcpStream, bool) {
    let call = json!([{ "to": "0x00000000000000000000000000000000000000bb", "gas": "0x40000" }, "latest",
        { "stateOverrides": { "0x00000000000000000000000000000000000000bb": { "code": LOOP } } }]);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "debug_traceCall", "params": call });
    let call = call.to_string();
    let mut stream = TcpStream::connect(node.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(
        stream,
        "POST {C} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{call}",
        call.len()
    )
    .unwrap();
    let mut begun = vec![0; 1024];
    let read = stream.read(&mut begun).unwrap();
    let begun = String::from_utf8_lossy(&begun[..read]).into_owned();
    assert!(begun.starts_with("HTTP/1.1 200"), "{begun}");
    let is_refused = begun.contains(NO_ROOM);
    assert!(is_refused || !begun.contains("\"error\""), "{begun}");
    (stream, !is_refused)
}

#[test]
fn answers_that_nobody_reads_leave_room_for_blocks() {
    let Some(disk) = SmallDisk::mount(DISK).unwrap() else { return };
    let folder = disk.path().join("data");
    let node = dev(&folder).start().unwrap();
    let mut client = Client::first(&node);
    let mut unread = Vec::new();
    loop {
        assert!(unread.len() < 100, "large answers were never refused");
        let (stream, is_answered) = begin_large_answer(&node);
        if !is_answered {
            break;
        }
        unread.push(stream);
    }
    assert!(unread.len() > 1, "{}", unread.len());
    for _ in 0..10 {
        client.send(100).unwrap();
        client.all_mined();
    }
    assert_eq!(count(&node, SUSPENDED), 0, "blocks went on");
    let warned = "a large result could not be written to a file";
    assert_eq!(count(&node, warned), 1, "{}", node.output());
    drop(unread);
    until("the room is free again", || begin_large_answer(&node).1.then_some(()));
    assert!(node.stop().unwrap().success());
    verify(&folder);
}

#[test]
fn the_end_of_the_map() {
    const MAP: &str = "3145728";
    let folder = tempfile::tempdir().unwrap();
    let start = |map| dev(folder.path()).arg("--store-map-size").arg(map).start().unwrap();
    let node = start(MAP);
    let mut client = Client::first(&node);
    let text = format!("{FULL}: the store has reached its limit of {MAP} bytes");
    client.send_until_refused(40_000, &text);
    client.assert_reads_work();
    client.assert_suspended(&text);
    assert_eq!(count(&node, SUSPENDED), 1);
    // A transaction with a receipt still exists after a kill. One that waited for a block does not.
    let sent = std::mem::take(&mut client.sent);
    for hash in sent {
        if let Some(receipt) = client.receipt(&hash) {
            client.receipts.push((hash, receipt));
        }
    }
    assert!(client.receipts.len() > 10, "{} blocks", client.receipts.len());
    node.kill().unwrap();
    verify(folder.path());
    let node = start("1073741824");
    let mut client = client.on(&node);
    client.assert_nothing_lost();
    client.send(40_000).unwrap();
    client.all_mined();
    client.assert_nothing_lost();
    assert!(node.stop().unwrap().success());
    verify(folder.path());
}

#[test]
fn writes_that_fail_for_a_while() {
    let Some(disk) = FailingDisk::build().unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let start = || disk.under(dev(folder.path())).start().unwrap();
    let mut node = start();
    let mut client = Client::first(&node);
    let refused = Refused::prepare(&node, &mut client);
    for (fault, errno, text) in [
        (Fault::Data, EROFS, "the disk is read-only"),
        (Fault::Data, ENOSPC, FULL),
        (Fault::Data, EIO, "the disk does not take writes: Input/output error"),
        (Fault::Sync, EIO, "the disk does not take writes: Input/output error"),
        (Fault::Meta, EIO, "the disk does not take writes: Input/output error"),
        (Fault::Stuck, EIO, "the disk does not take writes: Input/output error"),
    ] {
        client.send(100).unwrap();
        client.all_mined();
        let before = (count(&node, SUSPENDED), count(&node, RESUMED));
        disk.fail(fault, errno).unwrap();
        client.send_until_refused(100, text);
        refused.assert_refused(&mut client, text);
        client.assert_reads_work();
        client.assert_suspended(text);
        disk.repair().unwrap();
        client.all_mined();
        client.assert_recovered();
        client.send(100).unwrap();
        client.all_mined();
        let after = (count(&node, SUSPENDED), count(&node, RESUMED));
        assert_eq!(after, (before.0 + 1, before.1 + 1), "{fault:?} {errno}");
        // Killed while it fails.
        disk.fail(fault, errno).unwrap();
        client.send_until_refused(100, text);
        client.sent.clear();
        node.kill().unwrap();
        disk.repair().unwrap();
        verify(folder.path());
        node = start();
        client = client.on(&node);
        client.assert_nothing_lost();
    }
    assert!(node.stop().unwrap().success());
    verify(folder.path());
}

#[test]
fn a_first_start_without_room_says_why() {
    let Some(disk) = SmallDisk::mount(DISK).unwrap() else { return };
    disk.fill().unwrap();
    let error = dev(&disk.path().join("data")).start().unwrap_err().to_string();
    assert!(error.contains("exit status: 1"), "{error}");
    assert!(error.contains("No space left on device"), "{error}");
    disk.free().unwrap();
    let node = dev(&disk.path().join("data")).start().unwrap();
    let mut client = Client::first(&node);
    client.send(100).unwrap();
    client.all_mined();
}
