//! Transactions that no block can hold, with the reference's texts and in its order.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxLegacy};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, Signature, TxKind, U256, address};
use esker_evm_execution::executor::{WARP, is_prohibited, recover_sender};
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::{BLACKHOLE, Phase, Revision};
use esker_evm_state::types::Transaction;

use super::{ALICE, CODE, Lab, PRICE, legacy, until};

fn check(phase: Phase, tx: &Transaction, sender: Address, text: &str) {
    let mut lab = Lab::new(phase, &[0]);
    let root = lab.parent.state_root;
    assert_eq!(lab.refuse(tx, sender).to_string(), text);
    assert_eq!(lab.parent.state_root, root, "a refused transaction changes nothing");
}

fn dynamic(change: impl FnOnce(&mut TxEip1559)) -> Transaction {
    let mut tx = TxEip1559 {
        chain_id: 43112,
        gas_limit: 100_000,
        max_fee_per_gas: PRICE.into(),
        to: TxKind::Call(CODE),
        ..Default::default()
    };
    change(&mut tx);
    tx.into_signed(Signature::test_signature()).into()
}

#[test]
fn nonces() {
    let (to, text) =
        (Some(CODE), "nonce too high: address 0xA11cE00000000000000000000000000000000001");
    let tx = legacy(1, to, &[], 0);
    let mut lab = Lab::new(Phase::Etna, &[]);
    let got = lab.refuse(&tx, ALICE).to_string();
    assert_eq!(got.to_lowercase(), format!("{}, tx: 1 state: 0", text.to_lowercase()));
    lab.transact(to, &[]);
    let got = lab.refuse(&legacy(0, to, &[], 0), ALICE).to_string();
    assert!(got.starts_with("nonce too low: address 0x") && got.ends_with(", tx: 0 state: 1"));
    let account = GenesisAccount { nonce: u64::MAX, ..Default::default() };
    let last = Address::repeat_byte(0xf0);
    let mut lab = Lab::with(until(Phase::Etna), [(last, account)]);
    let got = lab.refuse(&legacy(u64::MAX, to, &[], 0), last).to_string();
    assert_eq!(got, format!("nonce has max value: address {last}, nonce: 18446744073709551615"));
}

#[test]
fn senders() {
    let tx = legacy(0, Some(ALICE), &[], 0);
    let hash = alloy_primitives::keccak256([0]);
    check(Phase::Etna, &tx, CODE, &format!("sender not an eoa: address {CODE}, codehash: {hash}"));
    for sender in [BLACKHOLE, address!("0x03000000000000000000000000000000000000ff")] {
        let text = "prohibited address cannot be sender or created contract address";
        check(Phase::Etna, &tx, sender, &format!("{text}: address {sender}"));
    }
    let near = [
        address!("0x0400000000000000000000000000000000000000"),
        address!("0x0100000000000000000000000000000000000100"),
        address!("0x0000000000000000000000000000000000000001"),
    ];
    assert!(is_prohibited(&WARP) && !near.iter().any(is_prohibited));
}

#[test]
fn fees_and_funds() {
    let tx = dynamic(|tx| tx.max_priority_fee_per_gas = u128::from(PRICE) + 1);
    check(
        Phase::Etna,
        &tx,
        ALICE,
        &format!(
            "max priority fee per gas higher than max fee per gas: address {ALICE}, \
             maxPriorityFeePerGas: 300000000001, maxFeePerGas: 300000000000"
        ),
    );
    let tx = dynamic(|tx| tx.max_fee_per_gas = 224_999_999_999);
    check(
        Phase::Etna,
        &tx,
        ALICE,
        &format!(
            "max fee per gas less than block base fee: address {ALICE}, \
             maxFeePerGas: 224999999999, baseFee: 225000000000"
        ),
    );
    let poor = Address::repeat_byte(0x0b);
    check(
        Phase::Etna,
        &legacy(0, Some(CODE), &[], 5),
        poor,
        &format!(
            "insufficient funds for gas * price + value: address {poor} \
             have 0 want 300000000000000005"
        ),
    );
    // The fee cap counts, not the actual cost.
    let tx = dynamic(|tx| tx.max_fee_per_gas = u128::MAX);
    let want = U256::from(u128::MAX) * U256::from(100_000);
    let have = U256::from(10).pow(U256::from(21));
    check(
        Phase::Etna,
        &tx,
        ALICE,
        &format!(
            "insufficient funds for gas * price + value: address {ALICE} have {have} want {want}"
        ),
    );
    let tx = dynamic(|tx| tx.value = U256::MAX);
    check(
        Phase::Etna,
        &tx,
        ALICE,
        &format!(
            "insufficient funds for gas * price + value: address {ALICE} \
             required balance exceeds 256 bits"
        ),
    );
}

#[test]
fn gas() {
    let tx = dynamic(|tx| tx.gas_limit = 20_999);
    check(Phase::Etna, &tx, ALICE, "intrinsic gas too low: have 20999, want 21000");
    let tx = dynamic(|tx| tx.gas_limit = 15_000_001);
    check(Phase::Etna, &tx, ALICE, "gas limit reached");
    let tx = dynamic(|tx| tx.gas_limit = 8_000_001);
    check(Phase::Banff, &tx, ALICE, "gas limit reached");
    let init = |length: usize| {
        dynamic(|tx| {
            tx.to = TxKind::Create;
            tx.gas_limit = 2_000_000;
            tx.input = vec![0; length].into();
        })
    };
    let text = "max initcode size exceeded: code size 49153 limit 49152";
    check(Phase::Durango, &init(49_153), ALICE, text);
    for (phase, length) in [(Phase::Durango, 49_152), (Phase::Cortina, 49_153)] {
        let mut lab = Lab::new(phase, &[]);
        let tx = init(length);
        assert!(lab.in_block(|block| block.execute(&tx, Some(ALICE)).unwrap().success));
    }
}

#[test]
fn warp_predicates() {
    let list = AccessList(vec![AccessListItem { address: WARP, storage_keys: vec![B256::ZERO] }]);
    let tx = dynamic(|tx| tx.access_list = list);
    check(Phase::Durango, &tx, ALICE, "warp predicates are not supported");
    // Before the precompile existed, its address was an ordinary one.
    let mut lab = Lab::new(Phase::Cortina, &[]);
    let receipt = lab.in_block(|block| block.execute(&tx, Some(ALICE)).unwrap().clone());
    assert_eq!(receipt.gas_used, 21_000 + 2_400 + 1_900);
}

#[test]
fn types_chains_and_signatures() {
    let signature = Signature::test_signature();
    let blob: Transaction =
        TxEip4844 { chain_id: 43112, ..Default::default() }.into_signed(signature).into();
    let set_code: Transaction =
        TxEip7702 { chain_id: 43112, ..Default::default() }.into_signed(signature).into();
    for tx in [&blob, &set_code] {
        let mut lab = Lab::new(Phase::Etna, &[]);
        let error = lab.in_block(|block| block.execute(tx, None).unwrap_err());
        assert_eq!(error.to_string(), "transaction type not supported");
    }
    let other: Transaction =
        TxEip2930 { chain_id: 1, ..Default::default() }.into_signed(signature).into();
    let error = recover_sender(&other, 43112).unwrap_err();
    assert_eq!(error.to_string(), "invalid chain id for signer: have 1 want 43112");
    let mut lab = Lab::new(Phase::Etna, &[]);
    let error = lab.in_block(|block| block.execute(&other, None).unwrap_err());
    assert_eq!(error.to_string(), "invalid chain id for signer: have 1 want 43112");
    let broken: Transaction = TxLegacy { chain_id: Some(43112), ..Default::default() }
        .into_signed(Signature::new(U256::ZERO, U256::ZERO, false))
        .into();
    let error = recover_sender(&broken, 43112).unwrap_err();
    assert_eq!(error.to_string(), "invalid transaction v, r, s values");
}

/// A transaction without a chain ID whose `s` is the greater one of its signature.
fn with_high_s() -> Transaction {
    let order = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let low = Signature::test_signature();
    let high = Signature::new(low.r(), order.parse::<U256>().unwrap() - low.s(), !low.v());
    let tx = TxLegacy { gas_limit: 21_000, gas_price: PRICE.into(), ..Default::default() };
    TxLegacy { to: TxKind::Call(CODE), ..tx }.into_signed(high).into()
}

#[test]
fn a_high_s_is_valid_before_homestead() {
    let tx = with_high_s();
    let sender = recover_sender(&tx, 43112).unwrap();
    let low = tx.as_legacy().unwrap().tx().clone().into_signed(Signature::test_signature());
    assert_eq!(recover_sender(&low.into(), 43112), Ok(sender));
    for (revision, is_valid) in
        [(Revision::Frontier, true), (Revision::Homestead, false), (Revision::Osaka, false)]
    {
        let mut lab = Lab::of_revision(revision, true, &[]);
        lab.in_block(|block| block.state().set_balance(sender, U256::MAX >> 8).unwrap());
        let executed = lab.in_block(|block| block.execute(&tx, None).map(|it| it.from));
        // A known sender makes no difference.
        let known = lab.in_block(|block| block.execute(&tx, Some(sender)).map(|it| it.from));
        match (is_valid, executed) {
            (true, executed) => assert_eq!(executed.unwrap(), sender, "{revision:?}"),
            (false, refused) => {
                for refused in [refused, known] {
                    let text = refused.unwrap_err().to_string();
                    assert_eq!(text, "invalid transaction v, r, s values", "{revision:?}");
                }
            }
        }
    }
}
