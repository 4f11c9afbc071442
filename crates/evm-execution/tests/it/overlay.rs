//! Changes over a state, and their reversal.

use alloy_primitives::{Address, B256, Bytes, U256};
use esker_evm_execution::executor::{NoHashes, StateOverlay};
use esker_evm_execution::genesis::{Genesis, GenesisAccount};
use esker_evm_execution::rules::ForkSchedule;
use esker_evm_state::state::{StateTries, StateVersion, StateView};
use esker_storage::KvStore;
use esker_testkit::first_block::{SCOPE, params};
use proptest::prelude::*;

use crate::ledger::Ledger;

#[derive(Clone, Debug)]
enum Change {
    Balance(u8, u64),
    Nonce(u8, u64),
    Code(u8, u8),
    Slot(u8, u8, u64),
    Asset(u8, u8, u64),
    Wipe(u8),
    Clear(u8),
    Look(u8, u8),
}

fn apply(state: &mut StateOverlay<'_>, change: &Change) {
    let at = |n: u8| Address::with_last_byte(n % 4);
    match *change {
        Change::Balance(a, n) => state.set_balance(at(a), U256::from(n)),
        Change::Nonce(a, n) => state.set_nonce(at(a), n),
        Change::Code(a, n) => state.set_code(at(a), Bytes::from(vec![n; usize::from(n % 3)])),
        Change::Slot(a, slot, n) => state.set_slot(at(a), U256::from(slot % 4), U256::from(n)),
        Change::Asset(a, asset, n) => {
            state.set_asset_balance(at(a), B256::with_last_byte(asset % 2), U256::from(n))
        }
        Change::Wipe(a) => state.wipe(at(a)),
        Change::Clear(a) => state.clear_if_empty(at(a)),
        Change::Look(a, slot) => state.slot(at(a), U256::from(slot % 4)).map(|_| ()),
    }
    .unwrap();
}

/// Nonce, balance and flag; code; slots.
type AccountContent = (Option<(u64, U256, bool)>, Bytes, Vec<U256>);

/// The full content of the accounts under test.
fn seen(state: &mut StateOverlay<'_>) -> Vec<AccountContent> {
    let one = |n: u8| {
        let address = Address::with_last_byte(n);
        let account = state.account(address).unwrap();
        let slots = (0..4).map(|slot| state.slot(address, U256::from(slot)).unwrap());
        let mut slots: Vec<_> = slots.collect();
        slots
            .extend((0..2).map(|n| state.asset_balance(address, B256::with_last_byte(n)).unwrap()));
        let parts = account.map(|account| (account.nonce, account.balance, account.is_multi_coin));
        (parts, state.code(address).unwrap(), slots)
    };
    (0..4).map(one).collect()
}

fn change() -> impl Strategy<Value = Change> {
    let (a, b, n) = (any::<u8>(), any::<u8>(), 0u64..3);
    prop_oneof![
        (a, n.clone()).prop_map(|(a, n)| Change::Balance(a, n)),
        (a, n.clone()).prop_map(|(a, n)| Change::Nonce(a, n)),
        (a, b).prop_map(|(a, n)| Change::Code(a, n)),
        (a, b, n.clone()).prop_map(|(a, s, n)| Change::Slot(a, s, n)),
        (a, b, n).prop_map(|(a, s, n)| Change::Asset(a, s, n)),
        a.prop_map(Change::Wipe),
        a.prop_map(Change::Clear),
        (a, b).prop_map(|(a, s)| Change::Look(a, s)),
    ]
}

/// A chain of some accounts, one with storage.
fn chain() -> Ledger {
    let json = br#"{"config":{},"gasLimit":"1","difficulty":"0","alloc":{}}"#;
    let mut genesis = Genesis::parse(json).unwrap();
    let word = |n: u8| B256::with_last_byte(n);
    let storage = [(word(0), word(7)), (word(1), word(8))].into();
    let account = GenesisAccount { nonce: 1, code: vec![1].into(), storage, ..Default::default() };
    genesis.alloc.insert(Address::with_last_byte(1), account);
    genesis.alloc.insert(Address::with_last_byte(2), GenesisAccount::default());
    Ledger::new(params(1, ForkSchedule::LOCAL), &genesis)
}

proptest! {
    #[test]
    fn what_is_taken_back_was_never_there(
        before in proptest::collection::vec(change(), 0..12),
        after in proptest::collection::vec(change(), 0..12),
    ) {
        let chain = chain();
        let reader = chain.store.snapshot().unwrap();
        let view = StateView::new(&*reader, SCOPE, StateVersion::Latest);
        let mut state = StateOverlay::new(view, &NoHashes, chain.params.machine.codes.clone());
        prop_assert!(state.changes().is_empty());
        before.iter().for_each(|change| apply(&mut state, change));
        let (values, changes) = (seen(&mut state), state.changes());
        let checkpoint = state.checkpoint();
        after.iter().for_each(|change| apply(&mut state, change));
        state.revert_to(checkpoint);
        prop_assert_eq!(seen(&mut state), values);
        prop_assert_eq!(state.changes(), changes);
    }

    #[test]
    fn changes_taken_step_by_step_lead_to_the_same_roots(
        steps in proptest::collection::vec(proptest::collection::vec(change(), 0..8), 1..8),
    ) {
        check_steps(&steps);
    }
}

/// Slots that are set on a deleted account are taken when it is created again.
#[test]
fn slots_of_an_account_that_is_gone_wait_for_it() {
    check_steps(&[vec![Change::Clear(2), Change::Slot(2, 0, 1)], vec![Change::Nonce(2, 0)]]);
    check_steps(&[
        vec![Change::Clear(2)],
        vec![Change::Slot(2, 0, 1)],
        vec![Change::Slot(2, 1, 2)],
        vec![Change::Balance(2, 1)],
    ]);
    check_steps(&[vec![Change::Slot(3, 0, 1)], vec![Change::Nonce(3, 1)], vec![Change::Clear(3)]]);
}

/// Checks that changes taken step by step give the same roots as all changes at once.
fn check_steps(steps: &[Vec<Change>]) {
    let chain = chain();
    let reader = chain.store.snapshot().unwrap();
    let view = StateView::new(&*reader, SCOPE, StateVersion::Latest);
    let tries = || StateTries::new(&*chain.params.rules, view, chain.tip.state_root).unwrap();
    let new = || StateOverlay::new(view, &NoHashes, chain.params.machine.codes.clone());
    let (mut tracked, mut whole, mut by_step) = (new().tracking(), new(), tries());
    let (mut kept, mut by_values) = (new().tracking(), tries());
    for step in steps {
        for change in step {
            apply(&mut tracked, change);
            apply(&mut whole, change);
            apply(&mut kept, change);
        }
        // Reverted changes do not count, whenever the changes are taken.
        for state in [&mut tracked, &mut kept] {
            let checkpoint = state.checkpoint();
            step.iter().for_each(|change| apply(state, change));
            state.revert_to(checkpoint);
        }
        let expected = tries().apply(&whole.changes()).unwrap();
        assert_eq!(by_step.apply(&tracked.take_changes()).unwrap(), expected);
        assert_eq!(by_values.apply(&kept.recent_changes()).unwrap(), expected);
        assert_eq!(seen(&mut tracked), seen(&mut whole));
        assert_eq!(kept.changes(), whole.changes());
    }
    assert!(tracked.take_changes().is_empty());
}
