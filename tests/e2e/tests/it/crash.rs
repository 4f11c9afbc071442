//! kill -9 under load, again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use esker_client::{CallError, ChainParams, Wallet, XvmClient};
use esker_e2e::funds::{funded, key};
use esker_e2e::{Node, until};
use esker_primitives::TxId;
use esker_primitives::keys::PrivateKey;

use crate::support::{accept, assert_state_is_replay, local, now_s, wallet};

/// Clients that send at the same time.
const CLIENTS: u8 = 3;
/// Acceptances after which the node is killed, in each round: at no particular moment of its work.
const ROUNDS: [usize; 16] = [1, 2, 7, 12, 23, 5, 31, 18, 3, 40, 9, 1, 27, 14, 6, 50];

#[test]
fn what_was_reported_accepted_survives_kills() {
    let folder = tempfile::tempdir().unwrap();
    let start = || local().data_dir(folder.path()).start().unwrap();
    let mut node = start();
    let native = fund_clients(&node);
    let mut accepted: Vec<TxId> = Vec::new();
    for round in ROUNDS {
        accepted.extend(load_until(node, round));
        node = start();
        let mut x = node.x();
        for id in &accepted {
            let status = x.get_tx_status(id).unwrap();
            assert!(status.is_accepted(), "{id} was accepted, is {status:?} after the restart");
            assert_eq!(x.get_tx(id).unwrap().id(), *id);
        }
        assert_state_is_replay(&mut x, &[native]);
    }
    // It goes on: a new transaction is accepted, and a gentle end is one too.
    let mut last = wallet(&node, "X", key(1));
    let tx = self_transfer(&last);
    accept(&mut node.x(), &tx);
    last.apply(&tx);
    assert!(node.stop().unwrap().success());
    let node = start();
    assert!(node.x().get_tx_status(&tx.id()).unwrap().is_accepted());
}

/// Gives each client's key funds of its own.
fn fund_clients(node: &Node) -> esker_primitives::AssetId {
    let wallet = wallet(node, "X", funded());
    let native = wallet.params().fee_asset_id;
    let outputs = (1..=CLIENTS)
        .map(|n| Wallet::output(native, 1_000_000_000_000, key(n).address()))
        .collect();
    accept(&mut node.x(), &wallet.base_tx(outputs, b"").unwrap());
    native
}

/// Sends from all clients until so many transactions were reported accepted, then kills the node while they go on.
/// Answers every transaction that was reported accepted.
fn load_until(node: Node, target: usize) -> Vec<TxId> {
    let (address, stop) = (node.address(), AtomicBool::new(false));
    let (report, reports) = mpsc::channel::<TxId>();
    thread::scope(|scope| {
        for n in 1..=CLIENTS {
            let (report, stop) = (report.clone(), &stop);
            let wallet = wallet(&node, "X", key(n));
            scope.spawn(move || {
                let mut chain = XvmClient::new(address, "X");
                send(&mut chain, wallet, stop, &report);
            });
        }
        drop(report);
        let mut seen: Vec<TxId> = reports.iter().take(target).collect();
        node.kill().unwrap();
        stop.store(true, Ordering::Relaxed);
        seen.extend(reports);
        assert!(seen.len() >= target);
        seen
    })
}

/// One client: transactions that spend each other, each waited for, until the node is gone.
fn send(chain: &mut XvmClient, mut wallet: Wallet, stop: &AtomicBool, report: &mpsc::Sender<TxId>) {
    while !stop.load(Ordering::Relaxed) {
        let tx = self_transfer(&wallet);
        let id = match chain.issue_tx(&tx) {
            Ok(id) => id,
            Err(CallError::Http(_)) => return,
            Err(refused) => panic!("{refused}"),
        };
        let done = until("accepted, or the node is gone", || match chain.get_tx_status(&id) {
            Ok(status) if status.is_accepted() => Some(true),
            Ok(status) => {
                assert_ne!(status.status, "Rejected", "{:?}", status.reason);
                None
            }
            Err(CallError::Http(_)) => Some(false),
            Err(refused) => panic!("{refused}"),
        });
        if !done || report.send(id).is_err() {
            return;
        }
        wallet.apply(&tx);
    }
}

/// A transaction to oneself that makes one output more: the UTXO set grows with the load.
fn self_transfer(wallet: &Wallet) -> esker_transactions::xvm::Tx {
    let output = Wallet::output(wallet.params().fee_asset_id, 5, wallet.owner());
    wallet.base_tx(vec![output], b"load").unwrap()
}

#[test]
fn a_store_serves_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let node = local().data_dir(folder.path()).start().unwrap();
    let second = local().data_dir(folder.path()).start();
    assert!(second.is_err(), "two nodes on one store");
    let params = ChainParams::fetch(node.address(), "X", "NAT").unwrap();
    let lone = Wallet::new(params, PrivateKey::from_slice(&[9; 32]).unwrap(), Vec::new(), now_s());
    assert_eq!(lone.balance(&lone.params().fee_asset_id), 0);
}
