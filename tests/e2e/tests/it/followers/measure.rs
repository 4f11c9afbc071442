//! How fast followers are: figures for docs/performance.md, not assertions.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use esker_client::{RpcClient, Wallet};
use esker_e2e::funds::funded;
use esker_e2e::until::until_within;
use esker_e2e::{Node, Socket, until};
use esker_primitives::ShortId;
use serde_json::{Value, json};

use super::crowd::{Crowd, CrowdSize, assert_same_state, move_funds};
use super::support::{follower, heights, wait_for, writer};
use crate::load::EVM;
use crate::support::{PROGRAM, accept, wallet};

/// Transfers of each client.
const TRANSFERS: usize = 2500;
const CLIENTS: usize = 2;

/// When the header of each new block of the C-Chain arrives, by number.
fn heads(address: SocketAddr) -> Receiver<(String, Instant)> {
    let mut socket = Socket::open(address, "/ext/bc/C/ws").unwrap();
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 1, "method": "evm_subscribe", "params": ["newHeads"]});
    socket.send(&subscribe.to_string()).unwrap();
    let _subscribed = socket.read().unwrap();
    let (sender, heads) = mpsc::channel();
    // Ends with the node.
    thread::spawn(move || {
        while let Ok(text) = socket.read() {
            let arrived = Instant::now();
            let head: Value = serde_json::from_str(&text).unwrap();
            let number = head["params"]["result"]["number"].as_str().unwrap().to_owned();
            if sender.send((number, arrived)).is_err() {
                return;
            }
        }
    });
    heads
}

fn send(address: SocketAddr, account: usize) {
    let mut rpc = RpcClient::new(address);
    let accounts: Vec<String> = rpc.call(EVM, "evm_accounts", json!([])).unwrap();
    let transfer =
        json!([{"from": accounts[account], "to": accounts[account + 1], "value": "0x1"}]);
    for _ in 0..TRANSFERS {
        let _hash: String = rpc.call(EVM, "evm_sendTransaction", &transfer).unwrap();
    }
}

#[test]
#[ignore = "measures a release build: see docs/performance.md"]
fn slow_how_fast_a_follower_is() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let source = writer(folders[0].path()).start().unwrap();
    let near = follower(folders[1].path(), &source.url()).start().unwrap();
    wait_for(&near, &source);
    let [of_source, of_near] = [source.address(), near.address()].map(heads);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let address = source.address();
            scope.spawn(move || send(address, client));
        }
    });
    wait_for(&near, &source);
    let first: BTreeMap<_, _> = of_source.try_iter().collect();
    let mut lags: Vec<Duration> = of_near
        .try_iter()
        .filter_map(|(number, at)| Some(at.saturating_duration_since(*first.get(&number)?)))
        .collect();
    lags.sort_unstable();
    println!(
        "lag of {} blocks: p50 {:?}, p99 {:?}, at most {:?}",
        lags.len(),
        lags[lags.len() / 2],
        lags[lags.len() * 99 / 100],
        lags[lags.len() - 1]
    );
    let wanted = heights(&source);
    let begun = Instant::now();
    let late = follower(folders[2].path(), &source.url()).start().unwrap();
    until("the follower has caught up", || (heights(&late) == wanted).then_some(()));
    let seconds = begun.elapsed().as_secs_f64();
    let bundles = (wanted.0 + wanted.1) as f64;
    println!(
        "caught up with {bundles} blocks in {seconds:.2} s, start included: {:.0} a second",
        bundles / seconds
    );
}

/// Rows of each kind in the snapshot that is measured. A variable asks for fewer.
const ROWS: u32 = 1_000_000;
const ROWS_VARIABLE: &str = "SNAPSHOT_ROWS";
/// A variable that names another binary of the node, such as a release build.
const PROGRAM_VARIABLE: &str = "MEASURED_NODE";
/// Outputs of one transaction, which has at most 64 KiB.
const OUTPUTS: u32 = 700;
/// How long a start may take.
const START: Duration = Duration::from_secs(600);

/// Sends so many outputs to owners that have one each.
fn spread(node: &Node, outputs: u32) {
    let (mut x, mut rich) = (node.x(), wallet(node, "X", funded()));
    let native = rich.params().fee_asset_id;
    for first in (0..outputs).step_by(OUTPUTS as usize) {
        let owner = |index: u32| {
            let mut owner = [7; ShortId::LEN];
            owner[..4].copy_from_slice(&index.to_be_bytes());
            ShortId::new(owner)
        };
        let of_tx = (first..outputs.min(first + OUTPUTS)).map(owner);
        let of_tx = of_tx.map(|owner| Wallet::output(native, 1, owner)).collect();
        let tx = rich.base_tx(of_tx, b"").unwrap();
        rich.apply(&tx);
        accept(&mut x, &tx);
    }
}

#[test]
#[ignore = "measures a release build: see docs/performance.md"]
fn slow_how_fast_a_snapshot_is() {
    let rows = std::env::var(ROWS_VARIABLE).map_or(ROWS, |text| text.parse().unwrap());
    let program = std::env::var_os(PROGRAM_VARIABLE).unwrap_or_else(|| OsString::from(PROGRAM));
    // The X-Chain's do not fit into a network file, of at most 64 MiB.
    let size = CrowdSize { accounts: rows, contracts: 1, outputs: 1 };
    let crowd = Crowd::new(size).with_program(program.into());
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let begun = Instant::now();
    let source = crowd.writer(folders[0].path()).spawn().unwrap().wait_within(START).unwrap();
    println!("first start of the source, {rows} accounts: {:.1?}", begun.elapsed());
    let begun = Instant::now();
    move_funds(&source);
    spread(&source, rows);
    println!("{rows} outputs: {:.1?}", begun.elapsed());
    let begun = Instant::now();
    let node = crowd.joiner(folders[1].path(), &source.url()).spawn().unwrap();
    let seen =
        |text: &str| until_within(text, START, || node.output().contains(text).then(Instant::now));
    let (joining, joined) = (seen("joining from a snapshot"), seen(" joined from a snapshot"));
    let node = node.wait_within(START).unwrap();
    println!(
        "snapshot of {rows} accounts and {rows} outputs: {:.1?}; with the start {:.1?}",
        joined - joining,
        begun.elapsed()
    );
    println!("{}", node.output());
    wait_for(&node, &source);
    assert_same_state(&source, &node);
}
