//! Recipients of fees, and costs.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEip2930};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{B256, Signature, TxKind, U256, U512};
use esker_evm_execution::call::{BlockOverrides, CallLimits, CallRequest};
use esker_evm_execution::executor::intrinsic_gas;
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::{BLACKHOLE, Phase, Revision};

use super::{ALICE, CODE, Lab, PRICE, legacy, push, returning, until};

#[test]
fn the_whole_fee_goes_to_the_coinbase_and_nothing_is_burnt() {
    let mut lab = Lab::new(Phase::Etna, &[]);
    let before = lab.balance(ALICE);
    lab.in_block(|block| {
        let base_fee = block.block().base_fee;
        assert_eq!(base_fee, U256::from(225_000_000_000_u64));
        block.execute(&legacy(0, Some(CODE), &[], 5), Some(ALICE)).unwrap();
        let tip = U256::from(PRICE) - base_fee;
        assert_eq!(block.tips(), tip * U256::from(21_000));
        // The fee cap is higher and the tip lower: the price is the lower of both limits.
        let tx = TxEip1559 {
            chain_id: 43112,
            nonce: 1,
            gas_limit: 30_000,
            max_fee_per_gas: 400_000_000_000,
            max_priority_fee_per_gas: 7,
            to: TxKind::Call(CODE),
            ..Default::default()
        };
        let tx = tx.into_signed(Signature::test_signature()).into();
        block.execute(&tx, Some(ALICE)).unwrap();
        assert_eq!(block.tips(), (tip + U256::from(7)) * U256::from(21_000));
    });
    let paid = U256::from(21_000) * U256::from(PRICE + 225_000_000_007);
    assert_eq!(lab.balance(BLACKHOLE), paid);
    assert_eq!(lab.balance(ALICE), before - paid - U256::from(5));
}

#[test]
fn nothing_is_refunded() {
    // Clears a slot that was set: 2,900 of base cost, 2,100 for the cold slot.
    let code = [0x60, 0, 0x60, 1, 0x55];
    for phase in Phase::ALL {
        let account = GenesisAccount {
            code: code.to_vec().into(),
            storage: [(B256::with_last_byte(1), B256::with_last_byte(9))].into(),
            ..Default::default()
        };
        let mut lab = Lab::with(until(phase), [(CODE, account)]);
        let receipt = lab.transact(Some(CODE), &[]);
        assert_eq!(receipt.gas_used, 21_000 + 6 + 5_000, "{phase:?}");
        assert_eq!(lab.slot(CODE, U256::from(1)), U256::ZERO);
    }
}

#[test]
fn prices_and_base_fees_beyond_64_bits_reach_the_code() {
    let big = U256::from(u64::MAX) * U256::from(1000);
    let request = |price| CallRequest {
        from: Some(ALICE),
        to: Some(CODE),
        gas: Some(30_000),
        gas_price: Some(price),
        ..Default::default()
    };
    let overrides = BlockOverrides { base_fee: Some(big), ..Default::default() };
    let rich = GenesisAccount { balance: U256::MAX >> 1, ..Default::default() };
    for (opcode, want) in [(0x48, big), (0x3a, big + U256::from(1))] {
        let code = GenesisAccount { code: returning(&[opcode]).into(), ..Default::default() };
        let lab = Lab::with(until(Phase::Etna), [(CODE, code), (ALICE, rich.clone())]);
        let request = request(big + U256::from(1));
        let outcome = lab.call_with(&request, &overrides, &CallLimits::default());
        assert_eq!(U256::from_be_slice(&outcome.output), want);
        // The base fee of a call without a price is 0.
        let free = CallRequest { gas_price: None, ..request };
        let outcome = lab.call_with(&free, &overrides, &CallLimits::default());
        assert_eq!(U256::from_be_slice(&outcome.output), U256::ZERO);
    }
}

#[test]
fn intrinsic_gas_follows_the_phase() {
    let list = AccessList(vec![AccessListItem {
        address: CODE,
        storage_keys: vec![B256::ZERO, B256::with_last_byte(1)],
    }]);
    let none = AccessList::default();
    let durango = Phase::Durango.rules().execution;
    let cortina = Phase::Cortina.rules().execution;
    assert_eq!(intrinsic_gas(&durango, &[], false, &none, 0), 21_000);
    assert_eq!(intrinsic_gas(&durango, &[0, 1, 0], false, &none, 0), 21_024);
    assert_eq!(intrinsic_gas(&durango, &[1; 33], true, &none, 0), 53_000 + 33 * 16 + 4);
    assert_eq!(intrinsic_gas(&cortina, &[1; 33], true, &none, 0), 53_000 + 33 * 16);
    assert_eq!(intrinsic_gas(&durango, &[], false, &list, 0), 21_000 + 2_400 + 2 * 1_900);
}

#[test]
fn an_access_list_warms_what_it_names() {
    // SLOAD(1)
    let code = [push(U256::from(1)), vec![0x54]].concat();
    let mut lab = Lab::new(Phase::Apricot5, &code);
    let plain = lab.transact(Some(CODE), &[]).gas_used;
    assert_eq!(plain, 21_003 + 2_100);
    let tx = TxEip2930 {
        chain_id: 43112,
        nonce: 1,
        gas_price: PRICE.into(),
        gas_limit: 100_000,
        to: TxKind::Call(CODE),
        access_list: AccessList(vec![AccessListItem {
            address: CODE,
            storage_keys: vec![B256::with_last_byte(1)],
        }]),
        ..Default::default()
    };
    let tx = tx.into_signed(Signature::test_signature()).into();
    let receipt = lab.in_block(|block| block.execute(&tx, Some(ALICE)).unwrap().clone());
    assert_eq!((receipt.tx_type, receipt.gas_used), (1, 21_003 + 2_400 + 1_900 + 100));
}

#[test]
fn ethereum_burns_the_base_fee() {
    // SELFDESTRUCT(ADDRESS()) destroys the value of the transaction.
    let cases: [(&[u8], u64); 2] = [(&[], 0), (&[0x30, 0xff], 7)];
    for (code, lost) in cases {
        let mut lab = Lab::of_revision(Revision::London, true, code);
        let (block, before) = (lab.block(), lab.balance(ALICE));
        let tx = legacy(0, Some(CODE), &[], 7);
        let (gas, destroyed) = lab.in_block(|block| {
            let gas = block.execute(&tx, Some(ALICE)).unwrap().gas_used;
            (U256::from(gas), block.state().destroyed())
        });
        assert!(!block.base_fee.is_zero());
        assert_eq!(before - lab.balance(ALICE), U256::from(PRICE) * gas + U256::from(7));
        assert_eq!(lab.balance(block.coinbase), (U256::from(PRICE) - block.base_fee) * gas);
        // The header shows what was burnt; it is not counted again.
        assert_eq!(destroyed, U512::from(lost));
    }
}
