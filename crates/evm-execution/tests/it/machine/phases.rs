//! Instructions and precompiled contracts by phase.

use alloy_primitives::{Address, Bytes, U256, address, keccak256};
use esker_evm_execution::call::{BlockOverrides, CallEnv, CallLimits, CallRequest, call};
use esker_evm_execution::executor::{BlockContext, VmError, WARP};
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::{BLACKHOLE, BlockPoint, Phase};

use super::{ALICE, CODE, Lab, TIME, deploying, legacy, push, returning, until};

#[test]
fn difficulty_is_one_in_every_phase_and_there_is_no_randomness() {
    for phase in Phase::ALL {
        let lab = Lab::new(phase, &returning(&[0x44]));
        assert_eq!(lab.word(), U256::from(1), "{phase:?}");
    }
    // Genesis has its own value.
    let lab = Lab::new(Phase::Etna, &[]);
    let block = BlockContext::for_call(&lab.params, &lab.parent);
    assert_eq!((block.difficulty, block.coinbase), (U256::ZERO, Address::ZERO));
    let overrides = BlockOverrides { difficulty: Some(U256::from(7)), ..Default::default() };
    let lab = Lab::new(Phase::Etna, &returning(&[0x44]));
    let request = CallRequest { to: Some(CODE), gas: Some(100_000), ..Default::default() };
    let outcome = lab.call_with(&request, &overrides, &CallLimits::default());
    assert_eq!(U256::from_be_slice(&outcome.output), U256::from(7));
}

#[test]
fn instructions_come_with_their_phase() {
    let cases: [(&[u8], Phase, u8); 6] = [
        (&[0x5f], Phase::Durango, 0x5f),       // PUSH0
        (&[0x60, 1, 0x5c], Phase::Etna, 0x5c), // TLOAD
        (&[0x60, 0, 0x60, 0, 0x60, 0, 0x5e, 0x60, 0], Phase::Etna, 0x5e), // MCOPY
        (&[0x4a], Phase::Etna, 0x4a),          // BLOBBASEFEE
        (&[0x60, 0, 0x49], Phase::Etna, 0x49), // BLOBHASH
        (&[0x48], Phase::Apricot5, 0x48),      // BASEFEE
    ];
    for (code, from, opcode) in cases {
        for phase in Phase::ALL {
            let error = Lab::new(phase, &returning(code)).call(&[]).error;
            let want = (phase < from).then_some(VmError::InvalidOpcode(opcode));
            assert_eq!(error, want, "{opcode:#x} in {phase:?}");
        }
    }
    assert_eq!(Lab::new(Phase::Etna, &returning(&[0x4a])).word(), U256::from(1));
    // Instructions of later forks of Ethereum, and two of this chain's early phases.
    for opcode in [0x1e, 0x4b, 0xcd, 0xcf, 0xd0, 0xe6, 0xf7] {
        let error = Lab::new(Phase::Fortuna, &[opcode]).call(&[]).error.unwrap();
        assert_eq!(error.to_string(), format!("invalid opcode: opcode {opcode:#x} not defined"));
    }
}

#[test]
fn an_overridden_time_decides_which_instructions_there_are() {
    let mut schedule = until(Phase::Etna);
    schedule.phases[Phase::Durango as usize] = TIME - 100;
    schedule.phases[Phase::Etna as usize] = TIME - 50;
    let code = GenesisAccount { code: returning(&[0x5f]).into(), ..Default::default() };
    let lab = Lab::with(schedule, [(CODE, code)]);
    let request = CallRequest { to: Some(CODE), gas: Some(100_000), ..Default::default() };
    let at = |time| {
        let overrides = BlockOverrides { time: Some(time), ..Default::default() };
        lab.call_with(&request, &overrides, &CallLimits::default()).message()
    };
    assert_eq!(at(TIME), "");
    assert_eq!(at(TIME - 101), "invalid opcode: PUSH0");
}

/// Gas of BALANCE(coinbase).
#[test]
fn the_coinbase_is_warm_from_durango_on() {
    let code = [&[0x41, 0x31][..]].concat();
    let gas = |phase| Lab::new(phase, &code).call(&[]).gas_used - 21_002;
    assert_eq!(gas(Phase::Durango), 100);
    // The usual coinbase is warm because it is a precompiled contract, so the test uses another address.
    assert_eq!(gas(Phase::Cortina), 100);
    let coinbase = Some(Address::repeat_byte(0x77));
    let overrides = BlockOverrides { coinbase, ..Default::default() };
    let request = CallRequest { to: Some(CODE), gas: Some(100_000), ..Default::default() };
    let gas = |phase| {
        let lab = Lab::new(phase, &code);
        lab.call_with(&request, &overrides, &CallLimits::default()).gas_used - 21_002
    };
    assert_eq!((gas(Phase::Cortina), gas(Phase::Durango)), (2600, 100));
}

/// BALANCE of an address costs 100 where it counts as accessed.
fn balance_gas(phase: Phase, address: Address) -> u64 {
    let code = [push(address.into_word().into()), vec![0x31]].concat();
    Lab::new(phase, &code).call(&[]).gas_used - 21_003
}

#[test]
fn precompiled_contracts_of_a_phase_are_warm_but_for_warp() {
    let kzg = Address::with_last_byte(0x0a);
    let balance = address!("0x0100000000000000000000000000000000000001");
    for phase in Phase::ALL {
        assert_eq!(balance_gas(phase, Address::with_last_byte(9)), 100, "{phase:?}");
        let want = if phase >= Phase::Etna { 100 } else { 2600 };
        assert_eq!(balance_gas(phase, kzg), want, "{phase:?}");
        assert_eq!(balance_gas(phase, balance), 100, "{phase:?}");
        assert_eq!(balance_gas(phase, WARP), 2600, "{phase:?}");
    }
}

#[test]
fn point_evaluation_is_there_from_etna_on() {
    let request = CallRequest {
        to: Some(Address::with_last_byte(0x0a)),
        gas: Some(200_000),
        input: Bytes::from_static(&[1; 3]),
        ..Default::default()
    };
    let run = |phase| {
        let lab = Lab::new(phase, &[]);
        lab.call_with(&request, &BlockOverrides::default(), &CallLimits::default()).message()
    };
    assert_eq!(run(Phase::Durango), "");
    assert_eq!(run(Phase::Etna), "invalid input length");
}

#[test]
fn selfdestruct_deletes_until_etna_and_then_only_what_was_made_in_the_same_transaction() {
    let heir = Address::repeat_byte(0x99);
    let code = [push(heir.into_word().into()), vec![0xff]].concat();
    for (phase, deleted) in [(Phase::Durango, true), (Phase::Etna, false)] {
        let account = GenesisAccount {
            code: code.clone().into(),
            balance: U256::from(5),
            storage: [(U256::from(1).into(), U256::from(2).into())].into(),
            ..Default::default()
        };
        let mut lab = Lab::with(until(phase), [(CODE, account)]);
        assert!(lab.transact(Some(CODE), &[]).success);
        assert_eq!(lab.balance(heir), U256::from(5), "{phase:?}");
        let gone = lab.view(|view| view.account(&CODE).unwrap().is_none());
        assert_eq!(gone, deleted, "{phase:?}");
        assert_eq!(lab.slot(CODE, U256::from(1)).is_zero(), deleted, "{phase:?}");
        // A contract that is created and destroyed in one transaction is deleted in every phase.
        let receipt = lab.transact(None, &code);
        let made = receipt.contract_address.unwrap();
        assert!(lab.view(|view| view.account(&made).unwrap().is_none()), "{phase:?}");
    }
}

/// A contract that is destroyed and created again in one block starts with empty storage.
#[test]
fn storage_does_not_survive_destruction_within_a_block() {
    // Stores if there is call data, else self-destructs.
    let code = [0x36, 0x15, 0x60, 0x0b, 0x57, 0x60, 7, 0x60, 1, 0x55, 0x00, 0x5b, 0x33, 0xff];
    let init = deploying(&code);
    // CREATE2 of the call data, salt 0.
    let factory = [
        0x36, 0x60, 0, 0x60, 0, 0x37, 0x60, 0, 0x36, 0x60, 0, 0x60, 0, 0xf5, 0x60, 0, 0x52, 0x60,
        32, 0x60, 0, 0xf3,
    ];
    let made = CODE.create2(keccak_zero(), keccak256(&init));
    let mut lab = Lab::new(Phase::Durango, &factory);
    lab.in_block(|block| {
        let mut run = |to, input: &[u8]| {
            let nonce = block.state().nonce(ALICE).unwrap();
            let receipt = block.execute(&legacy(nonce, Some(to), input, 0), Some(ALICE)).unwrap();
            assert!(receipt.success);
            block.state().slot(made, U256::from(1)).unwrap()
        };
        assert_eq!(run(CODE, &init), U256::ZERO);
        assert_eq!(run(made, &[1]), U256::from(7));
        assert_eq!(run(made, &[]), U256::ZERO);
        assert_eq!(run(CODE, &init), U256::ZERO);
    });
    assert_eq!(lab.slot(made, U256::from(1)), U256::ZERO);
    assert_eq!(lab.nonce(made), 1);
}

fn keccak_zero() -> alloy_primitives::B256 {
    alloy_primitives::B256::ZERO
}

#[test]
fn the_beacon_contract_is_called_from_etna_on_where_it_is_deployed() {
    let contract = address!("0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02");
    // Stores the caller, the size of the data and the gas.
    let code = [0x33, 0x60, 0, 0x55, 0x36, 0x60, 1, 0x55, 0x5a, 0x60, 2, 0x55];
    for phase in [Phase::Durango, Phase::Etna] {
        let account = GenesisAccount { code: code.to_vec().into(), ..Default::default() };
        let mut lab = Lab::with(until(phase), [(contract, account)]);
        lab.in_block(|_| ());
        let [caller, size, gas] = [0, 1, 2].map(|slot| lab.slot(contract, U256::from(slot)));
        if phase == Phase::Durango {
            assert_eq!((caller, size, gas), Default::default());
            continue;
        }
        let system = address!("0xfffffffffffffffffffffffffffffffffffffffe");
        assert_eq!(caller, U256::from_be_bytes(system.into_word().0));
        assert_eq!(size, U256::from(32));
        // Gas of two cold stores to empty slots, and of the instructions before.
        assert_eq!(gas, U256::from(30_000_000 - 2 * 22_100 - 12));
        assert_eq!(lab.nonce(system), 0);
    }
    let mut without = Lab::new(Phase::Etna, &[]);
    let root = without.parent.state_root;
    without.in_block(|_| ());
    assert_eq!(without.parent.state_root, root);
}

#[test]
fn the_warp_account_appears_with_the_first_block_of_durango() {
    let mut schedule = until(Phase::Etna);
    schedule.phases[Phase::Durango as usize] = TIME;
    schedule.phases[Phase::Etna as usize] = TIME + 1000;
    let mut lab = Lab::with(schedule, []);
    let warp = |lab: &Lab| lab.view(|view| view.account(&WARP).unwrap());
    assert_eq!(warp(&lab), None);
    lab.time = TIME - 1;
    lab.in_block(|_| ());
    assert_eq!(warp(&lab), None);
    lab.time = TIME + 5;
    lab.in_block(|_| ());
    let account = warp(&lab).unwrap();
    assert_eq!((account.nonce, account.balance), (1, U256::ZERO));
    assert_eq!(lab.view(|view| view.code(account.code_hash).unwrap()), Bytes::from_static(&[1]));
    // If Durango is active at genesis, the account exists from the beginning.
    assert!(warp(&Lab::new(Phase::Durango, &[])).is_some());
    assert_eq!(warp(&Lab::new(Phase::Cortina, &[])), None);
}

#[test]
fn the_black_hole_refuses_calls() {
    let request = CallRequest { to: Some(BLACKHOLE), gas: Some(100_000), ..Default::default() };
    for phase in Phase::ALL {
        let lab = Lab::new(phase, &[]);
        let outcome = lab.call_with(&request, &BlockOverrides::default(), &CallLimits::default());
        assert_eq!(outcome.error, Some(VmError::Reverted), "{phase:?}");
        // All remaining gas is returned.
        assert_eq!(outcome.gas_used, 21_000, "{phase:?}");
    }
}

#[test]
fn a_call_for_the_next_block_sees_the_phase_that_begins_with_it() {
    let mut schedule = until(Phase::Etna);
    schedule.phases[Phase::Durango as usize] = TIME;
    schedule.phases[Phase::Etna as usize] = TIME + 1000;
    // PUSH0, then the size of the code that stands for warp.
    let code = [&[0x5f, 0x73][..], WARP.as_slice(), &[0x3b]].concat();
    let account = GenesisAccount { code: returning(&code).into(), ..Default::default() };
    let mut lab = Lab::with(schedule, [(CODE, account)]);
    lab.time = TIME - 10;
    lab.in_block(|_| ());
    lab.parent.time = lab.time;
    let at = |lab: &Lab, now_s| {
        let request = CallRequest { to: Some(CODE), gas: Some(100_000), ..Default::default() };
        lab.with_env(|env| {
            let block = BlockContext::next(&lab.params, &lab.parent, now_s);
            let env = CallEnv { state_point: BlockPoint::of(&lab.parent), block, ..env.clone() };
            let (state, block) = Default::default();
            call(&env, &request, &state, &block, &CallLimits::default()).unwrap()
        })
    };
    let before = at(&lab, TIME - 1);
    assert_eq!(before.error, Some(VmError::InvalidOpcode(0x5f)));
    // A clock behind the parent has no effect.
    assert_eq!(at(&lab, 0), before);
    let begun = at(&lab, TIME);
    assert_eq!((begun.error, U256::from_be_slice(&begun.output)), (None, U256::ONE));
    // The state itself is unchanged.
    assert_eq!(lab.view(|view| view.account(&WARP).unwrap()), None);
}
