//! `esker db rewind` over the folder of a stopped node: what it shows, what it refuses, what is there afterwards, also after
//! kills in the middle.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use esker_chain::ChainMachine as _;
use esker_client::{RpcClient, Wallet};
use esker_e2e::files::copy_folder;
use esker_e2e::funds::funded;
use esker_e2e::tables::dev_config;
use esker_e2e::{Node, Socket, until};
use esker_primitives::TxId;
use serde_json::{Value, json};

use crate::support::{PROGRAM, accept, local, wallet};

const EVM: &str = "/ext/bc/C/rpc";
/// Who gets what is sent.
const TO: &str = "0x00000000000000000000000000000000000000a1";

/// Both chains as clients see them.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    x_height: u64,
    x_block: String,
    c_head: Value,
    balance: Value,
    nonce: Value,
    last_tx: TxId,
}

fn start(folder: &Path, depth: u32) -> Node {
    let node = local().dev().data_dir(folder).arg(format!("--rewind-depth={depth}"));
    node.start().unwrap()
}

fn ask(rpc: &mut RpcClient, method: &str, params: Value) -> Value {
    rpc.call(EVM, method, params).unwrap()
}

/// Makes a block on each chain, in bundles of their own.
fn transfer(node: &Node, wallet: &mut Wallet) -> TxId {
    let output = Wallet::output(wallet.params().fee_asset_id, 5, wallet.owner());
    let tx = wallet.base_tx(vec![output], b"").unwrap();
    let id = accept(&mut node.x(), &tx);
    wallet.apply(&tx);
    let mut rpc = node.rpc();
    let from = ask(&mut rpc, "eth_accounts", json!([]))[0].clone();
    let tx = json!([{"from": from, "to": TO, "value": "0x7"}]);
    let hash = ask(&mut rpc, "eth_sendTransaction", tx);
    until("the transfer is mined", || {
        let receipt = ask(&mut rpc, "eth_getTransactionReceipt", json!([hash]));
        (!receipt.is_null()).then_some(())
    });
    id
}

fn see(node: &Node, last_tx: TxId) -> Seen {
    let (mut rpc, mut x) = (node.rpc(), node.x());
    let x_height = x.get_height().unwrap();
    let from = ask(&mut rpc, "eth_accounts", json!([]))[0].clone();
    Seen {
        x_height,
        x_block: x.get_block_by_height(x_height).unwrap().id().to_string(),
        c_head: ask(&mut rpc, "eth_getBlockByNumber", json!(["latest", true])),
        balance: ask(&mut rpc, "eth_getBalance", json!([TO, "latest"])),
        nonce: ask(&mut rpc, "eth_getTransactionCount", json!([from, "pending"])),
        last_tx,
    }
}

fn db(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    command.arg("db").args(args).args(["--dev", "--data-dir"]).arg(folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn verify(folder: &Path) {
    let (code, printed, errors) = db(folder, &["verify"]);
    assert!(code == Some(0) && printed.ends_with("\nnothing is wrong\n"), "{printed}{errors}");
}

/// The bundles that can be the last one, newest first: bundle, block of X, block of C.
fn list(folder: &Path) -> Vec<[u64; 3]> {
    let (code, printed, errors) = db(folder, &["rewind"]);
    assert_eq!(code, Some(0), "{printed}{errors}");
    let line = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        [words[0], words[2], words[3]].map(|word| word.parse().unwrap())
    };
    printed.lines().skip(2).map(line).collect()
}

/// The bundle with which a node was as it was seen.
fn bundle_of(bundles: &[[u64; 3]], seen: &Seen) -> u64 {
    let number = seen.c_head["number"].as_str().unwrap();
    let c_height = u64::from_str_radix(number.trim_start_matches("0x"), 16).unwrap();
    let is_it = |[_, x, c]: &&[u64; 3]| (*x, *c) == (seen.x_height, c_height);
    bundles.iter().find(is_it).unwrap_or_else(|| panic!("{bundles:?} {seen:?}"))[0]
}

#[test]
fn blocks_are_taken_back_and_the_node_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let node = start(folder, 7);
    let mut wallet = wallet(&node, "X", funded());
    let mut seen = Vec::new();
    for _ in 0..5 {
        let id = transfer(&node, &mut wallet);
        seen.push(see(&node, id));
    }
    let (code, _, running) = db(folder, &["rewind", "--to-height", "1", "--yes"]);
    assert_eq!((code, running), {
        let (code, _, running) = db(folder, &["verify"]);
        assert_eq!(code, Some(1), "{running}");
        (code, running)
    });
    assert!(node.stop().unwrap().success());

    let bundles = list(folder);
    let last = bundles[0][0];
    // A development node keeps all of them, whatever the setting is, but for what it made before it was ready.
    assert_eq!((last, bundles.len()), (11, 11), "funding, and two for each round");
    assert_eq!(bundle_of(&bundles, &seen[4]), last);
    let refused = |args: &[&str], why: &str| {
        let (code, printed, errors) = db(folder, &[&["rewind"], args].concat());
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{errors}");
        assert!(errors.contains(why), "{errors}");
    };
    refused(&["--to-height", "12", "--yes"], "there is no bundle 12: the last one is 11");
    refused(
        &["--to-height", "0", "--yes"],
        "can't rewind to bundle 0: the lowest possible is 1, the last is 11",
    );
    refused(
        &["--to-height", "9"],
        "nothing was changed: there is no terminal for the confirmation. Add --yes",
    );
    let (code, printed, _) = db(folder, &["rewind", "--to-height", "11"]);
    assert_eq!((code, printed.as_str()), (Some(0), "bundle 11 is the last one already\n"));
    assert_eq!(list(folder), bundles, "nothing has changed");

    let to = bundle_of(&bundles, &seen[2]);
    let (code, printed, errors) = db(folder, &["rewind", "--to-height", &to.to_string(), "--yes"]);
    assert_eq!(code, Some(0), "{errors}");
    let lines: Vec<_> = printed.lines().collect();
    assert!(lines[0].starts_with("to rewind: bundles 8 to 11, made since 20"), "{printed}");
    assert!(lines[0].ends_with("Z; bundle 7 becomes the last one"), "{printed}");
    assert_eq!(lines[1], "  X: blocks 5 to 6, transactions: 2");
    assert_eq!(lines[2], "  C: blocks 4 to 5, transactions: 2");
    assert_eq!(lines[3..], ["bundle 7 is the last one now"]);
    verify(folder);
    assert_eq!(list(folder), bundles[4..]);

    let node = start(folder, 7);
    assert_eq!(see(&node, seen[2].last_tx), seen[2]);
    let status = |id| node.x().get_tx_status(id).unwrap().status;
    assert_eq!(status(&seen[2].last_tx), "Accepted");
    for gone in &seen[3..] {
        assert_eq!(status(&gone.last_tx), "Unknown");
        let hash = &gone.c_head["hash"];
        assert!(ask(&mut node.rpc(), "eth_getBlockByHash", json!([hash, false])).is_null());
    }
    let mut wallet = crate::support::wallet(&node, "X", funded());
    for _ in 0..2 {
        let id = transfer(&node, &mut wallet);
        seen.push(see(&node, id));
    }
    // The same transfers again: the same heights and amounts, in blocks that may be the same ones.
    let (old, new) = (&seen[4], &seen[6]);
    assert_eq!((old.x_height, &old.balance, &old.nonce), (new.x_height, &new.balance, &new.nonce));
    assert!(node.stop().unwrap().success());
    verify(folder);

    // A node that others can follow keeps nothing, and what was is gone.
    let node = local().dev().data_dir(folder).arg("--api-sync-enabled").start().unwrap();
    transfer(&node, &mut wallet);
    assert!(node.stop().unwrap().success());
    let (code, printed, _) = db(folder, &["rewind"]);
    assert!(code == Some(0) && printed.starts_with("no bundle can be rewound"), "{printed}");
    refused(&["--to-height", "11", "--yes"], "bundle 13 can't be rewound: it has no undo data");
    verify(folder);
}

/// A network of one's own, or the local one, works the same way; a folder without data is refused.
#[test]
fn a_folder_without_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, errors) = db(&folder.path().join("none"), &["rewind"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("no node data in"), "{errors}");
    assert!(!folder.path().join("none").exists());
}

/// kill -9 at any moment of a rewind: the folder is as before, or as it is to be.
#[test]
fn kills_in_the_middle_leave_all_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, work) = (dir.path().join("whole"), dir.path().join("work"));
    let node = start(&whole, 100);
    let mut wallet = wallet(&node, "X", funded());
    for _ in 0..6 {
        transfer(&node, &mut wallet);
    }
    assert!(node.stop().unwrap().success());
    let last = list(&whole)[0][0];
    let rewind = |folder: &Path| {
        let mut command = Command::new(PROGRAM);
        command.args(["db", "rewind", "--to-height", "1", "--yes", "--dev", "--data-dir"]);
        command.arg(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    copy_folder(&whole, &work).unwrap();
    let begun = Instant::now();
    assert!(rewind(&work).wait().unwrap().success());
    let takes = begun.elapsed();
    let (mut before, mut after) = (0, 0);
    for round in 0..12u32 {
        std::fs::remove_dir_all(&work).unwrap();
        copy_folder(&whole, &work).unwrap();
        let mut child = rewind(&work);
        // Most of the time passes before and after the write.
        thread::sleep(
            takes * (round + 2) / 14 + Duration::from_micros(u64::from(round * 137 % 500)),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        verify(&work);
        match list(&work)[0][0] {
            1 => after += 1,
            found => {
                assert_eq!(found, last);
                before += 1;
            }
        }
    }
    assert!(before > 0, "no kill came before the end");
    println!("{before} kills came before the write, {after} after it");
    // Either way it can be done again, and the node goes on.
    assert!(rewind(&work).wait().unwrap().success());
    let node = start(&work, 100);
    let mut wallet = crate::support::wallet(&node, "X", funded());
    transfer(&node, &mut wallet);
    assert!(node.stop().unwrap().success());
    verify(&work);
}

/// Repeats the work of a thread of clients until it must end.
fn until_told(stop: &AtomicBool, mut work: impl FnMut()) {
    while !stop.load(Ordering::Relaxed) {
        work();
    }
}

/// The result; `None` if the block was rewound meanwhile. Any other error fails the test.
fn read(rpc: &mut RpcClient, method: &str, params: Value) -> Option<Value> {
    match rpc.call(EVM, method, params) {
        Ok(result) => Some(result),
        Err(error) => {
            let text = error.to_string();
            assert!(
                text.contains("was taken back while the request was answered"),
                "{method}: {text}"
            );
            None
        }
    }
}

/// Sends, and waits until the transaction is mined or rewound.
fn send(rpc: &mut RpcClient) {
    let from = ask(rpc, "eth_accounts", json!([]))[0].clone();
    let tx = json!([{"from": from, "to": TO, "value": "0x7"}]);
    // Its gas is estimated on the last block.
    let Some(hash) = read(rpc, "eth_sendTransaction", tx) else { return };
    until("a transaction is mined or gone", || {
        let receipt = read(rpc, "eth_getTransactionReceipt", json!([hash]))?;
        let waiting = read(rpc, "eth_getTransactionByHash", json!([hash]))?;
        // Without the transactions before it, which are gone, it waits for others.
        let is_pending = waiting["blockHash"].is_null() && !waiting.is_null();
        let queued = ask(rpc, "txpool_status", json!([]))["queued"] != "0x0";
        (!receipt.is_null() || !is_pending || queued).then_some(())
    });
}

/// The answers of clients about the last block agree with each other.
fn look(rpc: &mut RpcClient) {
    let Some(head) = read(rpc, "eth_getBlockByNumber", json!(["latest", true])) else { return };
    let number = head["number"].clone();
    let by_hash = json!([TO, {"blockHash": head["hash"]}]);
    match rpc.call::<Value>(EVM, "eth_getBalance", by_hash) {
        Ok(balance) => {
            // Each block of the sender has one transfer of 7.
            let parse = |value: &Value| {
                u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
            };
            assert_eq!(parse(&balance) % 7, 0);
            assert!(parse(&balance) >= 7 || parse(&number) < 2, "{balance} at {number}");
        }
        Err(error) => {
            let text = error.to_string();
            let is_gone = ["was taken back while", "header for hash not found"];
            assert!(is_gone.iter().any(|gone| text.contains(gone)), "{text}");
        }
    }
    let again = read(rpc, "eth_getBlockByNumber", json!([number, true]));
    if let Some(again) = again.filter(|again| !again.is_null()) {
        assert_eq!(again["number"], number);
        assert_eq!(
            again == head,
            again["hash"] == head["hash"],
            "one hash, one block: {head}\n{again}"
        );
    }
    read(rpc, "eth_getBalance", json!([TO, "latest"]));
    read(rpc, "eth_getLogs", json!([{"fromBlock": "0x0"}]));
    read(rpc, "eth_feeHistory", json!(["0x4", "latest", [50]]));
}

/// A running node rewinds blocks while clients send, read, and listen.
#[test]
fn a_running_node_goes_back_under_its_clients() {
    let folder = tempfile::tempdir().unwrap();
    let config = dev_config(folder.path(), &["--rewind-depth=1000"]).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let node = runtime
        .block_on(esker_node::Node::start(config, esker_node::Environment::system()))
        .unwrap();
    let (address, stop) = (node.http_addr(), AtomicBool::new(false));
    let machine = Arc::clone(node.machine());
    let mut socket = Socket::open(address, "/ext/bc/C/ws").unwrap();
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]});
    socket.send(&subscribe.to_string()).unwrap();
    socket.read().unwrap();
    let mut rpc = RpcClient::new(address);
    let filter = ask(&mut rpc, "eth_newBlockFilter", json!([]));
    let mut rewinds = 0;
    let mut heads: Vec<Value> = Vec::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut rpc = RpcClient::new(address);
                until_told(&stop, || look(&mut rpc));
            });
        }
        scope.spawn(|| {
            let mut rpc = RpcClient::new(address);
            until_told(&stop, || send(&mut rpc));
        });
        let ended = Ended(&stop);
        for round in 1..=40 {
            let (before, _) = machine.last_final();
            until("blocks are made", || (machine.last_final().0 >= before + 3).then_some(()));
            let (last, _) = machine.last_final();
            let to = last.saturating_sub(round % 5).max(2);
            // The engine may have made a block since.
            let rewound = runtime.block_on(machine.rewind(to)).unwrap();
            assert!(rewound.from >= last && rewound.to == to);
            rewinds += u64::from(rewound.from > rewound.to);
        }
        drop(ended);
    });
    assert!(rewinds > 20, "{rewinds}");
    // It goes on, and all that waits is mined.
    until("nothing waits", || {
        send(&mut rpc);
        let status = ask(&mut rpc, "txpool_status", json!([]));
        (status == json!({"pending": "0x0", "queued": "0x0"})).then_some(())
    });
    let head = ask(&mut rpc, "eth_getBlockByNumber", json!(["latest", false]));
    let hashes = ask(&mut rpc, "eth_getFilterChanges", json!([filter]));
    assert_eq!(hashes.as_array().unwrap().last(), Some(&head["hash"]));
    loop {
        let message: Value = serde_json::from_str(&socket.read().unwrap()).unwrap();
        heads.push(message["params"]["result"].clone());
        if heads.last().is_some_and(|last| last["hash"] == head["hash"]) {
            break;
        }
    }
    let mut back = 0;
    for pair in heads.windows(2) {
        let number = |head: &Value| {
            u64::from_str_radix(head["number"].as_str().unwrap().trim_start_matches("0x"), 16)
                .unwrap()
        };
        match pair[1]["parentHash"] == pair[0]["hash"] {
            true => assert_eq!(number(&pair[1]), number(&pair[0]) + 1),
            false => {
                assert!(number(&pair[1]) <= number(&pair[0]), "no block is left out");
                back += 1;
            }
        }
    }
    assert!(back > 0, "the subscriber has seen the chain go back");
    drop(machine);
    runtime.block_on(node.stop()).unwrap();
    // This process has the folder until it ends.
    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path().join("copy");
    copy_folder(folder.path(), &copy).unwrap();
    verify(&copy);
}

/// Ends the threads of clients, also when the test fails.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
