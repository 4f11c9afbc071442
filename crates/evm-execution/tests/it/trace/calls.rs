//! `callTracer`.

use alloy_primitives::{Address, B256, U256, address, hex};
use esker_evm_execution::call::CallRequest;
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::Phase;
use esker_evm_execution::trace::{TraceError, TraceStop, tracers};
use serde_json::{Value, json};

use super::{trace, trace_text};
use crate::machine::{ALICE, CODE, Lab, until};

const BOB: Address = Address::repeat_byte(0xb0);
const ASSET_CALL: Address = address!("0x0100000000000000000000000000000000000002");
const ASSET: B256 = B256::repeat_byte(0x44);

fn request(to: Address, input: &[u8]) -> CallRequest {
    CallRequest {
        from: Some(ALICE),
        to: Some(to),
        gas: Some(1_000_000),
        input: input.to_vec().into(),
        ..Default::default()
    }
}

fn calls(lab: &Lab, request: &CallRequest) -> Value {
    trace(lab, request, tracers::create("callTracer", "null").unwrap())
}

/// A lab with code in hex.
fn lab(code: &str) -> Lab {
    Lab::new(Phase::Etna, &hex::decode(code).unwrap())
}

#[test]
fn a_contract_that_destroys_itself_is_a_frame() {
    // PUSH20 bob, SELFDESTRUCT; and ADDRESS, SELFDESTRUCT, which moves nothing.
    for (code, to) in [(format!("73{}ff", hex::encode(BOB)), BOB), ("30ff".to_owned(), CODE)] {
        let lab = lab(&code);
        let mut request = request(CODE, &[]);
        request.value = Some(U256::from(7));
        let frames = calls(&lab, &request)["calls"].clone();
        let want = json!([{
            "from": CODE, "gas": "0x0", "gasUsed": "0x0", "to": to, "input": "0x", "value": "0x7",
            "type": "SELFDESTRUCT",
        }]);
        assert_eq!(frames, want, "{code}");
    }
}

#[test]
fn a_contract_that_destroys_itself_in_its_creation_is_a_frame() {
    // A failing SELFDESTRUCT in a STATICCALL before it is none: CALLER, SELFDESTRUCT.
    let inner = GenesisAccount { code: hex!("33ff").into(), ..Default::default() };
    let lab = Lab::with(until(Phase::Etna), [(CODE, inner)]);
    let input = hex::decode(format!("5f5f5f5f73{}5afa5033ff", hex::encode(CODE))).unwrap();
    let mut request = request(BOB, &input);
    (request.to, request.value) = (None, Some(U256::from(7)));
    let frames = calls(&lab, &request)["calls"].clone();
    let kinds: Vec<_> = frames.as_array().unwrap().iter().map(|frame| &frame["type"]).collect();
    assert_eq!(kinds, ["STATICCALL", "SELFDESTRUCT"]);
    assert_eq!(frames[0].get("calls"), None);
    let paid = (&frames[1]["from"], &frames[1]["to"], &frames[1]["value"]);
    assert_eq!(paid, (&json!(ALICE.create(0)), &json!(ALICE), &json!("0x7")));
}

#[test]
fn refused_frames_are_not_shown() {
    // CREATE and CALL with a value above the balance.
    let create = "5f5f60fff050";
    let call = format!("5f5f5f5f60ff73{}5af150", hex::encode(BOB));
    let lab = lab(&format!("{create}{call}00"));
    let shown = calls(&lab, &request(CODE, &[]));
    assert_eq!((shown.get("calls"), shown.get("error")), (None, None), "{shown}");
}

/// A refused outermost frame does not begin. The reference then shows a frame without a kind.
#[test]
fn a_refused_creation_is_a_frame_without_a_kind() {
    let taken = GenesisAccount { nonce: 1, ..Default::default() };
    let lab = Lab::with(until(Phase::Etna), [(ALICE.create(0), taken)]);
    let shown = calls(&lab, &CallRequest { to: None, ..request(CODE, &[]) });
    let used = shown["gasUsed"].clone();
    let want = json!({
        "from": Address::ZERO, "gas": "0x0", "gasUsed": used, "input": "0x", "type": "STOP",
    });
    assert_eq!((shown, used), (want, json!("0xf4240")));
}

#[test]
fn frames_have_the_texts_of_their_errors() {
    let check = |code: &str, error: &str| {
        let inner =
            GenesisAccount { code: hex::decode(code).unwrap().into(), ..Default::default() };
        let outer = hex::decode(format!("5f5f5f5f5f73{}61fffff100", hex::encode(BOB))).unwrap();
        let outer = GenesisAccount { code: outer.into(), ..Default::default() };
        let lab = Lab::with(until(Phase::Etna), [(CODE, outer), (BOB, inner)]);
        let shown = calls(&lab, &request(CODE, &[]));
        assert_eq!(shown["calls"][0]["error"], error, "{shown}");
        assert_eq!(shown.get("error"), None);
        let used = if error == "execution reverted" { "0x4" } else { "0xffff" };
        assert_eq!(shown["calls"][0]["gasUsed"], used);
    };
    check("5f5ffd", "execution reverted");
    check("5f56", "invalid jump destination");
    check("fe", "invalid opcode: INVALID");
    check("0c", "invalid opcode: opcode 0xc not defined");
    check("50", "stack underflow (0 <=> 1)");
    check("5b5f56", "out of gas");
    check("600160003e", "stack underflow (2 <=> 3)");
    check("60015f5f3e", "return data out of bounds");
    check(
        "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff51",
        "gas uint64 overflow",
    );
}

/// The error of a failed precompiled contract is not that of its caller.
#[test]
fn the_error_is_that_of_the_frame_itself() {
    // STATICCALL of the pairing check with a byte too few, then a revert.
    let lab = lab("5f5f60015f600862fffffffa5f5ffd");
    let shown = calls(&lab, &request(CODE, &[]));
    assert_eq!(shown["error"], "execution reverted", "{shown}");
    assert_ne!(shown["calls"][0]["error"], "execution reverted");
    let outcome = lab.call(&[]);
    assert_eq!(outcome.error.unwrap().to_string(), "execution reverted");
}

#[test]
fn a_call_with_assets_is_two_frames() {
    let balance = U256::from(10).pow(U256::from(21));
    let alice =
        GenesisAccount { balance, assets: [(ASSET, U256::from(100))].into(), ..Default::default() };
    let lab = Lab::with(until(Phase::Apricot5), [(ALICE, alice)]);
    let input = |amount: u64| {
        [BOB.as_slice(), ASSET.as_slice(), &U256::from(amount).to_be_bytes::<32>()].concat()
    };
    let shown = calls(&lab, &request(ASSET_CALL, &input(5)));
    assert_eq!((&shown["to"], &shown["error"]), (&json!(ASSET_CALL), &Value::Null), "{shown}");
    let inner = &shown["calls"][0];
    assert_eq!((&inner["from"], &inner["to"]), (&json!(ALICE), &json!(BOB)), "{shown}");
    assert_eq!((&inner["value"], &inner["input"]), (&json!("0x0"), &json!("0x")));
    assert_eq!(inner.get("calls"), None);
    // The amount exceeds the balance: the precompiled contract itself fails.
    let shown = calls(&lab, &request(ASSET_CALL, &input(101)));
    assert_eq!(shown["error"], "insufficient balance for transfer");
    assert_eq!(shown.get("calls"), None);
}

#[test]
fn what_a_tracer_keeps_is_bounded() {
    // Calls bob with 32 KiB of zeros, over and over.
    let code = format!("5b5f5f6180005f5f73{}5af1505f56", hex::encode(BOB));
    let lab = lab(&code);
    let tracer = || tracers::create("callTracer", "null").unwrap();
    let error = trace_text(&lab, &request(CODE, &[]), tracer(), 1 << 20).unwrap_err();
    assert!(matches!(error, TraceError::Output(TraceStop::TooLarge)), "{error}");
    assert!(trace_text(&lab, &request(BOB, &[]), tracer(), 1 << 20).is_ok());
}

#[test]
fn settings_have_the_texts_of_go() {
    let refused = tracers::create("callTracer", r#"{"onlyTopCall":5}"#).err().unwrap();
    let want = "json: cannot unmarshal number into Go struct field callTracerConfig.onlyTopCall of type bool";
    assert_eq!(refused.to_string(), want);
}

/// A log of an empty range far beyond the memory. The reference leaves it out.
#[test]
fn a_log_of_nothing_from_far_away_is_left_out() {
    let has = |offset: &str| {
        let tracer = tracers::create("callTracer", r#"{"withLog":true}"#).unwrap();
        let shown = trace(&lab(&format!("5f{offset}a0")), &request(CODE, &[]), tracer);
        assert_eq!(shown.get("error"), None, "{shown}");
        shown.get("logs").is_some()
    };
    assert!(has("62100000"));
    assert!(!has("62100001"));
    assert!(!has("678000000000000000"));
}
