//! Calls end when gas or memory is used up, or when they are cancelled.

use std::cell::Cell;
use std::time::Duration;

use alloy_primitives::{U256, address};
use esker_evm_execution::call::{
    BlockOverrides, CallError, CallLimits, CallRequest, StateOverrides, call, create_access_list,
    estimate_gas,
};
use esker_evm_execution::executor::{Bounds, Stop};
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::Phase;
use esker_evm_state::state::tables;
use esker_storage::{Entry, KvRead, KvStore, StorageError, StorageResult, Visitor};

use super::{CODE, Lab, SCOPE, odd, push, until};

fn to_code() -> CallRequest {
    CallRequest { to: Some(CODE), ..Default::default() }
}

#[test]
fn a_loop_without_a_gas_limit_stops_when_cancelled() {
    // JUMPDEST, PUSH 0, JUMP
    let lab = Lab::new(Phase::Etna, &[0x5b, 0x60, 0, 0x56]);
    let (state, block) = (StateOverrides::default(), BlockOverrides::default());
    for (stop, text) in [
        (Stop::TimedOut, "execution aborted (timeout = 5s)"),
        (Stop::Cancelled, "execution aborted"),
    ] {
        let asked = Cell::new(0);
        let check = || {
            asked.set(asked.get() + 1);
            (asked.get() > 3).then_some(stop)
        };
        let bounds = Bounds { stop: Some(&check), ..Bounds::default() };
        let limits = CallLimits { bounds, timeout: Duration::from_secs(5), ..Default::default() };
        lab.with_env(|env| {
            let error = call(env, &to_code(), &state, &block, &limits).unwrap_err();
            assert_eq!(error.to_string(), text);
            let error = estimate_gas(env, &to_code(), &state, &limits).unwrap_err();
            assert_eq!(error.to_string(), text);
            let error = create_access_list(env, &to_code(), &limits).unwrap_err();
            assert_eq!(error.to_string(), text);
        });
        assert!(asked.get() > 3);
    }
}

#[test]
fn a_call_tree_without_jumps_stops_when_cancelled() {
    // Calls itself twice with all its gas.
    let call = [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x30, 0x5a, 0xf1, 0x50];
    let lab = Lab::new(Phase::Etna, &[call, call].concat());
    let check = || Some(Stop::Cancelled);
    let bounds = Bounds { stop: Some(&check), ..Bounds::default() };
    let limits = CallLimits { bounds, ..Default::default() };
    let (state, block) = (StateOverrides::default(), BlockOverrides::default());
    lab.with_env(|env| {
        let error = super::call(env, &to_code(), &state, &block, &limits).unwrap_err();
        assert!(matches!(error, CallError::Cancelled), "{error}");
    });
}

#[test]
fn memory_is_bounded_where_gas_is_not() {
    // MSTORE far beyond the memory.
    let far = |at: u64| [vec![0x60, 1], push(U256::from(at)), vec![0x52]].concat();
    // A call to code that does the same. Its failure would not be visible.
    let inner = address!("0xc0de000000000000000000000000000000000002");
    let outer = [&[0x5f; 5], &push(inner.into_word().into())[..], &[0x5a, 0xf1, 0x50]].concat();
    let account = |code: Vec<u8>| GenesisAccount { code: code.into(), ..Default::default() };
    for code in [far(1 << 21), outer] {
        let accounts = [(CODE, account(code)), (inner, account(far(1 << 21)))];
        let lab = Lab::with(until(Phase::Etna), accounts);
        let (state, block) = (StateOverrides::default(), BlockOverrides::default());
        let run = |gas_cap, memory| {
            let bounds = Bounds { memory, ..Bounds::default() };
            let limits = CallLimits { gas_cap, bounds, ..Default::default() };
            lab.with_env(|env| {
                let list = create_access_list(env, &to_code(), &limits).map(|list| list.error);
                let called = call(env, &to_code(), &state, &block, &limits);
                let estimated = estimate_gas(env, &to_code(), &state, &limits);
                let called = called.map(|outcome| outcome.error);
                [
                    called.map_err(|error| error.to_string()),
                    list.map_err(|error| error.to_string()),
                    estimated.map(|_| None).map_err(|error| error.to_string()),
                ]
            })
        };
        let limit = "memory limit of 1048576 bytes exceeded";
        assert_eq!(run(0, Some(1 << 20)), [limit; 3].map(|text| Err(text.into())));
        // A gas limit ends the call first.
        let with_gas = run(1_000_000, Some(1 << 20));
        assert_eq!(with_gas, run(1_000_000, None));
        assert!(!with_gas.contains(&Err(limit.into())));
    }
}

#[test]
fn an_access_list_that_never_settles_is_given_up() {
    // SLOAD(GAS): each run has different remaining gas, and so touches another slot.
    let lab = Lab::new(Phase::Etna, &[0x5a, 0x54]);
    let limits = CallLimits { gas_cap: 50_000_000, ..Default::default() };
    lab.with_env(|env| {
        let error = create_access_list(env, &to_code(), &limits).unwrap_err();
        assert!(matches!(error, CallError::Unsettled), "{error}");
    });
}

/// A reader whose rows of one kind can't be read.
struct FailingReader {
    below: Box<dyn KvRead>,
    prefix: [u8; 3],
}

impl KvRead for FailingReader {
    fn get_with(&self, key: &[u8], f: &mut dyn FnMut(&[u8])) -> StorageResult<bool> {
        if key.starts_with(&self.prefix) {
            return Err(StorageError::Corrupted("a test".into()));
        }
        self.below.get_with(key, f)
    }

    fn seek_back(&self, key: &[u8]) -> StorageResult<Option<Entry>> {
        self.below.seek_back(key)
    }

    fn scan(
        &self,
        prefix: &[u8],
        from: Option<&[u8]>,
        visit: &mut Visitor<'_>,
    ) -> StorageResult<()> {
        self.below.scan(prefix, from, visit)
    }
}

#[test]
fn a_store_that_fails_ends_the_execution_and_nothing_else() {
    let sload = |key: U256| [push(key), vec![0x54]].concat();
    let sstore = |key: U256| [vec![0x60, 1], push(key), vec![0x55]].concat();
    let balance = [push(U256::from(0x1234)), vec![0x31]].concat();
    let call = [0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x61, 0x12, 0x34, 0x5a, 0xf1].to_vec();
    let slots = tables::SLOTS.prefix(SCOPE);
    let code = tables::CODE.prefix(SCOPE);
    for (body, prefix) in [
        (sload(U256::from(3)), slots),
        (sload(odd(3)), slots),
        (sstore(U256::from(3)), slots),
        (sstore(odd(3)), slots),
        (vec![0x00], code),
        (balance, tables::ACCOUNTS.prefix(SCOPE)),
        (call, tables::ACCOUNTS.prefix(SCOPE)),
    ] {
        let account = GenesisAccount {
            code: body.clone().into(),
            storage: [(U256::from(9).into(), U256::from(9).into())].into(),
            ..Default::default()
        };
        let lab = Lab::with(until(Phase::Etna), [(CODE, account)]);
        let reader = FailingReader { below: lab.store.snapshot().unwrap(), prefix };
        let env = lab.env(&reader);
        let (state, block) = (StateOverrides::default(), BlockOverrides::default());
        let request = CallRequest { gas: Some(1_000_000), ..to_code() };
        let limits = CallLimits::default();
        let error = super::call(&env, &request, &state, &block, &limits).unwrap_err();
        assert!(matches!(error, CallError::State(_)), "{body:x?}: {error}");
        let error = estimate_gas(&env, &request, &state, &limits).unwrap_err();
        assert!(matches!(error, CallError::State(_)), "{body:x?}: {error}");
    }
}
