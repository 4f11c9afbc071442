//! `prestateTracer`: one test for each rule.

use alloy_primitives::{Address, B256, U256, keccak256};
use esker_evm_execution::executor::{Message, Origin};
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::Phase;
use serde_json::{Value, json};

use super::{INNER, OTHER, call, code, compact, contract, lab, sending_an_asset, trace};
use crate::machine::{ALICE, CODE, Lab, PRICE, until};

const DIFF: &str = r#"{"diffMode":true}"#;

fn pre(lab: &Lab, message: &Message) -> Value {
    serde_json::from_str(&trace(lab, message, ("prestateTracer", "null")).unwrap()).unwrap()
}

fn diff(lab: &Lab, message: &Message) -> Value {
    serde_json::from_str(&trace(lab, message, ("prestateTracer", DIFF)).unwrap()).unwrap()
}

/// A message that pays.
fn paid(to: Option<Address>, input: &[u8], value: u64) -> Message {
    let price = U256::from(PRICE);
    Message { fee_cap: price, tip_cap: price, origin: Origin::Signed, ..call(to, input, value) }
}

#[test]
fn a_transfer_needs_sender_recipient_and_coinbase() {
    let lab = lab(["", "", ""]);
    let want = compact(
        r#"{"$coinbase":{"balance":"0x0"},
        "$inner":{"balance":"0x0"},
        "$alice":{"balance":"0x3635c9adc5dea00000"}}"#,
    );
    assert_eq!(trace(&lab, &paid(Some(INNER), &[], 5), ("prestateTracer", "{}")), Ok(want));
    // 300 gwei for 21000 gas.
    let want = compact(
        r#"{"post":{"$coinbase":{"balance":"0x1661d10e15c000"},
        "$inner":{"balance":"0x5"},
        "$alice":{"balance":"0x3635b34bf4d08a3ffb","nonce":1}},
        "pre":{"$coinbase":{"balance":"0x0"},
        "$inner":{"balance":"0x0"},
        "$alice":{"balance":"0x3635c9adc5dea00000"}}}"#,
    );
    assert_eq!(trace(&lab, &paid(Some(INNER), &[], 5), ("prestateTracer", DIFF)), Ok(want));
    // A transfer to oneself: the balance decreases only by the fee.
    let shown = diff(&lab, &paid(Some(ALICE), &[], 5));
    assert_eq!(shown["pre"][ALICE.to_string().to_lowercase()]["balance"], "0x3635c9adc5dea00000");
    assert_eq!(shown["post"][ALICE.to_string().to_lowercase()]["balance"], "0x3635b34bf4d08a4000");
}

/// Without a price only the nonce changes.
#[test]
fn a_free_call_changes_little() {
    let lab = lab(["", "", ""]);
    let want = compact(
        r#"{"post":{"$alice":{"nonce":1}},"pre":{"$alice":{"balance":"0x3635c9adc5dea00000"}}}"#,
    );
    assert_eq!(trace(&lab, &call(Some(INNER), &[], 0), ("prestateTracer", DIFF)), Ok(want));
}

#[test]
fn every_account_and_slot_that_code_reaches_for_is_there() {
    let named = |n: u8| format!("73{}", hex::encode(Address::repeat_byte(n)));
    let text = [
        format!("{}31 {}3b {}3f 5f5f5f{}3c", named(1), named(2), named(3), named(4)),
        format!("5f5f5f5f5f{}5af1 5f5f5f5f5f{}5af2", named(5), named(6)),
        format!("5f5f5f5f{}5af4 5f5f5f5f{}5afa", named(7), named(8)),
        // Slots: 300 is loaded, 2 stored.
        "61012c54 60016002 55".to_owned(),
        format!("{}ff", named(9)),
    ];
    let account = GenesisAccount {
        code: code(&text.concat()).into(),
        storage: [(B256::from(U256::from(300)), B256::with_last_byte(7))].into(),
        ..Default::default()
    };
    let lab = Lab::with(until(Phase::Etna), [(CODE, account)]);
    let shown = pre(&lab, &call(Some(CODE), &[], 0));
    for n in 1..=9 {
        assert_eq!(shown[Address::repeat_byte(n).to_string()], json!({"balance": "0x0"}), "{n}");
    }
    assert_eq!(shown.as_object().unwrap().len(), 9 + 3);
    let slot = |n: u64| B256::from(U256::from(n)).to_string();
    let storage = &shown[CODE.to_string().to_lowercase()]["storage"];
    assert_eq!(*storage, json!({slot(2): B256::ZERO, slot(300): B256::with_last_byte(7)}));
}

/// Assets move without an instruction that names the recipient. The recipient is shown once its code reads a slot.
#[test]
fn who_gets_assets_is_there_if_its_code_reads() {
    let slot = B256::ZERO.to_string();
    for (inner, want) in [("00", None), ("60005450", Some(json!({slot: B256::ZERO})))] {
        let (lab, message) = sending_an_asset(inner);
        let shown = pre(&lab, &message);
        let storage =
            shown.get(INNER.to_string().to_lowercase()).map(|account| account["storage"].clone());
        assert_eq!(storage, want, "{shown}");
    }
}

/// An instruction with insufficient gas adds no account.
#[test]
fn what_does_not_run_needs_nothing() {
    // GAS, PUSH20, then BALANCE with an empty stack, or too little gas.
    let shown = pre(&lab(["INNER 50 31", "", ""]), &call(Some(CODE), &[], 0));
    assert_eq!(shown.as_object().unwrap().len(), 3);
    let lab = lab(["INNER 31", "", ""]);
    let message = |gas_limit| Message { gas_limit, ..call(Some(CODE), &[], 0) };
    assert_eq!(pre(&lab, &message(21_000 + 3 + 2_599)).as_object().unwrap().len(), 3);
    assert_eq!(pre(&lab, &message(21_000 + 3 + 2_600)).as_object().unwrap().len(), 4);
}

/// The contract that a transaction creates is read after its creation.
#[test]
fn the_created_contract_has_a_nonce() {
    let created = ALICE.create(0).to_string().to_lowercase();
    let lab = lab(["", "", ""]);
    let init = code("60015f55 60fe5f53 60015ff3");
    let shown = pre(&lab, &call(None, &init, 0));
    let slot = B256::ZERO.to_string();
    let want = json!({"balance": "0x0", "nonce": 1, "storage": {slot.as_str(): B256::ZERO}});
    assert_eq!(shown[&created], want);
    let shown = diff(&lab, &call(None, &init, 4));
    assert_eq!(shown["pre"][&created], json!({"balance": "0x0", "nonce": 1}));
    let post =
        json!({"balance": "0x4", "code": "0xfe", "storage": {slot: B256::with_last_byte(1)}});
    assert_eq!(shown["post"][&created], post);
    // If the creation fails, the nonce is still used, and empty accounts are not shown.
    let shown = diff(&lab, &call(None, &[0xfe], 4));
    assert_eq!(shown["post"][&created], json!({}));
}

/// A refused creation has no frame. The reference then reads no account.
#[test]
fn a_refused_creation_shows_nothing() {
    let taken = GenesisAccount { nonce: 1, ..Default::default() };
    let lab = Lab::with(until(Phase::Etna), [(ALICE.create(0), taken)]);
    let message = paid(None, &[], 0);
    assert_eq!(trace(&lab, &message, ("prestateTracer", "null")).as_deref(), Ok("{}"));
    let shown = trace(&lab, &message, ("prestateTracer", DIFF));
    assert_eq!(shown.as_deref(), Ok(r#"{"post":{},"pre":{}}"#));
}

#[test]
fn contracts_that_code_makes_were_not_there() {
    // CREATE without init code; CREATE2 with a byte (STOP) and salt 5.
    let lab = lab(["5f5f5ff050 600560015f5ff550", "", ""]);
    let (one, two) = (CODE.create(0), CODE.create2(B256::with_last_byte(5), keccak256([0])));
    let shown = pre(&lab, &call(Some(CODE), &[], 0));
    let text = |address: Address| address.to_string().to_lowercase();
    assert_eq!(shown[text(one)], json!({"balance": "0x0"}));
    assert_eq!(shown[text(two)], json!({"balance": "0x0"}));
    let shown = diff(&lab, &call(Some(CODE), &[], 0));
    for created in [one, two] {
        assert_eq!(shown["pre"].get(text(created)), None);
        assert_eq!(shown["post"][text(created)], json!({"nonce": 1}));
    }
    assert_eq!(shown["post"][text(CODE)], json!({"nonce": 2}));
    // A contract with a balance before is kept.
    let rich = GenesisAccount { balance: U256::from(3), ..Default::default() };
    let lab = Lab::with(until(Phase::Etna), [(CODE, contract(code("5f5f5ff0"))), (one, rich)]);
    let shown = diff(&lab, &call(Some(CODE), &[], 0));
    assert_eq!(shown["pre"][text(one)], json!({"balance": "0x3"}));
}

/// CREATE2 with empty init code far beyond the memory: the reference does not read the address.
#[test]
fn nothing_from_far_away_is_not_looked_at() {
    let created = CODE.create2(B256::ZERO, keccak256([]));
    let text = created.to_string().to_lowercase();
    let has = |offset: &str| {
        let lab = lab([&format!("5f5f{offset}5ff5"), "", ""]);
        pre(&lab, &call(Some(CODE), &[], 0)).get(&text).is_some()
    };
    assert!(has("62100000"));
    assert!(!has("62100001"));
    assert!(!has("677fffffffffffffff"));
    assert!(!has("678000000000000000"));
    // The reference reads only the lowest 64 bits.
    assert!(has("68010000000000000000"));
}

/// A self-destructed contract has its whole state before and no state after, even if the call was reverted.
#[test]
fn a_destroyed_contract_has_no_state_after() {
    let text = |address: Address| address.to_string().to_lowercase();
    let slot = B256::ZERO.to_string();
    // Inner loads a slot and destroys itself; the caller reverts, or not.
    for end in ["00", "5f5ffd"] {
        let lab = lab([&format!("5f5f5f5f6001INNER5af1 {end}"), "5f54 OTHERff", ""]);
        let shown = diff(&lab, &call(Some(CODE), &[], 9));
        assert_eq!(shown["post"].get(text(INNER)), None);
        let before = &shown["pre"][text(INNER)];
        assert_eq!(before["storage"], json!({slot.as_str(): B256::ZERO}), "{shown}");
        let has_paid = end == "00";
        assert_eq!(shown["post"].get(text(OTHER)).is_some(), has_paid, "{shown}");
        assert_eq!(shown["pre"].get(text(OTHER)).is_some(), has_paid, "{shown}");
    }
}

#[test]
fn slots_are_shown_if_they_change() {
    let word = |n: u8| B256::with_last_byte(n);
    let slots = [(word(1), word(7)), (word(2), word(7)), (word(3), word(7))];
    let account = GenesisAccount {
        // 1 stays, 2 changes, 3 is cleared, 4 is set, 5 is set and reverted, 6 is read.
        code: code("60015450 6008600255 5f600355 6009600455 6001600555 5f600555 60065450").into(),
        storage: slots.into(),
        ..Default::default()
    };
    let lab = Lab::with(until(Phase::Etna), [(CODE, account)]);
    let shown = diff(&lab, &call(Some(CODE), &[], 0));
    let text = CODE.to_string().to_lowercase();
    let key = |n: u8| word(n).to_string();
    assert_eq!(shown["pre"][&text]["storage"], json!({key(2): word(7), key(3): word(7)}));
    assert_eq!(shown["post"][&text], json!({"storage": {key(2): word(8), key(4): word(9)}}));
}

/// The reference adds the payments of the sender, but not those for the blobs of a call.
#[test]
fn the_blobs_of_a_call_are_paid_already() {
    let lab = lab(["", "", ""]);
    let price = U256::from(PRICE);
    let hash = B256::repeat_byte(1);
    let message = Message {
        blob_hashes: Some(vec![hash, hash]),
        blob_fee_cap: U256::from(1),
        origin: Origin::Call,
        ..paid(Some(INNER), &[], 0)
    };
    let balance = U256::from(10).pow(U256::from(21)) - U256::from(2 * 131_072);
    let shown = pre(&lab, &message);
    assert_eq!(shown[ALICE.to_string().to_lowercase()], json!({"balance": balance}));
    let after = balance - price * U256::from(21_000);
    let shown = diff(&lab, &message);
    assert_eq!(shown["post"][ALICE.to_string().to_lowercase()]["balance"], json!(after));
}

#[test]
fn the_configuration_is_read_as_go_does() {
    let lab = lab(["", "", ""]);
    let run = |config: &str| trace(&lab, &call(Some(INNER), &[], 0), ("prestateTracer", config));
    let of = "json: cannot unmarshal";
    assert_eq!(
        run("[1]"),
        Err(format!("{of} array into Go value of type native.prestateTracerConfig")),
    );
    assert_eq!(
        run(r#"{"diffMode":1}"#),
        Err(format!("{of} number into Go struct field prestateTracerConfig.diffMode of type bool")),
    );
    assert_eq!(run(r#"{"DIFFMODE":true}"#), run(DIFF));
    assert_eq!(run(r#"{"diffMode":null,"other":1}"#), run("null"));
}
