//! Storage keys with the same slot, and empty accounts.

use alloy_primitives::{Address, B256, U256};
use esker_evm_execution::call::{
    AccountOverride, BlockOverrides, CallLimits, CallRequest, StateOverrides, call,
};
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::Phase;
use esker_evm_state::state::StateView;

use super::{CODE, Lab, odd, push, returning, until, word_of};

fn sload(key: U256) -> Vec<u8> {
    [push(key), vec![0x54]].concat()
}

fn sstore(key: U256, value: u8) -> Vec<u8> {
    [vec![0x60, value], push(key), vec![0x55]].concat()
}

#[test]
fn two_keys_that_differ_in_the_lowest_bit_of_the_first_byte_mean_one_slot() {
    let code = [sstore(odd(5), 42), returning(&sload(U256::from(5)))].concat();
    let mut lab = Lab::new(Phase::Etna, &code);
    assert_eq!(lab.word(), U256::from(42));
    assert!(lab.transact(Some(CODE), &[]).success);
    assert_eq!(lab.slot(CODE, U256::from(5)), U256::from(42));
    // The slot of the odd key itself would be a balance of another asset.
    assert_eq!(lab.slot(CODE, odd(5)), U256::ZERO);
    let code = [sstore(U256::from(5), 43), returning(&sload(odd(5)))].concat();
    assert_eq!(Lab::new(Phase::Etna, &code).word(), U256::from(43));
}

/// The slot has the value. The original key decides whether the access is cold.
#[test]
fn each_key_is_cold_on_its_own() {
    let (cold, warm) = (2_100, 100);
    let gas = |code: &[u8]| Lab::new(Phase::Etna, code).call(&[]).gas_used - 21_000;
    let load = |keys: &[U256]| gas(&keys.iter().flat_map(|key| sload(*key)).collect::<Vec<_>>());
    let even = U256::from(5);
    assert_eq!(load(&[odd(5)]), 3 + cold);
    assert_eq!(load(&[odd(5), odd(5)]), 6 + cold + warm);
    assert_eq!(load(&[odd(5), even]), 6 + 2 * cold);
    assert_eq!(load(&[even, odd(5), even, odd(5)]), 12 + 2 * cold + 2 * warm);
    // A store through the other key: the slot is already dirty, and only the key is cold.
    let store =
        |keys: &[U256]| gas(&keys.iter().flat_map(|key| sstore(*key, 1)).collect::<Vec<_>>());
    assert_eq!(store(&[odd(5)]), 6 + 20_000 + cold);
    assert_eq!(store(&[even, odd(5)]), 12 + 20_000 + cold + warm + cold);
    assert_eq!(store(&[odd(5), even]), 12 + 20_000 + cold + warm + cold);
    // Every second slot of a mapping has an odd key.
    let key = word_of("somewhere in a mapping") | odd(0);
    assert_eq!(store(&[key]), 6 + 20_000 + cold);
    assert_eq!(gas(&[sstore(key, 1), sload(key)].concat()), 9 + 20_000 + cold + warm);
}

#[test]
fn a_failed_frame_takes_its_accesses_and_values_back() {
    // The inner call stores through an odd key and reverts; then both keys are cold again.
    let inner = Address::repeat_byte(0x1e);
    let revert = [sstore(odd(5), 9), vec![0x60, 0, 0x60, 0, 0xfd]].concat();
    let outer = {
        let mut code = vec![0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0];
        code.extend(push(inner.into_word().into()));
        // DELEGATECALL with all gas, drop the result.
        code.extend([0x5a, 0xf4, 0x50]);
        code.extend(returning(&[sload(odd(5)), sload(U256::from(5)), vec![0x01]].concat()));
        code
    };
    let account = |code: Vec<u8>| GenesisAccount { code: code.into(), ..Default::default() };
    let lab =
        Lab::with(until(Phase::Etna), [(CODE, account(outer)), (inner, account(revert.clone()))]);
    assert_eq!(lab.word(), U256::ZERO);
    let used = lab.call(&[]).gas_used;
    // The same with a callee that reverts at once.
    let other = Lab::with(
        until(Phase::Etna),
        [
            (CODE, account(lab.view(|v| code_at(&v, CODE)))),
            (inner, account(vec![0x60, 0, 0x60, 0, 0xfd])),
        ],
    );
    // The first call has PUSH1, PUSH32 and the store in addition.
    assert_eq!(used - other.call(&[]).gas_used, 6 + 22_100);
}

fn code_at(view: &StateView<'_>, address: Address) -> Vec<u8> {
    let hash = view.account(&address).unwrap().unwrap().code_hash;
    view.code(hash).unwrap().to_vec()
}

#[test]
fn genesis_storage_and_overrides_are_mapped_too() {
    let key = |key: U256| B256::from(key);
    let account = GenesisAccount {
        code: returning(&sload(U256::from(5))).into(),
        storage: [(key(odd(5)), B256::with_last_byte(8))].into(),
        ..Default::default()
    };
    let lab = Lab::with(until(Phase::Etna), [(CODE, account)]);
    assert_eq!(lab.word(), U256::from(8));
    let run = |account| {
        let request = CallRequest { to: Some(CODE), ..Default::default() };
        let state = StateOverrides([(CODE, account)].into());
        let limits = CallLimits::default();
        let block = BlockOverrides::default();
        let outcome = lab.with_env(|env| call(env, &request, &state, &block, &limits)).unwrap();
        U256::from_be_slice(&outcome.output)
    };
    let slots = |slot, value| Some([(key(slot), B256::with_last_byte(value))].into());
    let diff =
        |slot, value| AccountOverride { state_diff: slots(slot, value), ..Default::default() };
    let all = |slot, value| AccountOverride { state: slots(slot, value), ..Default::default() };
    assert_eq!(run(diff(odd(5), 3)), U256::from(3));
    assert_eq!(run(diff(U256::from(6), 3)), U256::from(8));
    assert_eq!(run(all(U256::from(6), 3)), U256::ZERO);
    assert_eq!(run(all(odd(5), 4)), U256::from(4));
}

#[test]
fn empty_accounts_of_genesis_stay_until_they_are_touched() {
    let empty = Address::repeat_byte(0xee);
    let holder = Address::repeat_byte(0xef);
    let assets = [(B256::repeat_byte(2), U256::from(1))].into();
    let mut lab = Lab::with(
        until(Phase::Etna),
        [
            (empty, GenesisAccount::default()),
            // The account holds another asset, so it is not empty.
            (holder, GenesisAccount { assets, ..Default::default() }),
        ],
    );
    let exists = |lab: &Lab, address| lab.view(|view| view.account(&address).unwrap().is_some());
    assert!(exists(&lab, empty) && exists(&lab, holder));
    lab.transact(Some(CODE), &[]);
    assert!(exists(&lab, empty));
    lab.transact(Some(empty), &[]);
    lab.transact(Some(holder), &[]);
    assert!(!exists(&lab, empty) && exists(&lab, holder));
    assert!(lab.view(|view| view.account(&holder).unwrap().unwrap().is_multi_coin));
}
