//! The pool's account states only move forward, whatever their source and order.

use alloy_primitives::{B256, U256};
use esker_evm::pool::{AccountRead, AccountState, NewHead, Pool, PoolConfig};

use super::{account, add, next, order, pooled, rich, settle};

fn read(height: u64, nonce: u64) -> AccountRead {
    AccountRead { state: rich(nonce), height, has_code: false }
}

/// The next nonce of the account under test, and how many are pending and queued.
fn view(pool: &Pool) -> (Option<u64>, (usize, usize)) {
    (pool.next_nonce(&account(1)), pool.counts())
}

#[test]
fn a_read_from_before_a_block_does_not_undo_what_the_block_brought() {
    let pool = Pool::new(PoolConfig::default());
    assert_eq!(add(&pool, &pooled(1, 0, 10, 0), rich(0)), "ok");
    // The sender's state is read, then a block is accepted that mines the first transaction.
    let admission = pool.admit(pooled(1, 1, 10, 1));
    let stale = read(0, 0);
    settle(&pool, 1, &[(account(1), rich(1))], 0);
    assert_eq!(view(&pool), (None, (0, 0)));
    admission.decide(stale, &next(), 0).unwrap();
    assert_eq!(view(&pool), (Some(2), (1, 0)));
    assert_eq!(add(&pool, &pooled(1, 2, 10, 2), rich(1)), "ok");
    assert_eq!(order(&pool, 0), [(1, 1), (1, 2)]);
}

#[test]
fn an_account_that_leaves_and_comes_back_meanwhile_is_followed() {
    let pool = Pool::new(PoolConfig::default());
    let admission = pool.admit(pooled(1, 2, 10, 2));
    let stale = read(0, 0);
    for height in 1..=2 {
        let nonce = height - 1;
        assert_eq!(add(&pool, &pooled(1, nonce, 10, nonce), rich(nonce)), "ok");
        settle(&pool, height, &[(account(1), rich(height))], 0);
    }
    admission.decide(stale, &next(), 0).unwrap();
    assert_eq!(view(&pool), (Some(3), (1, 0)));
}

#[test]
fn a_stale_read_does_not_take_what_was_used_already() {
    let pool = Pool::new(PoolConfig::default());
    let admission = pool.admit(pooled(1, 0, 12, 1));
    settle(&pool, 1, &[(account(1), rich(1))], 0);
    let refused = admission.decide(read(0, 0), &next(), 0).unwrap_err();
    assert_eq!(refused.to_string(), "nonce too low: next nonce 1, tx nonce 0");
    assert_eq!(view(&pool), (None, (0, 0)));
}

#[test]
fn a_read_newer_than_the_pools_head_is_used() {
    let pool = Pool::new(PoolConfig::default());
    let poor = AccountState { nonce: 0, balance: U256::ZERO };
    settle(&pool, 4, &[(account(1), poor)], 0);
    // The block that paid the account is in the store. The pool settles it later.
    pool.admit(pooled(1, 0, 10, 0)).decide(read(5, 0), &next(), 0).unwrap();
    assert_eq!(view(&pool), (Some(1), (1, 0)));
    settle(&pool, 5, &[(account(1), rich(0))], 0);
    assert_eq!(view(&pool), (Some(1), (1, 0)));

    // The same holds for a block that uses nonces: the transactions that it mined stay visible until the pool settles
    // it.
    pool.admit(pooled(1, 1, 10, 1)).decide(read(6, 1), &next(), 0).unwrap();
    assert_eq!(view(&pool), (Some(2), (2, 0)));
    let refused = pool.admit(pooled(1, 0, 20, 2)).decide(read(6, 1), &next(), 0).unwrap_err();
    assert_eq!(refused.to_string(), "nonce too low: next nonce 1, tx nonce 0");
    settle(&pool, 6, &[(account(1), rich(1))], 0);
    assert_eq!(view(&pool), (Some(2), (1, 0)));
}

#[test]
fn an_older_head_changes_nothing() {
    let pool = Pool::new(PoolConfig::default());
    settle(&pool, 1, &[(account(1), rich(3))], 0);
    pool.admit(pooled(1, 3, 10, 0)).decide(read(7, 3), &next(), 0).unwrap();
    settle(&pool, 6, &[(account(1), rich(1))], 0);
    assert_eq!(view(&pool), (Some(4), (1, 0)));
}

#[test]
fn an_admission_that_is_given_up_leaves_nothing_behind() {
    let pool = Pool::new(PoolConfig::default());
    drop(pool.admit(pooled(1, 0, 10, 0)));
    let cheap = pool.admit(pooled(1, 0, 0, 0)).decide(read(0, 0), &next(), 0);
    assert!(cheap.is_err());
    assert_eq!((view(&pool), pool.accounts().len()), ((None, (0, 0)), 0));
    // The state that was read meanwhile is not kept either.
    settle(&pool, 9, &[(account(1), rich(9))], 0);
    assert_eq!(add(&pool, &pooled(1, 0, 10, 0), rich(0)), "ok");
}

#[test]
fn all_accounts_are_checked_in_turn() {
    let pool = Pool::new(PoolConfig::default());
    for from in 1..=5 {
        assert_eq!(add(&pool, &pooled(from, 0, 10, u64::from(from)), rich(0)), "ok");
    }
    let mut checked: Vec<_> = (0..5).flat_map(|_| pool.next_to_check(2)).collect();
    checked.sort();
    let twice: Vec<_> = (1..=5).flat_map(|from| [account(from), account(from)]).collect();
    assert_eq!(checked, twice);
    assert_eq!(pool.next_to_check(9).len(), 5);
    // An account that missed a block follows at its next check.
    settle(&pool, 3, &[(account(2), rich(1))], 0);
    assert_eq!(pool.counts(), (4, 0));
}

#[test]
fn less_gas_in_a_block_drops_what_needs_more_also_of_accounts_that_it_did_not_change() {
    let pool = Pool::new(PoolConfig::default());
    for from in 1..=2 {
        assert_eq!(add(&pool, &pooled(from, 0, 10, u64::from(from)), rich(0)), "ok");
    }
    let mut dropped = pool.subscribe_dropped();
    let head = |gas_limit| NewHead {
        height: 1,
        accounts: &[],
        is_mined: &|_: &B256| false,
        gas_limit,
        now_ms: 0,
    };
    pool.settle(&head(21_000));
    assert_eq!(pool.counts(), (2, 0));
    pool.settle(&head(20_999));
    assert_eq!(pool.counts(), (0, 0));
    let reasons: Vec<_> =
        std::iter::from_fn(|| dropped.try_recv().ok()).map(|d| d.reason.to_string()).collect();
    let text = "exceeds block gas limit: tx gas (21000) > current max gas (20999)";
    assert_eq!(reasons, [text, text]);
}
