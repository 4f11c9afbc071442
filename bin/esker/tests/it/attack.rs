//! `esker evm` under clients in a tight loop, some of which never read or leave, when it is killed.

use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Esker, run};

/// Receipts that clients must have seen before the node is killed.
const RECEIPTS: usize = 60;
/// How long that may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time limit of a socket of a client.
const SOCKET_PATIENCE: Duration = Duration::from_secs(30);

fn request(method: &str, params: &Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn connect(address: &str) -> Option<TcpStream> {
    let stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(SOCKET_PATIENCE)).ok()?;
    stream.set_write_timeout(Some(SOCKET_PATIENCE)).ok()?;
    Some(stream)
}

/// The reply to a call; `None` if the node is gone.
fn ask(address: &str, method: &str, params: &Value) -> Option<Value> {
    let mut stream = connect(address)?;
    stream.write_all(request(method, params).as_bytes()).ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    serde_json::from_str(reply.split_once("\r\n\r\n")?.1).ok()
}

/// What clients have seen.
#[derive(Default)]
struct Seen {
    receipts: AtomicUsize,
    is_over: AtomicBool,
}

impl Seen {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    /// Sends from an account and looks for each receipt. Returns the hashes of those that it saw.
    fn send(&self, address: &str, from: &Value) -> Vec<Value> {
        let mut seen = Vec::new();
        while self.goes_on() {
            // More than the base fees that `control` sets, which rise above what the node offers by itself.
            let fee = "0x3b9aca00";
            let transfer = json!([{"from": from, "to": from, "value": "0x1", "maxFeePerGas": fee}]);
            let Some(sent) = ask(address, "eth_sendTransaction", &transfer) else { continue };
            let receipt = ask(address, "eth_getTransactionReceipt", &json!([sent["result"]]));
            if receipt.is_some_and(|receipt| receipt["result"].is_object()) {
                seen.push(sent["result"].clone());
                self.receipts.fetch_add(1, Ordering::Relaxed);
            }
        }
        seen
    }

    /// Changes the state, mines, and moves the clock.
    fn control(&self, address: &str) {
        for step in 1_u64.. {
            if !self.goes_on() {
                return;
            }
            let account = format!("0x{step:040x}");
            for (method, params) in [
                ("anvil_setBalance", json!([account, "0x5"])),
                ("anvil_setCode", json!([account, "0x6001600055"])),
                ("anvil_setNonce", json!([account, format!("{step:#x}")])),
                ("hardhat_mine", json!(["0x3"])),
                ("evm_increaseTime", json!([step % 50])),
                ("hardhat_setPrevRandao", json!([format!("0x{step:064x}")])),
                ("hardhat_setNextBlockBaseFeePerGas", json!([format!("{:#x}", step * 1000)])),
            ] {
                ask(address, method, &params);
            }
        }
    }

    /// Asks for much, and reads nothing.
    fn read_nothing(&self, address: &str) {
        while self.goes_on() {
            let Some(mut stream) = connect(address) else { continue };
            let large = request("eth_getBlockByNumber", &json!(["latest", true]));
            for _ in 0..20 {
                let _is_gone = stream.write_all(large.as_bytes());
            }
            // It stays until the node does something else.
            ask(address, "eth_gasPrice", &json!([]));
        }
    }

    /// Asks for files of the page, by all methods and in one go, and reads nothing of some.
    fn open_pages(&self, address: &str) {
        let paths = ["/", "/dashboard/app.js", "/dashboard/page.css", "/dashboard/none.js"];
        for step in 0_usize.. {
            if !self.goes_on() {
                return;
            }
            let Some(mut stream) = connect(address) else { continue };
            for at in 0..20 {
                let method = ["GET", "HEAD", "PUT"][(step + at) % 3];
                let path = paths[(step + at) % paths.len()];
                let page = format!(
                    "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\
                     Accept-Encoding: {}\r\nContent-Length: 0\r\n\r\n",
                    ["gzip", "identity"][at % 2]
                );
                let _is_gone = stream.write_all(page.as_bytes());
            }
            if step % 2 == 0 {
                let _is_gone = stream.read(&mut [0; 5000]);
            }
        }
    }

    /// Asks for work, and leaves.
    fn leave(&self, address: &str) {
        while self.goes_on() {
            for (method, params) in [
                ("hardhat_mine", json!(["0x20"])),
                ("debug_traceBlockByNumber", json!(["latest"])),
                ("testing_buildBlockV1", json!([])),
            ] {
                let Some(mut stream) = connect(address) else { continue };
                let _is_gone = stream.write_all(request(method, &params).as_bytes());
            }
        }
    }
}

/// Starts a node, and sends a signal to it while clients do all of that. Returns the hashes whose receipts they saw.
fn stopped_under_load(flags: &[&str], signal: &str) -> Vec<Value> {
    let node = Esker::start_alone(flags);
    let address = node.ready["evm"].as_str().unwrap().to_owned();
    let accounts = node.evm("eth_accounts", json!([]));
    let seen = Seen::default();
    let hashes = thread::scope(|scope| {
        let senders = accounts.as_array().unwrap()[..4].iter();
        let senders: Vec<_> =
            senders.map(|from| scope.spawn(|| seen.send(&address, from))).collect();
        scope.spawn(|| seen.control(&address));
        scope.spawn(|| seen.read_nothing(&address));
        scope.spawn(|| seen.leave(&address));
        scope.spawn(|| seen.open_pages(&address));
        let end = Instant::now() + PATIENCE;
        while seen.receipts.load(Ordering::Relaxed) < RECEIPTS && Instant::now() < end {
            ask(&address, "eth_feeHistory", &json!(["0x10", "latest", [50]]));
        }
        let (status, ..) = node.stop(signal);
        seen.is_over.store(true, Ordering::Relaxed);
        assert_eq!(status.success(), signal == "TERM", "{status}");
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(hashes.len() >= RECEIPTS, "{} receipts within {PATIENCE:?}", hashes.len());
    hashes
}

/// Starts a node again, which has all receipts.
fn assert_receipts(flags: &[&str], hashes: Vec<Value>) {
    let node = Esker::start_alone(flags);
    for hash in hashes {
        assert!(node.evm("eth_getTransactionReceipt", json!([hash])).is_object(), "{hash}");
    }
    assert!(node.stop("TERM").0.success());
}

#[test]
fn what_clients_saw_is_there_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    for signal in ["KILL", "TERM", "KILL"] {
        let hashes = stopped_under_load(&["--data-dir", data], signal);
        let ended = run(&["db", "verify", "--evm", "--data-dir", data]);
        assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
        assert_receipts(&["--data-dir", data], hashes);
    }
}

#[test]
fn what_clients_saw_of_a_fork_is_there_after_a_kill() {
    let source = Esker::start_alone(&[]);
    let url = format!("http://{}", source.ready["evm"].as_str().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let flags = ["--data-dir", data.to_str().unwrap(), "--fork-url", &url];
    for signal in ["KILL", "TERM"] {
        assert_receipts(&flags, stopped_under_load(&flags, signal));
    }
}

/// Ends the clients, also if the test fails.
struct Over<'a>(&'a Seen);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// Asks for balances without a pause; every request has a reply, and it is one of the chains'. Returns their number.
fn call_through_resets(address: &str, seen: &Seen) -> usize {
    let mut replies = 0;
    while seen.goes_on() {
        let reply = ask(address, "eth_getBalance", &json!([format!("{replies:#042x}"), "latest"]));
        let reply = reply.unwrap_or_else(|| panic!("request {replies} has no reply"));
        assert!(reply["result"].is_string(), "{reply}");
        replies += 1;
    }
    replies
}

#[test]
fn resets_between_sources_lose_no_reply() {
    let sources = [Esker::start_alone(&[]), Esker::start_alone(&[])];
    let urls: Vec<_> = sources.iter().map(|source| source.ready["url"].clone()).collect();
    for source in &sources {
        source.evm("hardhat_mine", json!(["0x8"]));
    }
    let node = Esker::start_alone(&["--fork-cache", "off"]);
    let address = node.ready["evm"].as_str().unwrap().to_owned();
    let seen = Seen::default();
    thread::scope(|scope| {
        let callers: Vec<_> =
            (0..4).map(|_| scope.spawn(|| call_through_resets(&address, &seen))).collect();
        scope.spawn(|| seen.open_pages(&address));
        scope.spawn(|| seen.read_nothing(&address));
        let over = Over(&seen);
        for step in 0..12 {
            let forking = json!({"jsonRpcUrl": urls[step % 2], "blockNumber": 1 + step % 7});
            let options = if step % 4 == 3 { json!([]) } else { json!([{"forking": forking}]) };
            let reply = ask(&address, "anvil_reset", &options).expect("a reply to a reset");
            assert!(reply.get("error").is_none(), "{reply}");
        }
        drop(over);
        for caller in callers {
            assert!(caller.join().unwrap() > 0);
        }
    });
    assert!(node.stop("TERM").0.success());
}

#[test]
fn a_state_file_is_whole_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("state.json");
    let path = file.to_str().unwrap();
    // From the second start on, the node begins with what the one before has written.
    for start in 1..=3 {
        let node = Esker::start_alone(&["--state", path, "--state-interval", "1"]);
        let address = node.ready["evm"].as_str().unwrap().to_owned();
        let from = node.evm("eth_accounts", json!([]))[0].clone();
        let seen = Seen::default();
        let files = thread::scope(|scope| {
            scope.spawn(|| seen.send(&address, &from));
            scope.spawn(|| seen.control(&address));
            let mut files = HashSet::new();
            let end = Instant::now() + PATIENCE;
            while files.len() < 3 && Instant::now() < end {
                files.extend(fs::metadata(&file).and_then(|file| file.modified()));
                ask(&address, "eth_gasPrice", &json!([]));
            }
            node.stop("KILL");
            seen.is_over.store(true, Ordering::Relaxed);
            files
        });
        assert!(files.len() >= 3, "start {start}: {} files within {PATIENCE:?}", files.len());
    }
    let node = Esker::start_alone(&["--load-state", path]);
    assert_eq!(node.evm("eth_getCode", json!([format!("0x{:040x}", 1), "latest"])), "0x6001600055");
}

#[test]
fn changes_of_one_second_are_blocks_of_their_own() {
    const TO: &str = "0x00000000000000000000000000000000000c0ffe";
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    let node = Esker::start_alone(&["--data-dir", data]);
    let from = node.evm("eth_accounts", json!([]))[0].clone();
    for _ in 0..5 {
        node.evm("eth_sendTransaction", json!([{"from": from, "to": TO, "value": "0x1"}]));
    }
    let slot = format!("0x{:064x}", 3);
    for (method, params) in [
        ("anvil_setBalance", json!([TO, "0x7"])),
        ("anvil_setCode", json!([TO, "0x6001"])),
        ("anvil_setNonce", json!([TO, "0x9"])),
        ("anvil_setStorageAt", json!([TO, "0x1", slot])),
        ("hardhat_mine", json!(["0x4"])),
    ] {
        node.evm(method, params);
    }
    // A header has 64 bits for it.
    let address = node.ready["evm"].as_str().unwrap();
    let method = "hardhat_setNextBlockBaseFeePerGas";
    let refused = ask(address, method, &json!(["0x10000000000000000"])).unwrap();
    let text = "a base fee of 18446744073709551616 wei is too high: at most 18446744073709551615";
    assert_eq!(refused["error"]["message"], text);
    let mut before = Value::Null;
    let last = node.evm("eth_blockNumber", json!([]));
    assert_eq!(last, "0xd");
    for height in 0..=13 {
        let block = node.evm("eth_getBlockByNumber", json!([format!("{height:#x}"), false]));
        let time = u64::from_str_radix(&block["timestamp"].as_str().unwrap()[2..], 16).unwrap();
        if let Some(before) = before.as_u64() {
            assert!(before < time, "block {height}: {before} {time}");
        }
        before = json!(time);
    }
    let state = |node: &Esker| {
        ["eth_getBalance", "eth_getCode", "eth_getTransactionCount"]
            .map(|method| node.evm(method, json!([TO, "latest"])))
    };
    let expected = [json!("0x7"), json!("0x6001"), json!("0x9")];
    assert_eq!(state(&node), expected);
    assert!(node.stop("TERM").0.success());
    let ended = run(&["db", "verify", "--evm", "--data-dir", data]);
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    let node = Esker::start_alone(&["--data-dir", data]);
    assert_eq!(state(&node), expected);
    assert_eq!(node.evm("eth_getStorageAt", json!([TO, "0x1", "latest"])), slot);
}
