//! A try returns the result of a call with all its gas, or nothing.

use alloy_primitives::{Address, U256, address};
use esker_evm_execution::call::{
    BlockOverrides, CallError, CallLimits, CallOutcome, CallRequest, StateOverrides, call,
};
use esker_evm_execution::executor::Bounds;
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::Phase;
use proptest::prelude::*;

use super::{CODE, Lab, returning, until};

const OTHER: Address = address!("0xc0de000000000000000000000000000000000002");
const TRY_GAS: u64 = 60_000;

/// Two contracts, of which each can call the other.
fn lab(code: &[u8], other: &[u8]) -> Lab {
    let account = |code: &[u8]| GenesisAccount {
        code: code.to_vec().into(),
        storage: [(U256::from(3).into(), U256::from(7).into())].into(),
        ..Default::default()
    };
    Lab::with(until(Phase::Etna), [(CODE, account(code)), (OTHER, account(other))])
}

/// A call of [`CODE`] with all its gas or as a try; `None` if the try was inconclusive.
fn run(lab: &Lab, gas: Option<u64>, try_gas: Option<u64>) -> Option<CallOutcome> {
    let request = CallRequest { to: Some(CODE), gas, ..Default::default() };
    let bounds = Bounds { try_gas, ..Bounds::default() };
    let limits = CallLimits { gas_cap: 5_000_000, bounds, ..Default::default() };
    let (state, block) = (StateOverrides::default(), BlockOverrides::default());
    match lab.with_env(|env| call(env, &request, &state, &block, &limits)) {
        Err(CallError::TryEnded) => None,
        outcome => Some(outcome.unwrap()),
    }
}

/// PUSH 0 five times or four, PUSH20 OTHER, gas, and the call.
fn calls(opcode: u8, gas: &[u8]) -> Vec<u8> {
    let values = if opcode == 0xf1 { 5 } else { 4 };
    let zeros = [0x60, 0].repeat(values);
    [&zeros[..], &[0x73], OTHER.as_slice(), gas, &[opcode]].concat()
}

#[test]
fn a_try_gives_the_result_of_the_call_or_none() {
    let sload = [0x60, 3, 0x54];
    let invalid = [0xfe];
    let all = [0x5a];
    let some = [0x61, 0x27, 0x10];
    for (what, code, other, is_conclusive) in [
        ("a word of storage", returning(&sload), vec![], true),
        ("the gas left, outermost", returning(&[0x5a]), vec![], true),
        ("a revert", vec![0x60, 0, 0x60, 0, 0xfd], vec![], true),
        ("a call with all gas", returning(&calls(0xf1, &all)), returning(&sload), true),
        ("a static call with some gas", returning(&calls(0xfa, &some)), returning(&sload), true),
        ("a call that reverts", returning(&calls(0xf1, &all)), vec![0x60, 0, 0x60, 0, 0xfd], true),
        ("the gas left, in a call", returning(&calls(0xf1, &all)), returning(&[0x5a]), false),
        ("an endless loop", vec![0x5b, 0x60, 0, 0x56], vec![], false),
        ("an invalid instruction", invalid.to_vec(), vec![], false),
        ("one in a call", returning(&calls(0xf1, &all)), invalid.to_vec(), false),
        ("one in a call with some gas", returning(&calls(0xf1, &some)), invalid.to_vec(), false),
    ] {
        let lab = lab(&code, &other);
        let tried = run(&lab, None, Some(TRY_GAS));
        assert_eq!(tried.is_some(), is_conclusive, "{what}");
        if let Some(tried) = tried {
            assert_eq!(Some(tried), run(&lab, None, None), "{what}");
        }
    }
}

#[test]
fn a_message_with_little_gas_always_gets_a_result() {
    for code in [vec![0x5b, 0x60, 0, 0x56], vec![0xfe], returning(&calls(0xf1, &[0x5a]))] {
        let lab = lab(&code, &returning(&[0x5a]));
        let tried = run(&lab, Some(50_000), Some(TRY_GAS));
        assert!(tried.is_some());
        assert_eq!(tried, run(&lab, Some(50_000), None));
    }
}

/// Instructions and short runs of them that matter to gas.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => any::<u8>().prop_map(|n| vec![0x60, n]),
        2 => Just(vec![0x60, 3, 0x54]),
        1 => Just(vec![0x5a]),
        1 => Just(vec![0x50]),
        1 => Just(vec![0x5a, 0x60, 0, 0x52]),
        1 => Just(vec![0x61, 0x40, 0, 0x60, 0, 0x20]),
        1 => Just(vec![0x60, 1, 0x60, 9, 0x55]),
        2 => Just(calls(0xf1, &[0x5a])),
        1 => Just(calls(0xf4, &[0x61, 0x10, 0])),
        1 => Just(calls(0xfa, &[0x5a])),
        1 => Just(vec![0x60, 0, 0x60, 0, 0x60, 0, 0xf0]),
        1 => Just(vec![0x60, 0, 0x60, 0, 0xfd]),
        1 => Just(vec![0xfe]),
        // Precompiled contracts, one of which requires a certain length.
        1 => (1u8..11).prop_map(|at| {
            vec![0x60, 32, 0x60, 0, 0x60, 64, 0x60, 0, 0x60, at, 0x5a, 0xfa]
        }),
        // A loop that is endless or ends by the stack.
        1 => Just(vec![0x5b, 0x58, 0x60, 2, 0x90, 0x03, 0x56]),
    ]
}

fn code() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(fragment(), 0..12).prop_map(|parts| returning(&parts.concat()))
}

proptest! {
    #[test]
    fn a_conclusive_try_equals_the_call(code in code(), other in code(), gas in 0u64..120_000) {
        let lab = lab(&code, &other);
        if let Some(tried) = run(&lab, None, Some(gas)) {
            prop_assert_eq!(Some(tried), run(&lab, None, None));
        }
    }
}
