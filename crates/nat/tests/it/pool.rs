//! The pool: who comes first, who gives way, what is remembered.

use std::collections::BTreeSet;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_nat::pool::{AtomicPool, MAX_DROPPED, MAX_POOLED, PoolError, PoolStatus};
use esker_primitives::clock::ManualClock;
use esker_primitives::{AssetId, Id, TxId};
use esker_transactions::nat::{AtomicTx, EvmOutput, UnsignedAtomicTx, UnsignedImport};
use esker_utxo::{TransferInput, TransferableInput, UtxoId};
use proptest::prelude::*;

const NATIVE: AssetId = Id::new([9; 32]);

/// An import of the outputs of those numbers that pays so many billionths a gas, and a bit more.
fn tx(outputs: &[u8], price: u64) -> AtomicTx {
    let input = |number: &u8| TransferableInput {
        utxo_id: UtxoId { tx_id: Id::new([*number; 32]), output_index: 0 },
        asset_id: NATIVE,
        input: TransferInput { amount: 1_000_000_000, sig_indices: Vec::new() },
    };
    let with = |amount| {
        let pays = EvmOutput { address: Address::ZERO, amount, asset_id: NATIVE };
        let import = UnsignedImport {
            imported_inputs: outputs.iter().map(input).collect(),
            outputs: vec![pays],
            ..UnsignedImport::default()
        };
        AtomicTx::new(UnsignedAtomicTx::Import(import), Vec::new())
    };
    let gas = with(0).gas();
    let tx = with(outputs.len() as u64 * 1_000_000_000 - price * gas - 1);
    assert_eq!(tx.gas_price(&NATIVE), Ok(price));
    tx
}

fn pool(capacity: usize) -> AtomicPool {
    AtomicPool::with_capacity(NATIVE, Arc::new(ManualClock::new(1)), capacity)
}

fn ids(txs: &[AtomicTx]) -> Vec<TxId> {
    txs.iter().map(AtomicTx::id).collect()
}

fn status(pool: &AtomicPool, tx: &AtomicTx) -> Option<PoolStatus> {
    pool.get(&tx.id()).map(|(found, status)| {
        assert_eq!(found, *tx);
        status
    })
}

/// How many were dropped, by the reasons that are not 0.
fn counted(pool: &AtomicPool) -> Vec<(&'static str, u64)> {
    pool.figures().dropped.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn dropped(reason: String) -> Option<PoolStatus> {
    Some(PoolStatus::Dropped(reason))
}

#[test]
fn the_best_price_comes_first_then_the_earliest() {
    let pool = pool(10);
    let txs = [tx(&[1], 5), tx(&[2], 7), tx(&[3], 5), tx(&[4], 9)];
    txs.iter().for_each(|tx| pool.add(tx.clone()).unwrap());
    let expected = [3, 1, 0, 2].map(|index: usize| txs[index].id());
    assert_eq!(ids(&pool.candidates()), expected);
    assert_eq!(pool.len(), 4);
    // A known one keeps its place.
    pool.add(txs[0].clone()).unwrap();
    assert_eq!(ids(&pool.candidates()), expected);
    // 9 billionths a gas and a bit, in wei.
    let most = pool.highest_payable_base_fee().unwrap();
    assert!(most >= U256::from(9_000_000_000u64) && most < U256::from(9_001_000_000u64), "{most}");
}

#[test]
fn one_that_pays_more_replaces_all_that_consume_the_same() {
    let pool = pool(10);
    let (first, second, third) = (tx(&[1], 5), tx(&[2], 6), tx(&[3], 7));
    for tx in [&first, &second, &third] {
        pool.add(tx.clone()).unwrap();
    }
    for price in [5, 6] {
        let rival = tx(&[1, 2], price);
        let refused = pool.add(rival.clone()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "conflicting atomic tx present: issued tx ({}) gas price {price} <= conflict tx ({}) \
                 gas price 6 (2 total conflicts in mempool)",
                rival.id(),
                second.id()
            )
        );
        // A refused transaction is unknown.
        assert_eq!(status(&pool, &rival), None);
    }
    let rival = tx(&[1, 2], 7);
    pool.add(rival.clone()).unwrap();
    let reason = format!("replaced by {}, which pays more", rival.id());
    assert_eq!(status(&pool, &first), dropped(reason.clone()));
    assert_eq!(status(&pool, &second), dropped(reason));
    assert_eq!(status(&pool, &third), Some(PoolStatus::Pending));
    assert_eq!(ids(&pool.candidates()), [third.id(), rival.id()]);
    // A dropped one may come again, and is dropped no more.
    pool.drop_invalid(&rival.id(), "no".into());
    pool.add(first.clone()).unwrap();
    assert_eq!(status(&pool, &first), Some(PoolStatus::Pending));
    assert_eq!(status(&pool, &rival), dropped("no".into()));
    assert_eq!(counted(&pool), [("replaced", 2), ("invalid", 1)]);
}

#[test]
fn a_full_pool_keeps_those_that_pay_most() {
    let pool = pool(3);
    let txs = [tx(&[1], 5), tx(&[2], 3), tx(&[3], 4)];
    txs.iter().for_each(|tx| pool.add(tx.clone()).unwrap());
    let cheap = tx(&[4], 3);
    assert_eq!(
        pool.add(cheap.clone()).unwrap_err().to_string(),
        "atomic tx fee too low for atomic mempool currentMin=3 provided=3"
    );
    let better = tx(&[4], 4);
    pool.add(better.clone()).unwrap();
    let reason = format!("the pool is full, and {} pays more", better.id());
    assert_eq!(status(&pool, &txs[1]), dropped(reason));
    // Of those that pay as little, the latest goes.
    let best = tx(&[5], 9);
    pool.add(best.clone()).unwrap();
    assert_eq!(ids(&pool.candidates()), [best.id(), txs[0].id(), txs[2].id()]);
    // Those in undecided blocks can't go.
    pool.issued(pool.candidates());
    assert_eq!(pool.add(tx(&[6], 99)).unwrap_err(), PoolError::TooMany);
    assert_eq!(counted(&pool), [("outbid", 2)]);
    assert_eq!(pool.highest_payable_base_fee(), None);
}

#[test]
fn fifty_dropped_ones_are_remembered() {
    let pool = pool(100);
    let txs: Vec<AtomicTx> = (0..=MAX_DROPPED.get() as u8).map(|n| tx(&[n], 5)).collect();
    for tx in &txs {
        pool.add(tx.clone()).unwrap();
        pool.drop_invalid(&tx.id(), "no".into());
    }
    assert_eq!(MAX_DROPPED.get(), 50);
    assert_eq!(status(&pool, &txs[0]), None);
    assert!(txs[1..].iter().all(|tx| status(&pool, tx) == dropped("no".into())));
    // One that is not there can't be given up.
    pool.drop_invalid(&Id::ZERO, "no".into());
    assert_eq!(pool.get(&Id::ZERO), None);
    assert!(pool.is_empty());
}

#[test]
fn a_transaction_follows_its_blocks() {
    let pool = pool(10);
    let (own, foreign) = (tx(&[1], 5), tx(&[2], 6));
    pool.add(own.clone()).unwrap();
    // Two blocks, one of which has what this pool never saw.
    pool.issued(vec![own.clone()]);
    pool.issued(vec![own.clone(), foreign.clone()]);
    assert_eq!(status(&pool, &own), Some(PoolStatus::Issued));
    assert_eq!(status(&pool, &foreign), Some(PoolStatus::Issued));
    // A UTXO of an undecided block is not free, whatever another transaction pays.
    let refused = pool.add(tx(&[1], 99)).unwrap_err();
    assert_eq!(refused.to_string(), "invalid block due to conflicting atomic inputs");
    pool.returned(std::slice::from_ref(&own));
    assert_eq!(status(&pool, &own), Some(PoolStatus::Issued));
    pool.returned(&[own.clone(), foreign.clone()]);
    assert_eq!(status(&pool, &own), Some(PoolStatus::Pending));
    assert_eq!(status(&pool, &foreign), Some(PoolStatus::Pending));
    let rival = tx(&[1, 3], 7);
    pool.add(rival.clone()).unwrap();
    assert_eq!(pool.accepted(1, std::slice::from_ref(&own), &[]), [rival.id()]);
    assert_eq!(counted(&pool).last(), Some(&("conflict", 1)));
    assert_eq!(status(&pool, &own), None);
    let reason = format!("transaction {}, which consumes the same, was accepted", own.id());
    assert_eq!(status(&pool, &rival), dropped(reason));
    assert_eq!(ids(&pool.candidates()), [foreign.id()]);
}

/// A transaction that was taken for a block under construction is not replaced.
#[test]
fn the_block_under_construction_keeps_what_it_took() {
    let pool = pool(1);
    let (own, rival, other) = (tx(&[1], 5), tx(&[1], 9), tx(&[2], 9));
    pool.add(own.clone()).unwrap();
    assert!(pool.take(&own.id()));
    assert!(!pool.take(&rival.id()));
    let refused = pool.add(rival.clone()).unwrap_err();
    assert_eq!(refused.to_string(), "invalid block due to conflicting atomic inputs");
    assert_eq!(pool.add(other.clone()).unwrap_err(), PoolError::TooMany);
    pool.drop_invalid(&own.id(), "no".into());
    assert_eq!(status(&pool, &own), Some(PoolStatus::Pending));
    // The block is being decided on, and abandoned.
    pool.issued(vec![own.clone()]);
    pool.put_back_all();
    assert_eq!(pool.add(rival.clone()).unwrap_err().to_string(), refused.to_string());
    pool.returned(std::slice::from_ref(&own));
    // One that came to nothing gives all back.
    assert!(pool.take(&own.id()));
    pool.put_back(&own.id());
    assert!(pool.take(&own.id()));
    pool.put_back_all();
    pool.add(rival.clone()).unwrap();
    let reason = format!("replaced by {}, which pays more", rival.id());
    assert_eq!(status(&pool, &own), dropped(reason));
    // An accepted transaction is taken no more.
    assert!(pool.take(&rival.id()));
    pool.accepted(1, std::slice::from_ref(&rival), &[]);
    pool.add(rival.clone()).unwrap();
    pool.add(tx(&[1], 10)).unwrap();
}

/// Those that come back have to follow the rules for those that arrive.
#[test]
fn a_returned_transaction_may_conflict_with_a_new_one() {
    let pool = pool(2);
    let (cheap, rival) = (tx(&[1], 5), tx(&[1], 6));
    // Two blocks beside each other consume the same.
    pool.issued(vec![cheap.clone()]);
    pool.issued(vec![rival.clone()]);
    pool.returned(std::slice::from_ref(&cheap));
    assert_eq!(status(&pool, &cheap), Some(PoolStatus::Pending));
    pool.returned(std::slice::from_ref(&rival));
    assert_eq!(status(&pool, &rival), Some(PoolStatus::Pending));
    let reason = format!("replaced by {}, which pays more", rival.id());
    assert_eq!(status(&pool, &cheap), dropped(reason));
    // A full pool takes it back only for one that pays less.
    let (poor, good) = (tx(&[2], 3), tx(&[3], 4));
    pool.issued(vec![good.clone()]);
    pool.add(poor.clone()).unwrap_err();
    pool.returned(std::slice::from_ref(&good));
    assert_eq!(ids(&pool.candidates()), [rival.id(), good.id()]);
    pool.issued(vec![poor.clone()]);
    pool.returned(std::slice::from_ref(&poor));
    assert_eq!(
        status(&pool, &poor),
        dropped("atomic tx fee too low for atomic mempool currentMin=4 provided=3".into())
    );
    assert_eq!(pool.len(), 2);
}

#[test]
fn the_pool_holds_4096_at_most() {
    let pool = AtomicPool::new(NATIVE, Arc::new(ManualClock::new(1)));
    let price = |number: u64| number % 64 + 10;
    let import = |number: u64| {
        let mut tx_id = [0; 32];
        tx_id[..8].copy_from_slice(&number.to_be_bytes());
        let input = TransferableInput {
            utxo_id: UtxoId { tx_id: Id::new(tx_id), output_index: 0 },
            asset_id: NATIVE,
            input: TransferInput { amount: 2_000_000, sig_indices: Vec::new() },
        };
        let gas = 10_230;
        let amount = 2_000_000 - price(number) * gas;
        let pays = EvmOutput { address: Address::ZERO, amount, asset_id: NATIVE };
        let unsigned = UnsignedImport {
            imported_inputs: vec![input],
            outputs: vec![pays],
            ..UnsignedImport::default()
        };
        AtomicTx::new(UnsignedAtomicTx::Import(unsigned), Vec::new())
    };
    assert_eq!(MAX_POOLED, 4096);
    for number in 0..MAX_POOLED as u64 {
        pool.add(import(number)).unwrap();
    }
    let prices: Vec<u64> =
        pool.candidates().iter().map(|tx| tx.gas_price(&NATIVE).unwrap()).collect();
    assert!(prices.is_sorted_by(|a, b| a >= b) && prices.len() == MAX_POOLED);
    // 6,400 pays the least of all, 6,401 a bit more.
    let refused = pool.add(import(6400)).unwrap_err();
    let least = *prices.last().unwrap();
    assert_eq!(refused, PoolError::FeeTooLow { min: least, provided: least });
    pool.add(import(6401)).unwrap();
    assert_eq!(pool.len(), MAX_POOLED);
}

/// The events of a pool. Transactions are named by numbers.
#[derive(Clone, Debug)]
enum Event {
    Arrives(usize),
    /// A block of these is executed; one of them is abandoned or accepted later.
    Block(Vec<usize>),
    Abandoned,
    Accepted,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (0..TXS).prop_map(Event::Arrives),
        2 => prop::collection::vec(0..TXS, 0..3).prop_map(Event::Block),
        1 => Just(Event::Abandoned),
        1 => Just(Event::Accepted),
    ];
    prop::collection::vec(event, 1..40)
}

/// Transactions of the property test.
const TXS: usize = 12;
/// Its pool's capacity.
const CAPACITY: usize = 4;

fn check_invariants(pool: &AtomicPool) {
    let known = pool.candidates();
    let prices: Vec<u64> = known.iter().map(|tx| tx.gas_price(&NATIVE).unwrap()).collect();
    assert!(prices.is_sorted_by(|a, b| a >= b), "{prices:?}");
    assert_eq!(known.len(), pool.len());
    let waiting: Vec<_> =
        known.iter().filter(|tx| status(pool, tx) == Some(PoolStatus::Pending)).collect();
    assert!(waiting.len() <= CAPACITY);
    let mut consumed = BTreeSet::new();
    for tx in waiting {
        assert!(tx.conflict_keys().iter().all(|key| consumed.insert(*key)), "two consume the same");
    }
}

proptest! {
    #[test]
    fn no_two_that_wait_consume_the_same(
        shapes in prop::collection::vec((prop::collection::btree_set(0u8..6, 1..3), 1u64..6), TXS),
        events in events(),
    ) {
        let txs: Vec<AtomicTx> = shapes
            .iter()
            .map(|(outputs, price)| tx(&outputs.iter().copied().collect::<Vec<_>>(), *price))
            .collect();
        let pool = pool(CAPACITY);
        let mut blocks: Vec<Vec<AtomicTx>> = Vec::new();
        for event in events {
            match event {
                Event::Arrives(number) => {
                    let added = pool.add(txs[number].clone());
                    let is_known = pool.get(&txs[number].id())
                        .is_some_and(|(_, status)| !matches!(status, PoolStatus::Dropped(_)));
                    assert_eq!(added.is_ok(), is_known);
                }
                Event::Block(numbers) => {
                    let mut block: Vec<AtomicTx> = Vec::new();
                    for number in numbers {
                        let free = |before: &AtomicTx| {
                            before.conflict_keys().is_disjoint(txs[number].conflict_keys())
                        };
                        if block.iter().all(free) {
                            block.push(txs[number].clone());
                        }
                    }
                    pool.issued(block.clone());
                    assert!(block.iter().all(|tx| status(&pool, tx) == Some(PoolStatus::Issued)));
                    blocks.push(block);
                }
                Event::Abandoned => {
                    if let Some(block) = blocks.pop() {
                        pool.returned(&block);
                    }
                }
                // The others of the same parent are abandoned then.
                Event::Accepted => {
                    if let Some(block) = blocks.pop() {
                        pool.accepted(1, &block, &[]);
                        check_invariants(&pool);
                        blocks.drain(..).for_each(|block| pool.returned(&block));
                    }
                }
            }
            check_invariants(&pool);
        }
    }
}
