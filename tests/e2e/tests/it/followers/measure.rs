//! How fast followers are: figures for docs/performance.md, not assertions.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use esker_client::RpcClient;
use esker_e2e::{Socket, until};
use serde_json::{Value, json};

use super::support::{follower, heights, wait_for, writer};
use crate::load::EVM;

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
