//! Paging under concurrent traffic: what exists throughout a walk is listed in it, exactly once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use esker_client::{Wallet, XvmClient};
use esker_e2e::Node;
use esker_e2e::funds::{funded, key};
use esker_primitives::ShortId;
use esker_transactions::xvm::Tx;
use esker_utxo::{OutputOwners, TransferableOutput, UtxoId};

use crate::support::{accept, local, wait_accepted, wallet};

/// UTXOs that stay, for each of two owners; one transaction makes at most so many within its size limit.
const STAYING: u64 = 350;
/// Walks, each with another page size.
const LIMITS: [u32; 6] = [7, 64, 100, 350, 699, 1024];
/// Units of each coin of the traffic: so many that a wallet, which takes the largest first, spends them again.
const SHARED: u64 = 400_000_000_000;
/// Transactions that must be accepted during each walk's test at least.
const LEAST_TRAFFIC: usize = 10;

#[test]
fn walks_under_traffic_skip_nothing_that_stays() {
    let node = local().start().unwrap();
    let (a, b, c) = (key(1), key(2), key(3));
    let staying = set_up(&node, a.address(), b.address(), c.address());
    let addresses: Vec<String> = [&a, &b].iter().map(|key| key.address().to_string()).collect();
    let (stop, traffic) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        // Its coins, and what it makes of them, are owned by c together with a or b: they come and go in the walks.
        scope.spawn(|| {
            churn(&node, wallet(&node, "X", c.clone()), a.address(), b.address(), &stop, &traffic);
        });
        let mut x = node.x();
        for limit in LIMITS {
            let before = traffic.load(Ordering::Relaxed);
            let mut walks = 0;
            while walks < 3 || traffic.load(Ordering::Relaxed) < before + LEAST_TRAFFIC {
                assert_walk(&mut x, &addresses, limit, &staying);
                walks += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    // On a quiet chain a walk returns each UTXO once, whatever the page size.
    let mut x = node.x();
    let whole = listed(&mut x, &addresses, 1024);
    for limit in LIMITS {
        assert_eq!(listed(&mut x, &addresses, limit), whole, "limit {limit}");
    }
    assert!(whole.values().all(|count| *count == 1));
}

fn assert_walk(x: &mut XvmClient, addresses: &[String], limit: u32, staying: &BTreeSet<UtxoId>) {
    let listed = listed(x, addresses, limit);
    for id in staying {
        assert_eq!(listed.get(id), Some(&1), "{id:?} with pages of {limit}");
    }
}

/// How often each UTXO is listed in one walk.
fn listed(x: &mut XvmClient, addresses: &[String], limit: u32) -> BTreeMap<UtxoId, usize> {
    let mut count = BTreeMap::new();
    for utxo in x.walk_utxos(addresses, limit, None).unwrap() {
        *count.entry(utxo.utxo_id).or_default() += 1;
    }
    count
}

/// Makes UTXOs of a, of b and of both that nobody spends, and coins for the traffic.
fn set_up(node: &Node, a: ShortId, b: ShortId, c: ShortId) -> BTreeSet<UtxoId> {
    let mut rich = wallet(node, "X", funded());
    let native = rich.params().fee_asset_id;
    let mut staying = BTreeSet::new();
    let both = OutputOwners { locktime: 0, threshold: 1, addresses: sorted([a, b]) };
    for owners in [OutputOwners::single(a), OutputOwners::single(b), both] {
        let outputs = (0..STAYING)
            .map(|n| {
                let mut output = Wallet::output(native, n + 1, a);
                output.output.owners = owners.clone();
                output
            })
            .collect();
        let tx = rich.base_tx(outputs, b"").unwrap();
        accept(&mut node.x(), &tx);
        rich.apply(&tx);
        let kept = tx.produced_utxos().filter(|utxo| *utxo.output.owners() == owners);
        staying.extend(kept.map(|utxo| utxo.utxo_id));
    }
    let coins = (0..20).map(|_| Wallet::output(native, 1_000_000_000_000, c)).collect();
    accept(&mut node.x(), &rich.base_tx(coins, b"").unwrap());
    assert_eq!(staying.len() as u64, 3 * STAYING);
    staying
}

/// Spends and makes UTXOs of a and b without end: a few at once, so that every block changes both addresses.
fn churn(
    node: &Node,
    mut own: Wallet,
    a: ShortId,
    b: ShortId,
    stop: &AtomicBool,
    traffic: &AtomicUsize,
) {
    let mut x = node.x();
    while !stop.load(Ordering::Relaxed) {
        let txs: Vec<Tx> = (0..4)
            .map(|_| {
                let outputs = [a, b].map(|other| shared_output(&own, other)).to_vec();
                let tx = own.base_tx(outputs, b"").unwrap();
                own.apply(&tx);
                tx
            })
            .collect();
        for tx in &txs {
            x.wallet_issue_tx(tx).unwrap();
        }
        for tx in &txs {
            wait_accepted(&mut x, &tx.id());
            traffic.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A coin that the traffic's key can spend again and that is listed under `other` too.
fn shared_output(own: &Wallet, other: ShortId) -> TransferableOutput {
    let mut output = Wallet::output(own.params().fee_asset_id, SHARED, own.owner());
    let addresses = sorted([own.owner(), other]);
    output.output.owners = OutputOwners { locktime: 0, threshold: 1, addresses };
    output
}

fn sorted(mut addresses: [ShortId; 2]) -> Vec<ShortId> {
    addresses.sort();
    addresses.to_vec()
}
