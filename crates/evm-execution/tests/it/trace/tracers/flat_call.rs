//! `flatCallTracer`.

use alloy_primitives::{B256, U256};
use esker_evm_execution::executor::{Message, Origin};
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::Phase;
use esker_evm_execution::trace::TxPlace;
use serde_json::{Value, json};

use super::{LIMIT, call, code, compact, contract, lab, run_on, sending_an_asset, trace};
use crate::machine::{ALICE, CODE, Lab, until};

fn flat(lab: &Lab, message: &Message, config: &str) -> Value {
    serde_json::from_str(&trace(lab, message, ("flatCallTracer", config)).unwrap()).unwrap()
}

/// Places in the tree, calls made and kinds.
fn outline(trace: &Value) -> Vec<(Value, u64, String)> {
    let frames = trace.as_array().unwrap().iter();
    let one = |frame: &Value| {
        let kind = frame["action"].get("callType").unwrap_or(&frame["type"]);
        let kind = kind.as_str().unwrap().to_owned();
        (frame["traceAddress"].clone(), frame["subtraces"].as_u64().unwrap(), kind)
    };
    frames.map(one).collect()
}

#[test]
fn a_call_is_in_no_block() {
    let lab = lab(["5f5ff3", "", ""]);
    let want = compact(
        r#"[{"action":{"callType":"call","from":"$alice","gas":"0xf4240","input":"0x01",
        "to":"$code","value":"0x7"},"blockHash":null,"blockNumber":0,
        "result":{"gasUsed":"0x521c","output":"0x"},"subtraces":0,"traceAddress":[],
        "transactionHash":null,"transactionPosition":0,"type":"call"}]"#,
    );
    assert_eq!(trace(&lab, &call(Some(CODE), &[1], 7), ("flatCallTracer", "null")), Ok(want));
}

#[test]
fn each_frame_says_where_the_transaction_is() {
    let lab = lab(["5f5f5f5f5fINNER5af1", "00", ""]);
    let place = TxPlace {
        block_hash: Some(B256::repeat_byte(1)),
        tx_index: Some(3),
        tx_hash: Some(B256::repeat_byte(2)),
    };
    let mut block = lab.block();
    block.number = U256::from(77);
    let message = call(Some(CODE), &[], 0);
    let traced = run_on(&lab, &block, &message, place, ("flatCallTracer", "{}"), LIMIT).unwrap();
    let frames: Vec<Value> = serde_json::from_str(&traced.0).unwrap();
    assert_eq!(frames.len(), 2);
    for frame in frames {
        assert_eq!(frame["blockHash"], json!(B256::repeat_byte(1)));
        assert_eq!(frame["blockNumber"], 77);
        assert_eq!(frame["transactionHash"], json!(B256::repeat_byte(2)));
        assert_eq!(frame["transactionPosition"], 3);
    }
}

/// Calls and static calls of precompiled contracts are left out unless the configuration includes them. DELEGATECALL
/// and CALLCODE of them are shown. A transaction to a precompiled contract is a frame.
#[test]
fn precompiled_contracts_are_left_out() {
    // CALL 4, DELEGATECALL 4, CALL inner, STATICCALL 4, CALLCODE 4, STATICCALL inner, each popped.
    let lab = lab([
        "5f5f5f5f5f60045af150 5f5f5f5f60045af450 5f5f5f5f5fINNER5af150 5f5f5f5f60045afa50 \
         5f5f5f5f5f60045af250 5f5f5f5fINNER5afa50",
        "5f5f5f5f60045afa50 5f5f5f5fOTHER5afa50",
        "00",
    ]);
    let message = call(Some(CODE), &[], 0);
    let frame = |place: Value, calls: u64, kind: &str| (place, calls, kind.to_owned());
    let without = [
        frame(json!([]), 4, "call"),
        frame(json!([0]), 0, "delegatecall"),
        frame(json!([1]), 1, "call"),
        frame(json!([1, 0]), 0, "staticcall"),
        frame(json!([2]), 0, "callcode"),
        frame(json!([3]), 1, "staticcall"),
        frame(json!([3, 0]), 0, "staticcall"),
    ];
    assert_eq!(outline(&flat(&lab, &message, "null")), without);
    assert_eq!(outline(&flat(&lab, &message, r#"{"INCLUDEPRECOMPILES":false}"#)), without);
    let with = [
        frame(json!([]), 6, "call"),
        frame(json!([0]), 0, "call"),
        frame(json!([1]), 0, "delegatecall"),
        frame(json!([2]), 2, "call"),
        frame(json!([2, 0]), 0, "staticcall"),
        frame(json!([2, 1]), 0, "staticcall"),
        frame(json!([3]), 0, "staticcall"),
        frame(json!([4]), 0, "callcode"),
        frame(json!([5]), 2, "staticcall"),
        frame(json!([5, 0]), 0, "staticcall"),
        frame(json!([5, 1]), 0, "staticcall"),
    ];
    assert_eq!(outline(&flat(&lab, &message, r#"{"includePrecompiles":true}"#)), with);
    let to_identity = call(Some(alloy_primitives::Address::with_last_byte(4)), &[1, 2], 0);
    let frames = flat(&lab, &to_identity, "null");
    assert_eq!(outline(&frames), [frame(json!([]), 0, "call")]);
    assert_eq!(frames[0]["result"]["output"], "0x0102");
}

/// The precompiled contract that sends assets makes a call itself, which is left out with it.
#[test]
fn a_call_with_assets_is_left_out_as_a_whole() {
    let (lab, message) = sending_an_asset("00");
    let frame = |place: Value, calls: u64| (place, calls, "call".to_owned());
    assert_eq!(outline(&flat(&lab, &message, "null")), [frame(json!([]), 0)]);
    let with = [frame(json!([]), 1), frame(json!([0]), 1), frame(json!([0, 0]), 0)];
    assert_eq!(outline(&flat(&lab, &message, r#"{"includePrecompiles":true}"#)), with);
}

#[test]
fn values_are_those_that_the_callee_sees() {
    // DELEGATECALL shows the caller's value, STATICCALL zero.
    let lab = lab(["5f5f5f5fINNER5af450 5f5f5f5fINNER5afa50", "00", ""]);
    let frames = flat(&lab, &call(Some(CODE), &[], 9), "null");
    assert_eq!(frames[1]["action"]["value"], "0x9");
    assert_eq!(frames[2]["action"]["value"], "0x0");
}

#[test]
fn a_creation_that_fails_has_no_address() {
    let created = ALICE.create(0);
    let lab = lab(["", "", ""]);
    // REVERT(0, 1): the result is there, with what was returned as its code.
    let frames = trace(&lab, &call(None, &code("60015ffd"), 3), ("flatCallTracer", "null"));
    let want = compact(
        r#"[{"action":{"from":"$alice","gas":"0xf4240","init":"0x60015ffd","value":"0x3"},
        "blockHash":null,"blockNumber":0,"error":"execution reverted",
        "result":{"code":"0x00","gasUsed":"0xcf52"},"subtraces":0,"traceAddress":[],
        "transactionHash":null,"transactionPosition":0,"type":"create"}]"#,
    );
    assert_eq!(frames, Ok(want));
    // Any other failure has no result.
    let frames = flat(&lab, &call(None, &[0xfe], 0), "null");
    assert_eq!(
        (frames[0].get("result"), &frames[0]["error"]),
        (None, &json!("invalid opcode: INVALID"))
    );
    let frames = flat(&lab, &call(None, &[], 0), "null");
    let result = json!({"address": created, "code": "0x", "gasUsed": "0xcf08"});
    assert_eq!(frames[0]["result"], result);
}

/// A refused outermost frame does not begin. The reference then has a frame without a kind.
#[test]
fn a_refused_creation_has_no_trace() {
    let taken = GenesisAccount { nonce: 1, ..Default::default() };
    let lab = Lab::with(until(Phase::Etna), [(ALICE.create(0), taken)]);
    let traced = trace(&lab, &call(None, &[], 0), ("flatCallTracer", "null"));
    assert_eq!(traced, Err("unrecognized call frame type: STOP".to_owned()));
}

#[test]
fn errors_are_parity_s_if_asked_for() {
    let check = |inner: &str, error: &str, parity: &str| {
        // CALL with 65535 gas.
        let lab = lab(["5f5f5f5f5fINNER61fffff1", inner, ""]);
        let message = call(Some(CODE), &[], 0);
        assert_eq!(flat(&lab, &message, "null")[1]["error"], error);
        let config = r#"{"convertParityErrors":true}"#;
        let frames = flat(&lab, &message, config);
        assert_eq!(frames[1]["error"], parity);
        // Only a revert keeps the result, under both names.
        assert_eq!(frames[1].get("result").is_some(), error == "execution reverted");
        assert_eq!(frames[0].get("error"), None);
    };
    check("5f5ffd", "execution reverted", "Reverted");
    check("5b5f56", "out of gas", "Out of gas");
    check("5f56", "invalid jump destination", "Bad jump destination");
    check("fe", "invalid opcode: INVALID", "Bad instruction");
    check("0c", "invalid opcode: opcode 0xc not defined", "Bad instruction");
    check("50", "stack underflow (0 <=> 1)", "Stack underflow");
    check("5b5f600056", "stack limit reached 1024 (1023)", "Out of stack");
    check("60015f5f3e", "return data out of bounds", "Out of bounds");
    // Static calls may not change anything. Parity has no text for this error.
    let lab = lab(["5f5f5f5fINNER61fffffa", "5f5f55", ""]);
    let frames = flat(&lab, &call(Some(CODE), &[], 0), r#"{"convertParityErrors":true}"#);
    assert_eq!(frames[1]["error"], "write protection");
}

/// SELFDESTRUCT is the last call of a contract.
#[test]
fn a_contract_that_destroys_itself_is_a_frame() {
    let code = "5f5f5f5f5f73000000000000000000000000000000000000dead5af150 OTHERff";
    let lab = Lab::with(until(Phase::Etna), [(CODE, contract(super::code(code)))]);
    let frames = flat(&lab, &call(Some(CODE), &[], 5), "null");
    let want = json!({
        "action": {"address": CODE, "balance": "0x5", "refundAddress": super::OTHER},
        "blockHash": null, "blockNumber": 0, "subtraces": 0, "traceAddress": [1],
        "transactionHash": null, "transactionPosition": 0, "type": "suicide",
    });
    assert_eq!(frames[2], want);
    assert_eq!(frames[0]["subtraces"], 2);
}

#[test]
fn the_configuration_is_read_as_go_does() {
    let refused = |config: &str| {
        let lab = lab(["", "", ""]);
        trace(&lab, &call(Some(CODE), &[], 0), ("flatCallTracer", config)).unwrap_err()
    };
    let of = "json: cannot unmarshal";
    assert_eq!(
        refused("5"),
        format!("{of} number into Go value of type native.flatCallTracerConfig")
    );
    assert_eq!(
        refused(r#"{"convertParityErrors":"yes"}"#),
        format!(
            "{of} string into Go struct field flatCallTracerConfig.convertParityErrors of type bool"
        ),
    );
    assert_eq!(
        refused(r#"{"includePrecompiles":1}"#),
        format!(
            "{of} number into Go struct field flatCallTracerConfig.includePrecompiles of type bool"
        ),
    );
}

#[test]
fn a_trace_that_is_too_long_is_refused() {
    // Calls itself with a kibibyte of memory for as long as there is gas.
    let lab = lab(["5f5f6104005f5fCODE5af1", "", ""]);
    let message =
        Message { gas_limit: 5_000_000, origin: Origin::Call, ..call(Some(CODE), &[], 0) };
    let traced = |limit| {
        let named = ("flatCallTracer", "null");
        let place = TxPlace::default();
        run_on(&lab, &lab.block(), &message, place, named, limit).map_err(|error| error.to_string())
    };
    assert_eq!(traced(100_000).unwrap_err(), "response too large");
    assert!(traced(LIMIT).unwrap().0.len() > 100_000);
}
