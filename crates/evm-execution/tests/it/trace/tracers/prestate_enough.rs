//! `prestateTracer` over random transactions: a state of only the shown accounts gives the same result of the
//! transaction, and the shown changes are the real ones.

use std::collections::{BTreeMap, BTreeSet};

use alloy_consensus::{SignableTransaction, TxLegacy};
use alloy_primitives::{Address, B256, Signature, TxKind, U256};
use esker_evm_execution::executor::{Bounds, ExecutionEnd, Message, Runner, StateOverlay};
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::{BLACKHOLE, Phase};
use esker_evm_execution::trace::TxPlace;
use esker_evm_state::types::Transaction;
use proptest::prelude::*;
use serde_json::Value;

use super::{LIMIT, contract, run_on};
use crate::machine::{ALICE, Lab, PRICE, deploying, until};

const CONTRACTS: u8 = 4;
const SLOTS: u8 = 4;

fn account(n: u8) -> Address {
    Address::repeat_byte(0xc0 + n)
}

/// Contracts, and one address without an account.
fn push_account(n: u8) -> Vec<u8> {
    [&[0x73], account(n).as_slice()].concat()
}

/// Pieces of code that leave nothing on the stack. Some need more gas or coins than available.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let (who, slot, small) = (0..=CONTRACTS, 0..SLOTS, 0..3_u8);
    // A store, and a contract that reads or destroys itself.
    let init = prop_oneof![
        Just(deploying(&[0x5f, 0x54, 0x50]).to_vec()),
        Just(vec![0x60, 1, 0x5f, 0x55]),
        Just([&push_account(1)[..], &[0xff]].concat()),
        Just(vec![0x5f, 0x5f, 0xfd]),
    ];
    let in_memory = |code: &[u8]| {
        let stores = code.iter().enumerate();
        stores.flat_map(|(at, byte)| [0x60, *byte, 0x60, at as u8, 0x53]).collect::<Vec<_>>()
    };
    prop_oneof![
        3 => (slot.clone(), small.clone()).prop_map(|(slot, n)| vec![0x60, n, 0x60, slot, 0x55]),
        3 => slot.prop_map(|slot| vec![0x60, slot, 0x54, 0x50]),
        // BALANCE, EXTCODESIZE, EXTCODEHASH, as a slot's value.
        3 => (who.clone(), prop::sample::select(vec![0x31, 0x3b, 0x3f]))
            .prop_map(|(who, op)| [&push_account(who)[..], &[op, 0x5f, 0x55]].concat()),
        // CALL and CALLCODE, with a value.
        5 => (who.clone(), small.clone(), prop::sample::select(vec![0xf1, 0xf2]))
            .prop_map(|(who, value, op)| {
                let head = [0x5f, 0x5f, 0x5f, 0x5f, 0x60, value];
                [&head[..], &push_account(who), &[0x61, 0x80, 0x00, op, 0x50]].concat()
            }),
        // DELEGATECALL and STATICCALL.
        3 => (who.clone(), prop::sample::select(vec![0xf4, 0xfa])).prop_map(|(who, op)| {
            let head = [0x5f, 0x5f, 0x5f, 0x5f];
            [&head[..], &push_account(who), &[0x61, 0x80, 0x00, op, 0x50]].concat()
        }),
        // CREATE and CREATE2, called afterwards.
        2 => (init, small, any::<bool>()).prop_map(move |(init, value, with_salt)| {
            let length = init.len() as u8;
            let create = match with_salt {
                true => vec![0x60, 7, 0x60, length, 0x5f, 0x60, value, 0xf5],
                false => vec![0x60, length, 0x5f, 0x60, value, 0xf0],
            };
            let call = [0x5f, 0x5f, 0x5f, 0x5f, 0x5f, 0x85, 0x61, 0x80, 0x00, 0xf1, 0x50, 0x50];
            [in_memory(&init), create, call.to_vec()].concat()
        }),
        1 => who.prop_map(|who| [&push_account(who)[..], &[0xff]].concat()),
        1 => Just(vec![0x5f, 0x5f, 0xfd]),
        1 => Just(vec![0xfe]),
    ]
}

fn code() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..6).prop_map(|pieces| pieces.concat())
}

#[derive(Clone, Debug)]
struct Case {
    phase: Phase,
    codes: Vec<(Vec<u8>, u64)>,
    to: Option<u8>,
    input: Vec<u8>,
    value: u64,
    gas_limit: u64,
}

prop_compose! {
    fn case()(
        phase in prop::sample::select(vec![Phase::Durango, Phase::Etna]),
        codes in prop::collection::vec((code(), 0_u64..4), usize::from(CONTRACTS)),
        to in prop::option::weighted(0.8, 0..CONTRACTS),
        input in code(),
        value in 0_u64..5,
        gas_limit in prop_oneof![100_000_u64..300_000, 300_000_u64..3_000_000],
    ) -> Case {
        Case { phase, codes, to, input, value, gas_limit }
    }
}

impl Case {
    fn lab(&self) -> Lab {
        let accounts = self.codes.iter().zip(0..).map(|((code, balance), n)| {
            let balance = U256::from(*balance);
            let storage = [(B256::with_last_byte(1), B256::with_last_byte(2))].into();
            (account(n), GenesisAccount { balance, nonce: 1, storage, ..contract(code.clone()) })
        });
        Lab::with(until(self.phase), accounts.collect::<Vec<_>>())
    }

    fn tx(&self) -> Transaction {
        let tx = TxLegacy {
            chain_id: Some(43112),
            nonce: 0,
            gas_price: PRICE.into(),
            gas_limit: self.gas_limit,
            to: self.to.map_or(TxKind::Create, |n| TxKind::Call(account(n))),
            value: U256::from(self.value),
            input: self.input.clone().into(),
        };
        tx.into_signed(Signature::test_signature()).into()
    }
}

type Accounts = BTreeMap<Address, GenesisAccount>;

/// The accounts in a tracer's state. A missing balance is 0.
fn parse(state: &Value) -> Accounts {
    let accounts = state.as_object().unwrap().iter();
    let one = |account: &Value| GenesisAccount {
        balance: account
            .get("balance")
            .map_or(U256::ZERO, |n| n.as_str().unwrap().parse().unwrap()),
        nonce: account.get("nonce").map_or(0, |n| n.as_u64().unwrap()),
        code: account
            .get("code")
            .map_or(Vec::new(), |text| hex::decode(&text.as_str().unwrap()[2..]).unwrap())
            .into(),
        storage: serde_json::from_value(
            account.get("storage").cloned().unwrap_or(Value::Object(Default::default())),
        )
        .unwrap(),
        ..Default::default()
    };
    accounts.map(|(address, account)| (address.parse().unwrap(), one(account))).collect()
}

fn traced(lab: &Lab, message: &Message, config: &str) -> (Value, ExecutionEnd) {
    let named = ("prestateTracer", config);
    let place = TxPlace::default();
    let (text, end) = run_on(lab, &lab.block(), message, place, named, LIMIT).unwrap();
    (serde_json::from_str(&text).unwrap(), end)
}

fn run(lab: &Lab, message: &Message) -> ExecutionEnd {
    lab.with_env(|env| {
        let state = StateOverlay::new(env.view, env.hashes, env.chain.machine.codes.clone());
        Runner::new(&env.chain.machine, state, &env.block, Bounds::default())
            .run(&env.block, message)
            .unwrap()
    })
}

/// An account with the slots of these tests.
fn account_of(lab: &Lab, address: Address) -> GenesisAccount {
    lab.view(|view| {
        let found = view.account(&address).unwrap();
        let storage = (0..SLOTS).map(|slot| {
            let value = view.storage(&address, U256::from(slot)).unwrap();
            (B256::with_last_byte(slot), B256::from(value))
        });
        let mut account = GenesisAccount { storage: storage.collect(), ..Default::default() };
        if let Some(found) = found {
            account.balance = found.balance;
            account.nonce = found.nonce;
            account.code = view.code(found.code_hash).unwrap();
        }
        account
    })
}

/// Checks that a state of the shown accounts gives the same result.
fn check_pre(case: &Case) {
    let (lab, message) = (case.lab(), Message::from_tx(&case.tx(), ALICE));
    let (shown, end) = traced(&lab, &message, "null");
    assert_eq!(end, run(&lab, &message), "a tracer changes nothing");
    let mut accounts = parse(&shown);
    if message.to.is_none() {
        // The reference shows the contract as it was after its creation.
        let created = accounts.get_mut(&ALICE.create(0)).unwrap();
        assert_eq!(created.nonce, 1);
        created.nonce = 0;
    }
    accounts.retain(|_, account| {
        account.storage.retain(|_, value| !value.is_zero());
        *account != GenesisAccount::default()
    });
    let small = Lab::with(until(case.phase), accounts);
    assert_eq!(end, run(&small, &message));
}

/// Checks that the state before with the shown changes is the state after.
fn check_diff(case: &Case) {
    let (mut lab, tx) = (case.lab(), case.tx());
    let (shown, end) = traced(&lab, &Message::from_tx(&tx, ALICE), r#"{"diffMode":true}"#);
    let (pre, post) = (parse(&shown["pre"]), parse(&shown["post"]));
    let all = (0..=CONTRACTS).map(account).chain([ALICE, BLACKHOLE, ALICE.create(0)]);
    let all: BTreeSet<_> = all.chain(pre.keys().copied()).chain(post.keys().copied()).collect();
    // Self-destructed contracts are only in the state before.
    let all =
        all.into_iter().filter(|address| post.contains_key(address) || !pre.contains_key(address));
    let mut want: Accounts = all.map(|address| (address, account_of(&lab, address))).collect();
    // The contract of the transaction is shown as it was after its creation, so its nonce has not changed.
    if case.to.is_none()
        && end.error.is_none()
        && let Some(created) = want.get_mut(&ALICE.create(0))
    {
        created.nonce = 1;
    }
    for (address, change) in &post {
        let shown = &shown["post"][address.to_string().to_lowercase()];
        let account = want.get_mut(address).unwrap();
        if shown.get("balance").is_some() {
            assert_ne!(account.balance, change.balance);
            account.balance = change.balance;
        }
        if change.nonce > 0 {
            account.nonce = change.nonce;
        }
        if shown.get("code").is_some() {
            account.code = change.code.clone();
        }
        for slot in pre.get(address).map(|before| &before.storage).into_iter().flatten() {
            assert_eq!(account.storage[slot.0], *slot.1);
            account.storage.insert(*slot.0, B256::ZERO);
        }
        account.storage.extend(change.storage.iter().map(|(slot, value)| (*slot, *value)));
    }
    lab.in_block(|block| block.execute(&tx, Some(ALICE)).map(drop)).unwrap();
    for (address, want) in want {
        assert_eq!(account_of(&lab, address), want, "{address}: {shown}");
    }
}

proptest! {
    #[test]
    fn the_state_before_is_enough(case in case()) {
        check_pre(&case);
    }

    #[test]
    fn the_state_after_is_what_has_changed(case in case()) {
        check_diff(&case);
    }
}
