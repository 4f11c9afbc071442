//! Other assets: the two precompiled contracts of the early phases.

use alloy_primitives::{Address, B256, U256, address};
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::Phase;

use super::{ALICE, CODE, Lab, until};

const BALANCE: Address = address!("0x0100000000000000000000000000000000000001");
const CALL: Address = address!("0x0100000000000000000000000000000000000002");
const ASSET: B256 = B256::repeat_byte(0x44);
const BOB: Address = Address::repeat_byte(0xb0);

fn lab(phase: Phase, code: &[u8]) -> Lab {
    let balance = U256::from(10).pow(U256::from(21));
    let assets = [(ASSET, U256::from(100))].into();
    let alice = GenesisAccount { balance, assets, ..Default::default() };
    let code = GenesisAccount { code: code.to_vec().into(), ..Default::default() };
    Lab::with(until(phase), [(ALICE, alice), (CODE, code)])
}

fn send(to: Address, amount: u64, data: &[u8]) -> Vec<u8> {
    let amount = U256::from(amount).to_be_bytes::<32>();
    [to.as_slice(), ASSET.as_slice(), &amount, data].concat()
}

/// The slot of a balance: the asset's ID with the lowest bit of its first byte set.
fn held(lab: &Lab, address: Address) -> U256 {
    let mut slot = ASSET;
    slot[0] |= 1;
    lab.slot(address, slot.into())
}

#[test]
fn balances_are_readable_while_the_contract_is_on() {
    let input = [ALICE.as_slice(), ASSET.as_slice()].concat();
    for phase in [Phase::Apricot5, Phase::Apricot6, Phase::ApricotPost6] {
        // Forwards its data to the precompile and returns the result.
        let forward = [
            0x36, 0x60, 0, 0x60, 0, 0x37, 0x60, 32, 0x60, 0, 0x36, 0x60, 0, 0x60, 0, 0x73, 1, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x5a, 0xf1, 0x60, 32, 0x52, 0x60,
            64, 0x60, 0, 0xf3,
        ];
        let lab = lab(phase, &forward);
        let outcome = lab.call(&input);
        assert_eq!(U256::from_be_slice(&outcome.output[..32]), U256::from(100), "{phase:?}");
        assert_eq!(outcome.output[63], 1);
        // Bad input leads to a revert, which returns the remaining gas.
        let outcome = lab.call(&input[1..]);
        assert_eq!(outcome.output[63], 0);
        assert!(outcome.gas_used < 30_000, "{}", outcome.gas_used);
    }
    for phase in [Phase::Banff, Phase::Etna] {
        assert!(!lab(phase, &[]).transact(Some(BALANCE), &input).success);
    }
}

#[test]
fn a_call_with_assets_moves_them_and_makes_a_call() {
    let mut lab = lab(Phase::Apricot5, &[]);
    let receipt = lab.transact(Some(CALL), &send(BOB, 30, &[]));
    assert!(receipt.success);
    let input = send(BOB, 30, &[]);
    let zeros = input.iter().filter(|byte| **byte == 0).count() as u64;
    let data = zeros * 4 + (input.len() as u64 - zeros) * 16;
    assert_eq!(receipt.gas_used, 21_000 + data + 20_000 + 25_000);
    assert_eq!((held(&lab, ALICE), held(&lab, BOB)), (U256::from(70), U256::from(30)));
    // Bob holds nothing else and still exists.
    let bob = lab.view(|view| view.account(&BOB).unwrap().unwrap());
    assert!(bob.is_multi_coin && bob.balance.is_zero() && bob.nonce == 0);
    // The account exists the second time.
    let receipt = lab.transact(Some(CALL), &send(BOB, 70, &[]));
    let input = send(BOB, 70, &[]);
    let zeros = input.iter().filter(|byte| **byte == 0).count() as u64;
    let data = zeros * 4 + (input.len() as u64 - zeros) * 16;
    assert_eq!(receipt.gas_used, 21_000 + data + 20_000);
    assert_eq!((held(&lab, ALICE), held(&lab, BOB)), (U256::ZERO, U256::from(100)));
    // The amount is too high: all gas is used up, and nothing moved.
    let receipt = lab.transact(Some(CALL), &send(BOB, 1, &[]));
    assert!(!receipt.success && receipt.gas_used == 1_000_000);
    assert_eq!(held(&lab, BOB), U256::from(100));
}

#[test]
fn the_callee_runs_in_the_callers_name_and_its_failure_takes_assets_back() {
    // Stores caller and data. Reverts if the data begins with 0xff.
    let code = [
        0x60, 0, 0x35, 0x60, 0, 0x1a, 0x60, 0xff, 0x14, 0x60, 0x17, 0x57, 0x33, 0x60, 0, 0x55,
        0x60, 0, 0x35, 0x60, 1, 0x55, 0x00, 0x5b, 0x60, 0, 0x60, 0, 0xfd,
    ];
    let mut lab = lab(Phase::Apricot6, &code);
    assert!(lab.transact(Some(CALL), &send(CODE, 10, &[0xab; 32])).success);
    assert_eq!(lab.slot(CODE, U256::ZERO), U256::from_be_bytes(ALICE.into_word().0));
    assert_eq!(lab.slot(CODE, U256::from(1)), U256::from_be_bytes([0xab; 32]));
    assert_eq!((held(&lab, ALICE), held(&lab, CODE)), (U256::from(90), U256::from(10)));
    let receipt = lab.transact(Some(CALL), &send(CODE, 10, &[0xff; 32]));
    assert!(!receipt.success && receipt.gas_used < 100_000, "{}", receipt.gas_used);
    assert_eq!((held(&lab, ALICE), held(&lab, CODE)), (U256::from(90), U256::from(10)));
}

#[test]
fn calls_with_assets_revert_where_they_are_off() {
    for phase in Phase::ALL.into_iter().filter(|phase| *phase >= Phase::Banff) {
        let mut lab = lab(phase, &[]);
        let receipt = lab.transact(Some(CALL), &send(BOB, 30, &[]));
        assert!(!receipt.success && receipt.gas_used < 30_000, "{phase:?}");
        assert_eq!(held(&lab, ALICE), U256::from(100));
    }
    let mut lab = lab(Phase::ApricotPre6, &[]);
    assert!(!lab.transact(Some(CALL), &send(BOB, 30, &[])).success);
}
