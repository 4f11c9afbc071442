//! The pool: texts, replacement, order, account states, full pools, and its books under random traffic.

mod books;
mod follow;
mod full;

use alloy_consensus::{SignableTransaction, TxEip1559, TxLegacy};
use alloy_primitives::{Address, Signature, TxKind, U256};
use esker_evm::pool::{
    AccountRead, AccountState, NewHead, NextBlock, Pool, PoolConfig, PooledTx, RefusedTxs,
    before_recovery,
};
use esker_evm_execution::rules::Phase;
use esker_evm_state::types::Transaction;

const GWEI: u128 = 1_000_000_000;

fn next() -> NextBlock {
    let rules = Phase::Etna.rules().execution;
    NextBlock { rules, gas_limit: 15_000_000, base_fee: GWEI, min_base_fee: GWEI }
}

fn account(n: u8) -> Address {
    Address::repeat_byte(n)
}

fn rich(nonce: u64) -> AccountState {
    AccountState { nonce, balance: U256::MAX }
}

fn priced(nonce: u64, fee_cap: u128, tip: u128) -> Transaction {
    let tx = TxEip1559 {
        chain_id: 43112,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: fee_cap,
        max_priority_fee_per_gas: tip,
        to: TxKind::Call(Address::ZERO),
        value: U256::from(1),
        ..Default::default()
    };
    tx.into_signed(Signature::test_signature()).into()
}

fn pooled(from: u8, nonce: u64, fee_gwei: u128, arrival: u64) -> PooledTx {
    let fee = fee_gwei * GWEI;
    // The value makes transactions of different senders distinct: here, all have the same signature.
    let tx = TxEip1559 {
        chain_id: 43112,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: fee,
        to: TxKind::Call(Address::ZERO),
        value: U256::from(from),
        ..Default::default()
    };
    let tx = tx.into_signed(Signature::test_signature()).into();
    PooledTx::new(tx, account(from), arrival, 0)
}

fn add(pool: &Pool, tx: &PooledTx, state: AccountState) -> String {
    add_at(pool, tx, state, 0)
}

fn add_at(pool: &Pool, tx: &PooledTx, state: AccountState, now_ms: u64) -> String {
    let read = AccountRead { state, height: 0, has_code: false };
    let outcome = pool.admit(tx.clone()).decide(read, &next(), now_ms);
    outcome.map_or_else(|error| error.to_string(), |()| "ok".into())
}

/// A head that mined nothing of the pool.
fn settle(pool: &Pool, height: u64, accounts: &[(Address, AccountState)], now_ms: u64) {
    let is_mined = &|_: &alloy_primitives::B256| false;
    pool.settle(&NewHead { height, accounts, is_mined, gas_limit: 15_000_000, now_ms });
}

fn order(pool: &Pool, base_fee: u128) -> Vec<(u8, u64)> {
    let mut best = pool.best(base_fee);
    let mut order = Vec::new();
    while let Some(tx) = best.peek() {
        order.push((tx.sender()[0], tx.nonce()));
        best.shift();
    }
    order
}

#[test]
fn nonces_may_come_in_any_order() {
    let pool = Pool::new(PoolConfig::default());
    let mut promoted = pool.subscribe();
    for nonce in [3, 1, 2] {
        assert_eq!(add(&pool, &pooled(1, nonce, 10, nonce), rich(0)), "ok");
    }
    assert_eq!((pool.counts(), pool.next_nonce(&account(1))), ((0, 3), Some(0)));
    assert!(promoted.try_recv().is_err(), "nothing can run yet");
    assert_eq!(add(&pool, &pooled(1, 0, 10, 9), rich(0)), "ok");
    assert_eq!((pool.counts(), pool.next_nonce(&account(1))), ((4, 0), Some(4)));
    let events: Vec<_> =
        std::iter::from_fn(|| promoted.try_recv().ok()).map(|tx| tx.nonce()).collect();
    assert_eq!(events, [0, 1, 2, 3]);
    assert_eq!(order(&pool, 0), [(1, 0), (1, 1), (1, 2), (1, 3)]);
}

#[test]
fn a_block_takes_the_best_paying_first_and_equal_ones_as_they_came() {
    let pool = Pool::new(PoolConfig::default());
    for (i, (from, nonce, fee)) in
        [(1, 0, 5), (2, 0, 9), (3, 0, 5), (1, 1, 50), (4, 0, 2)].into_iter().enumerate()
    {
        let tx = pooled(from, nonce, fee, u64::try_from(i).unwrap());
        assert_eq!(add(&pool, &tx, rich(0)), "ok");
    }
    assert_eq!(order(&pool, GWEI), [(2, 0), (1, 0), (1, 1), (3, 0), (4, 0)]);
    assert_eq!(order(&pool, 5 * GWEI), [(2, 0), (1, 0), (1, 1), (3, 0)], "one can't pay");
    let mut best = pool.best(GWEI);
    best.shift();
    best.pop();
    assert_eq!(best.peek().unwrap().sender(), account(3), "a popped account is left out");
}

#[test]
fn a_block_may_take_transactions_as_they_came() {
    let pool = Pool::new(PoolConfig { by_arrival: true, ..PoolConfig::default() });
    // More accounts than are read at once otherwise.
    for from in 0..100_u8 {
        let tx = pooled(from, 0, 5 + u128::from(from), u64::from(from));
        assert_eq!(add(&pool, &tx, rich(0)), "ok");
    }
    assert_eq!(add(&pool, &pooled(0, 1, 500, 100), rich(0)), "ok");
    let mut expected: Vec<_> = (0..100).map(|from| (from, 0)).collect();
    expected.push((0, 1));
    assert_eq!(order(&pool, GWEI), expected);
}

#[test]
fn refusals_have_the_references_texts() {
    let pool = Pool::new(PoolConfig::default());
    let check = |tx: &PooledTx, state, text: &str| assert_eq!(add(&pool, tx, state), text);
    let first = pooled(1, 0, 10, 0);
    check(&first, rich(0), "ok");
    check(&first, rich(0), "already known");
    check(&pooled(1, 0, 10, 1), rich(1), "already known");
    check(&pooled(1, 1, 10, 1), rich(2), "nonce too low: next nonce 2, tx nonce 1");
    let poor = AccountState { nonce: 0, balance: U256::from(1000) };
    check(
        &pooled(2, 0, 10, 1),
        poor,
        "insufficient funds for gas * price + value: balance 1000, tx cost 210000000000002, \
         overshot 209999999999002",
    );
    let enough_for_one = AccountState { nonce: 0, balance: U256::from(250_000_000_000_000u64) };
    check(
        &pooled(1, 1, 10, 1),
        enough_for_one,
        "insufficient funds for gas * price + value: balance 250000000000000, queued cost \
         210000000000001, tx cost 210000000000001, overshot 170000000000002",
    );
    check(&pooled(1, 1, 10, 1), rich(0), "ok");
    check(
        &pooled(1, 0, 12, 1),
        AccountState { nonce: 0, balance: U256::from(450_000_000_000_000u64) },
        "insufficient funds for gas * price + value: balance 450000000000000, queued cost \
         420000000000002, tx bumped 42000000000000, overshot 12000000000002",
    );
    let cheap = PooledTx::new(priced(0, GWEI - 1, 1), account(3), 0, 0);
    let text = format!(
        "transaction underpriced: address {} have gas fee cap (999999999) < pool minimum fee cap (1000000000)",
        account(3)
    );
    check(&cheap, rich(0), &text);
    check(&pooled(1, 0, 10, 5), rich(0), "already known");
    let last = u64::MAX;
    let text = format!("nonce has max value: address {}, nonce: {last}", account(1));
    check(&pooled(1, last, 10, 1), rich(0), &text);
    check(&pooled(1, last, 10, 1), rich(last), &text);
    check(&pooled(1, last - 1, 10, 1), rich(last - 1), "ok");
}

#[test]
fn a_replacement_pays_a_tenth_more_in_both_prices() {
    let pool = Pool::new(PoolConfig::default());
    let tx = |fee: u128, tip: u128| PooledTx::new(priced(0, fee, tip), account(1), 0, 0);
    let underpriced = "replacement transaction underpriced";
    assert_eq!(add(&pool, &tx(100 * GWEI, 100), rich(0)), "ok");
    assert_eq!(add(&pool, &tx(110 * GWEI, 109), rich(0)), underpriced);
    assert_eq!(add(&pool, &tx(110 * GWEI - 1, 110), rich(0)), underpriced);
    assert_eq!(add(&pool, &tx(110 * GWEI, 110), rich(0)), "ok");
    assert_eq!(pool.counts(), (1, 0));
    // The lowest price of a replacement suffices, and a lower price does not.
    for _ in 0..3 {
        let price = pool.replacement_price(&account(1), 0).unwrap();
        let (fee, tip) = (price.fee_cap, price.tip_cap);
        assert_eq!(add(&pool, &tx(fee - 1, tip), rich(0)), underpriced);
        assert_eq!(add(&pool, &tx(fee, tip - 1), rich(0)), underpriced);
        assert_eq!(add(&pool, &tx(fee, tip), rich(0)), "ok");
    }
    let least = PooledTx::new(priced(9, GWEI, 1), account(1), 0, 0).least_replacement(10);
    assert_eq!((least.fee_cap, least.tip_cap), (GWEI * 11 / 10, 2));
    assert_eq!(pool.replacement_price(&account(1), 1), None);
    let gapped = |fee: u128| PooledTx::new(priced(7, fee, fee), account(1), 0, 0);
    assert_eq!(add(&pool, &gapped(100 * GWEI), rich(0)), "ok");
    assert_eq!(add(&pool, &gapped(105 * GWEI), rich(0)), underpriced);
    assert_eq!(add(&pool, &gapped(110 * GWEI), rich(0)), "ok");
    assert_eq!(pool.counts(), (1, 1));
}

#[test]
fn a_block_reads_more_accounts_than_one_look_at_the_pool_gives() {
    let pool = Pool::new(PoolConfig::default());
    for (arrival, from) in (0u64..).zip(1u8..=200) {
        let fee = 2 + u128::from(from % 7);
        for nonce in 0..2 {
            // The second transaction of an account pays more than many first ones, and less than others.
            let tx = pooled(from, nonce, fee + 3 * u128::from(nonce), 2 * arrival + nonce);
            assert_eq!(add(&pool, &tx, rich(0)), "ok");
        }
    }
    let taken = order(&pool, GWEI);
    assert_eq!(taken.len(), 400);
    // The expected order: all accounts are compared for each transaction.
    let mut heads: Vec<_> = (1u8..=200).map(|from| Some((from, 0u64))).collect();
    let offer = |(from, nonce): (u8, u64)| {
        let fee = 2 + u128::from(from % 7) + 3 * u128::from(nonce);
        (fee, std::cmp::Reverse(2 * (u64::from(from) - 1) + nonce))
    };
    for got in taken {
        let best = heads.iter_mut().filter(|head| head.is_some()).max_by_key(|h| offer(h.unwrap()));
        let head = best.unwrap();
        assert_eq!(head.unwrap(), got);
        *head = head.filter(|(_, nonce)| *nonce == 0).map(|(from, _)| (from, 1));
    }
}

#[test]
fn a_block_in_the_making_is_not_disturbed_by_what_comes_and_goes() {
    let pool = Pool::new(PoolConfig::default());
    for from in 1..=100 {
        assert_eq!(add(&pool, &pooled(from, 0, 10, u64::from(from)), rich(0)), "ok");
    }
    let mut best = pool.best(GWEI);
    assert_eq!(best.peek().unwrap().sender(), account(1));
    // A better transaction, a replacement of one that was read, and one more of the first account.
    assert_eq!(add(&pool, &pooled(101, 0, 50, 101), rich(0)), "ok");
    assert_eq!(add(&pool, &pooled(2, 0, 20, 102), rich(0)), "ok");
    assert_eq!(add(&pool, &pooled(1, 1, 9, 103), rich(0)), "ok");
    let mut taken = Vec::new();
    while let Some(tx) = best.peek() {
        taken.push((tx.sender()[0], tx.nonce()));
        best.shift();
    }
    let mut firsts: Vec<_> = (1..=100).map(|from| (from, 0)).collect();
    firsts.push((1, 1));
    assert_eq!(taken, firsts);
}

#[test]
fn what_the_next_block_cannot_have_is_refused_on_request() {
    let pool = Pool::new(PoolConfig::default());
    let add = |tx: &PooledTx, state, refused| {
        let read = AccountRead { state, height: 0, has_code: false };
        let outcome = pool.admit(tx.clone()).refusing(refused).decide(read, &next(), 0);
        outcome.map_or_else(|error| error.to_string(), |()| "ok".into())
    };
    let low = PooledTx::new(priced(0, GWEI, 0), account(1), 0, 0);
    let next_fee = NextBlock { base_fee: GWEI + 1, ..next() };
    for refused in [RefusedTxs::LowFees, RefusedTxs::NotInNextBlock] {
        let read = AccountRead { state: rich(0), height: 0, has_code: false };
        let refusal = pool.admit(low.clone()).refusing(refused).decide(read, &next_fee, 0);
        let text = "max fee per gas less than block base fee: 1000000000 is too low for the next block, which has a \
                    baseFeePerGas of 1000000001";
        assert_eq!(refusal.unwrap_err().to_string(), text);
    }
    let gapped = pooled(1, 2, 10, 1);
    let refusal = "Nonce too high. Expected nonce to be 0 but got 2. Note that transactions can't be queued when automining.";
    assert_eq!(add(&gapped, rich(0), RefusedTxs::NotInNextBlock), refusal);
    assert_eq!(add(&gapped, rich(0), RefusedTxs::LowFees), "ok");
    for nonce in 0..2 {
        assert_eq!(add(&pooled(1, nonce, 10, nonce), rich(0), RefusedTxs::NotInNextBlock), "ok");
    }
    assert_eq!(add(&pooled(1, 3, 10, 3), rich(0), RefusedTxs::NotInNextBlock), "ok");
    let used = add(&pooled(2, 0, 10, 4), rich(1), RefusedTxs::NotInNextBlock);
    assert_eq!(used, "nonce too low: next nonce 1, tx nonce 0");
    // A block comes between the look at the account and the decision.
    let admission = pool.admit(pooled(3, 1, 10, 5)).refusing(RefusedTxs::NotInNextBlock);
    let read = AccountRead { state: rich(0), height: 0, has_code: false };
    settle(&pool, 1, &[(account(3), rich(1))], 0);
    assert_eq!(admission.decide(read, &next(), 0), Ok(()));
}

#[test]
fn a_new_head_moves_drops_and_frees() {
    let pool = Pool::new(PoolConfig::default());
    for nonce in 0..4 {
        assert_eq!(add(&pool, &pooled(1, nonce, 10, nonce), rich(0)), "ok");
    }
    let mut height = 0;
    let mut settle_to = |nonce, balance: u64| {
        let state = AccountState { nonce, balance: U256::from(balance) };
        height += 1;
        settle(&pool, height, &[(account(1), state)], 0);
    };
    settle_to(2, u64::MAX);
    assert_eq!(order(&pool, 0), [(1, 2), (1, 3)]);
    settle_to(1, u64::MAX);
    assert_eq!(pool.counts(), (0, 2), "a nonce before them is missing again");
    settle_to(2, u64::MAX);
    assert_eq!(pool.counts(), (2, 0));
    settle_to(2, 10);
    assert_eq!((pool.counts(), pool.accounts().len()), ((0, 0), 0), "not payable any more");

    assert_eq!(add(&pool, &pooled(2, 5, 10, 1), rich(0)), "ok");
    let later = PoolConfig::default().lifetime_ms + 1;
    settle(&pool, height, &[], later);
    assert_eq!(pool.counts(), (0, 0), "a queued one does not wait for ever");
}

#[test]
fn checks_before_recovery() {
    let check = |tx: Transaction, size: usize, text: &str| {
        let got = before_recovery(&tx, size, &next());
        assert_eq!(got.err().map(|e| e.to_string()).unwrap_or_default(), text);
    };
    let legacy = |gas_limit, input: Vec<u8>| -> Transaction {
        let to = TxKind::Create;
        let tx = TxLegacy { gas_limit, input: input.into(), to, ..Default::default() };
        tx.into_signed(Signature::test_signature()).into()
    };
    check(priced(0, 2, 1), 100, "");
    check(priced(0, 1, 2), 100, "max priority fee per gas higher than max fee per gas");
    check(priced(0, 2, 1), 131_211, "oversized data: transaction size 131211, limit 131072");
    check(
        legacy(1, vec![0; 49_153]),
        100,
        "max initcode size exceeded: code size 49153, limit 49152",
    );
    let text = "exceeds block gas limit: tx gas (15000001) > current max gas (15000000)";
    check(legacy(15_000_001, vec![]), 100, text);
}
