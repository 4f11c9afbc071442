//! A full pool: which transactions are refused, which make room, and how drops are reported.

use alloy_primitives::U256;
use esker_evm::pool::{AccountState, DropReason, DroppedTx, Pool, PoolConfig};
use tokio::sync::broadcast::Receiver;

use super::{account, add, add_at, next, order, pooled, rich, settle};

fn small() -> Pool {
    Pool::new(PoolConfig { global_slots: 3, global_queue: 1, ..PoolConfig::default() })
}

/// Sender, nonce and reason of the transactions that were dropped since the last call.
fn dropped(events: &mut Receiver<DroppedTx>) -> Vec<(u8, u64, DropReason)> {
    let events = std::iter::from_fn(|| events.try_recv().ok());
    events.map(|DroppedTx { tx, reason }| (tx.sender()[0], tx.nonce(), reason)).collect()
}

#[test]
fn the_cheapest_makes_room_for_one_that_pays_more() {
    let pool = small();
    let mut events = pool.subscribe_dropped();
    for (from, fee) in [(1, 10), (2, 20), (3, 30)] {
        assert_eq!(add(&pool, &pooled(from, 0, fee, u64::from(from)), rich(0)), "ok");
    }
    assert_eq!(add(&pool, &pooled(3, 5, 40, 4), rich(0)), "ok", "one queued");
    assert_eq!(add(&pool, &pooled(4, 0, 9, 5), rich(0)), "transaction underpriced");
    assert_eq!(add(&pool, &pooled(4, 0, 10, 5), rich(0)), "txpool is full");
    let future = pooled(4, 9, 50, 6);
    assert_eq!(add(&pool, &future, rich(0)), "future transaction tries to replace pending");
    assert_eq!(dropped(&mut events), [], "who is refused pushes out nobody");
    let better = pooled(4, 0, 15, 7);
    assert_eq!(add(&pool, &better, rich(0)), "ok");
    assert_eq!(order(&pool, 0), [(3, 0), (2, 0), (4, 0)]);
    let reason = DropReason::Outbid { by: better.hash() };
    assert_eq!(
        reason.to_string(),
        format!("the pool is full, and transaction {} pays more", better.hash())
    );
    assert_eq!(dropped(&mut events), [(1, 0, reason)]);
}

#[test]
fn all_that_was_taken_in_at_one_price_stays() {
    let config =
        PoolConfig { global_slots: 40, global_queue: 8, account_slots: 2, ..PoolConfig::default() };
    let pool = Pool::new(config);
    let mut events = pool.subscribe_dropped();
    let mut taken = Vec::new();
    for nonce in 0..5 {
        for from in 1..=10 {
            let tx = pooled(from, nonce, 10, nonce * 10 + u64::from(from));
            match add(&pool, &tx, rich(0)).as_str() {
                "ok" => taken.push(tx.hash()),
                text => assert_eq!(text, if nonce < 4 { "ok" } else { "txpool is full" }),
            }
        }
    }
    assert_eq!((pool.counts(), taken.len()), ((40, 0), 40));
    assert!(taken.iter().all(|hash| pool.get(hash).is_some_and(|(_, is_pending)| is_pending)));
    // Other accounts can still add their first transactions, up to the limit on all.
    for from in 11..=14 {
        for nonce in 0..2 {
            let tx = pooled(from, nonce, 10, 1000 + nonce * 10 + u64::from(from));
            assert_eq!(add(&pool, &tx, rich(0)), "ok");
        }
    }
    assert_eq!(add(&pool, &pooled(15, 0, 10, 2000), rich(0)), "txpool is full");
    assert_eq!(add(&pool, &pooled(11, 2, 10, 2000), rich(0)), "txpool is full");
    assert_eq!((pool.counts(), dropped(&mut events)), ((48, 0), vec![]));
}

#[test]
fn an_account_gives_up_its_last_one_so_that_the_others_can_run() {
    let pool = small();
    let mut events = pool.subscribe_dropped();
    for (nonce, fee) in [(0, 10), (1, 11), (2, 12), (3, 13)] {
        assert_eq!(add(&pool, &pooled(1, nonce, fee, nonce), rich(0)), "ok");
    }
    let better = pooled(2, 0, 12, 9);
    assert_eq!(add(&pool, &better, rich(0)), "ok");
    let reason = DropReason::Outbid { by: better.hash() };
    assert_eq!(dropped(&mut events), [(1, 3, reason)]);
    assert_eq!(pool.counts(), (4, 0), "none waits for one that is gone");
    // The account's own transactions can't make room: the new one could not be mined before them.
    assert_eq!(add(&pool, &pooled(1, 3, 40, 10), rich(0)), "txpool is full");
    assert_eq!(dropped(&mut events), []);
}

#[test]
fn of_equal_ones_the_last_that_came_makes_room() {
    let pool = small();
    for from in 1..=4 {
        assert_eq!(add(&pool, &pooled(from, 0, 10, 10 - u64::from(from)), rich(0)), "ok");
    }
    assert_eq!(add(&pool, &pooled(5, 0, 11, 20), rich(0)), "ok");
    assert_eq!(order(&pool, 0), [(5, 0), (4, 0), (3, 0), (2, 0)]);
}

#[test]
fn a_long_transaction_makes_room_of_several_or_of_none() {
    use alloy_consensus::{SignableTransaction as _, TxLegacy};
    let long = |fee: u128| {
        let tx = TxLegacy {
            chain_id: Some(43112),
            gas_price: fee * super::GWEI,
            gas_limit: 2_000_000,
            to: alloy_primitives::TxKind::Call(account(9)),
            input: vec![0; 40_000].into(),
            ..Default::default()
        };
        let tx = tx.into_signed(alloy_primitives::Signature::test_signature()).into();
        esker_evm::pool::PooledTx::new(tx, account(9), 100, 0)
    };
    assert_eq!(long(1).slots(), 2);
    let pool = small();
    let mut events = pool.subscribe_dropped();
    for (from, fee) in [(1, 10), (2, 20), (3, 30), (4, 40)] {
        assert_eq!(add(&pool, &pooled(from, 0, fee, u64::from(from)), rich(0)), "ok");
    }
    assert_eq!(add(&pool, &long(15), rich(0)), "transaction underpriced");
    assert_eq!(add(&pool, &long(20), rich(0)), "txpool is full");
    assert_eq!((dropped(&mut events), pool.counts()), (vec![], (4, 0)), "all stay");
    assert_eq!(order(&pool, 0), [(4, 0), (3, 0), (2, 0), (1, 0)]);
    assert_eq!(add(&pool, &long(25), rich(0)), "ok");
    let gone: Vec<_> = dropped(&mut events).into_iter().map(|(from, ..)| from).collect();
    assert_eq!(gone, [1, 2]);
    assert_eq!(order(&pool, 0), [(4, 0), (3, 0), (9, 0)]);
    // A replacement can't take more room than available either.
    assert_eq!(add(&pool, &pooled(1, 0, 50, 5), rich(0)), "ok");
    assert_eq!(pool.counts(), (3, 0), "the long one made room");
}

#[test]
fn bytes_are_bounded_however_few_the_transactions() {
    let one = pooled(1, 0, 10, 0).size();
    let pool = Pool::new(PoolConfig { max_bytes: 2 * one, ..PoolConfig::default() });
    assert_eq!(add(&pool, &pooled(1, 0, 10, 0), rich(0)), "ok");
    assert_eq!(add(&pool, &pooled(2, 0, 10, 1), rich(0)), "ok");
    assert_eq!(add(&pool, &pooled(3, 0, 90, 2), rich(0)), "txpool is full");
    assert_eq!(pool.bytes(), 2 * one);
}

#[test]
fn what_becomes_executable_is_never_dropped_for_the_limit_on_pending_ones() {
    let config =
        PoolConfig { global_slots: 3, global_queue: 4, account_slots: 1, ..PoolConfig::default() };
    let pool = Pool::new(config);
    let mut events = pool.subscribe_dropped();
    for nonce in 1..=4 {
        assert_eq!(add(&pool, &pooled(1, nonce, 10, nonce), rich(0)), "ok");
    }
    assert_eq!(add(&pool, &pooled(1, 0, 10, 9), rich(0)), "ok");
    assert_eq!((pool.counts(), dropped(&mut events)), ((5, 0), vec![]));
    assert_eq!(add(&pool, &pooled(1, 5, 10, 10), rich(0)), "txpool is full");
}

#[test]
fn queues_have_limits_of_their_own() {
    let config = PoolConfig { account_queue: 2, global_queue: 3, ..PoolConfig::default() };
    let pool = Pool::new(config);
    let mut events = pool.subscribe_dropped();
    assert_eq!(add_at(&pool, &pooled(1, 5, 10, 1), rich(0), 5), "ok");
    assert_eq!(add_at(&pool, &pooled(1, 7, 10, 2), rich(0), 5), "ok");
    assert_eq!(add_at(&pool, &pooled(1, 9, 10, 3), rich(0), 5), "txpool is full", "its own is");
    assert_eq!(add_at(&pool, &pooled(1, 6, 10, 4), rich(0), 5), "ok");
    assert_eq!(dropped(&mut events), [(1, 7, DropReason::QueueFull)], "the one that is farther");
    // Limit on all: the account that is idle for the longest time loses its last transaction, never the new one.
    for (arrival, from) in (10..).zip([9, 8, 7]) {
        assert_eq!(add_at(&pool, &pooled(from, 3, 10, arrival), rich(0), 5), "ok");
    }
    assert_eq!(pool.counts(), (0, 3));
    assert_eq!(
        dropped(&mut events),
        [(1, 6, DropReason::QueueFull), (1, 5, DropReason::QueueFull)]
    );
    assert_eq!(add_at(&pool, &pooled(6, 3, 10, 20), rich(0), 6), "ok");
    assert_eq!(dropped(&mut events), [(9, 3, DropReason::QueueFull)]);
}

#[test]
fn a_full_queue_refuses_the_highest_nonce() {
    let pool = Pool::new(PoolConfig { global_queue: 2, ..PoolConfig::default() });
    let mut events = pool.subscribe_dropped();
    assert_eq!(add(&pool, &pooled(1, 4, 10, 1), rich(0)), "ok");
    assert_eq!(add(&pool, &pooled(1, 6, 10, 2), rich(0)), "ok");
    assert_eq!(add(&pool, &pooled(1, 8, 10, 3), rich(0)), "txpool is full");
    assert_eq!(dropped(&mut events), []);
    assert_eq!(add(&pool, &pooled(1, 5, 10, 4), rich(0)), "ok");
    assert_eq!(dropped(&mut events), [(1, 6, DropReason::QueueFull)]);
}

#[test]
fn what_begins_to_wait_again_gets_its_whole_time() {
    let pool = Pool::new(PoolConfig::default());
    let lifetime_ms = PoolConfig::default().lifetime_ms;
    for nonce in 0..2 {
        assert_eq!(add(&pool, &pooled(1, nonce, 10, nonce), rich(0)), "ok");
    }
    // The account can no longer pay for the first one, long after their arrival.
    let cost = pooled(1, 0, 10, 0).cost();
    let dear = pooled(1, 0, 20, 5);
    assert_eq!(add(&pool, &dear, rich(0)), "ok");
    let state = AccountState { nonce: 0, balance: cost + U256::from(9) };
    settle(&pool, 1, &[(account(1), state)], 5 * lifetime_ms);
    assert_eq!(pool.counts(), (0, 1));
    settle(&pool, 2, &[], 6 * lifetime_ms);
    assert_eq!(pool.counts(), (0, 1));
    settle(&pool, 3, &[], 6 * lifetime_ms + 1);
    assert_eq!(pool.counts(), (0, 0));
}

#[test]
fn every_drop_and_refusal_is_counted() {
    let pool = small();
    let first = pooled(1, 0, 10, 0);
    assert_eq!(add(&pool, &first, rich(0)), "ok");
    let second = pooled(1, 0, 20, 1);
    assert_eq!(add(&pool, &second, rich(0)), "ok");
    let rival = pooled(2, 3, 10, 2);
    assert_eq!(add(&pool, &rival, rich(0)), "ok");
    settle(&pool, 1, &[(account(2), rich(4))], 7);
    let refused = pool.admit(second.clone()).decide(Default::default(), &next(), 0).unwrap_err();
    pool.count_refused(&refused);
    let figures = pool.figures();
    let moved = |figures: &[(&'static str, u64)]| -> Vec<(&'static str, u64)> {
        figures.iter().filter(|(_, count)| *count > 0).copied().collect()
    };
    assert_eq!(moved(&figures.dropped), [("replaced", 1), ("nonce_used", 1)]);
    assert_eq!(moved(&figures.refused), [("already_known", 1)]);
    let store = esker_storage::Store::memory().unwrap();
    let reason = |tx: &esker_evm::pool::PooledTx| {
        let reader = store.snapshot().unwrap();
        let id = esker_primitives::Id::new(tx.hash().0);
        pool.drop_log().get(reader.as_ref(), esker_storage::Scope(1), &id).unwrap()
    };
    let text = format!("replaced by transaction {} with the same nonce", second.hash());
    assert_eq!(reason(&first).map(|dropped| (dropped.reason, dropped.at_ms)), Some((text, 0)));
    let text = "nonce 3 was used by another transaction".to_owned();
    assert_eq!(reason(&rival).map(|dropped| (dropped.reason, dropped.at_ms)), Some((text, 7)));
    assert_eq!(reason(&second), None);
}
