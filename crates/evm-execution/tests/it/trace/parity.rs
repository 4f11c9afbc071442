//! The forms of Parity's `trace` methods.

use alloy_primitives::{Address, U256, hex};
use esker_evm_execution::call::CallRequest;
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::Phase;
use esker_evm_execution::trace::{
    CallFilter, CallList, ReplayTracer, Selection, TraceError, TraceStop, TraceTypes,
};
use serde_json::{Value, json};

use super::{trace, trace_text};
use crate::machine::{ALICE, CODE, Lab, until};

const BOB: Address = Address::repeat_byte(0xb0);
const ALL: TraceTypes = TraceTypes { trace: true, state_diff: true, vm_trace: true };

fn request(to: Option<Address>, input: &str) -> CallRequest {
    let input = hex::decode(input).unwrap().into();
    CallRequest { from: Some(ALICE), to, gas: Some(1_000_000), input, ..Default::default() }
}

fn replay(lab: &Lab, request: &CallRequest) -> Value {
    trace(lab, request, Box::new(ReplayTracer::new(ALL)))
}

/// A lab with code in hex, in which `BOB` stands for PUSH20 of his address.
fn lab(phase: Phase, code: &str) -> Lab {
    let code = code.replace(' ', "").replace("BOB", &format!("73{}", hex::encode(BOB)));
    let code = hex::decode(code).unwrap().into();
    Lab::with(until(phase), [(CODE, GenesisAccount { code, ..Default::default() })])
}

/// Instructions with what they push.
fn pushes(vm: &Value) -> Vec<(&str, Vec<&str>)> {
    let ops = vm["ops"].as_array().unwrap().iter();
    let pushed = |op: &Value| op["ex"]["push"].as_array().unwrap().len();
    ops.map(|op| {
        let items = (0..pushed(op)).map(|at| op["ex"]["push"][at].as_str().unwrap());
        (op["op"].as_str().unwrap(), items.collect())
    })
    .collect()
}

#[test]
fn instructions_show_what_they_push_and_store() {
    // 2 + 1, kept in slot 5 and returned.
    let code = "6001 6002 01 80 6005 55 5f 52 60205ff3";
    let replay = replay(&lab(Phase::Etna, code), &request(Some(CODE), ""));
    let vm = &replay["vmTrace"];
    assert_eq!(vm["code"], format!("0x{}", code.replace(' ', "")));
    let expected = [
        ("PUSH1", vec!["0x1"]),
        ("PUSH1", vec!["0x2"]),
        ("ADD", vec!["0x3"]),
        ("DUP1", vec!["0x3", "0x3"]),
        ("PUSH1", vec!["0x5"]),
        ("SSTORE", vec![]),
        ("PUSH0", vec!["0x0"]),
        ("MSTORE", vec![]),
        ("PUSH1", vec!["0x20"]),
        ("PUSH0", vec!["0x0"]),
        ("RETURN", vec![]),
    ];
    assert_eq!(pushes(vm), expected);
    let first = json!({"cost": 3, "ex": {"mem": {"data": "0x", "off": 0}, "push": ["0x1"],
        "store": null, "used": 979_000}, "op": "PUSH1", "pc": 0, "sub": null});
    assert_eq!(vm["ops"][0], first);
    assert_eq!(vm["ops"][5]["ex"]["store"], json!({"key": "0x5", "val": "0x3"}));
    let three = format!("0x{:064x}", 3);
    assert_eq!(vm["ops"][8]["ex"]["mem"], json!({"data": three, "off": 32}));
    assert_eq!(replay["output"], three);
    let slot = format!("0x{:064x}", 5);
    let zero = format!("0x{:064x}", 0);
    let diff = json!({"balance": "=", "code": "=", "nonce": "=",
        "storage": {slot: {"*": {"from": zero, "to": three}}}});
    assert_eq!(replay["stateDiff"][format!("{CODE:#x}")], diff);
}

#[test]
fn frames_are_below_their_instructions() {
    // CALL of Bob, who has no code; STATICCALL of a precompiled contract; CREATE of code that stops; CALL with too much value.
    let code = "5f5f5f5f5fBOB5af150 5f5f5f5f60045afa50 60015f5ff050 5f5f5f5f60ffBOB5af150";
    let replay = replay(&lab(Phase::Etna, code), &request(Some(CODE), ""));
    let ops = replay["vmTrace"]["ops"].as_array().unwrap().iter();
    let calls =
        ops.filter(|op| ["CALL", "STATICCALL", "CREATE"].contains(&op["op"].as_str().unwrap()));
    let subs: Vec<_> = calls.map(|op| op["sub"].clone()).collect();
    let stop = json!({"cost": 0, "ex": {"mem": {"data": "0x", "off": 0}, "push": [], "store": null,
        "used": subs[2]["ops"][0]["ex"]["used"]}, "op": "STOP", "pc": 0, "sub": null});
    let created = json!({"code": "0x00", "ops": [stop]});
    let none = json!({"code": "0x", "ops": []});
    assert_eq!(subs, [none.clone(), Value::Null, created, Value::Null]);
    // Calls of precompiled contracts and refused ones are not listed.
    assert_eq!(replay["trace"].as_array().unwrap().len(), 3);
    assert_eq!(replay["trace"][0]["subtraces"], 2);
    let plain = self::replay(&lab(Phase::Etna, "00"), &request(Some(BOB), ""));
    assert_eq!(plain["vmTrace"], none);
    let precompile = Address::with_last_byte(4);
    let direct = self::replay(&lab(Phase::Etna, "00"), &request(Some(precompile), "01"));
    assert_eq!((&direct["vmTrace"], &direct["output"]), (&none, &json!("0x01")));
}

#[test]
fn failures_have_names() {
    for (code, error) in [
        ("5f5ffd", "Reverted"),
        ("5b5f56", "Out of gas"),
        ("fe", "Bad instruction"),
        ("600156", "Bad jump destination"),
        ("01", "StackUnderflow"),
        ("5b365f56", "Out of stack"),
        ("60015f5f3e", "OutOfOffset"),
    ] {
        let replay = replay(&lab(Phase::Etna, code), &request(Some(CODE), ""));
        let trace = &replay["trace"][0];
        assert_eq!(trace["error"], error, "{code}");
        assert_eq!(trace["result"].is_null(), error != "Reverted", "{code}");
    }
    // STATICCALL of itself with a byte of data; the inner call stores.
    let code = "36600d57 5f5f60015f305afa 00 5b5f5f55";
    let inner = replay(&lab(Phase::Etna, code), &request(Some(CODE), ""));
    assert_eq!(inner["trace"][1]["error"], "StateChangeDuringStaticCall");
    let created = replay(&lab(Phase::Etna, "00"), &request(None, "60ef5f5360015ff3"));
    assert_eq!(created["trace"][0]["error"], "CreateContractStartingWithEF");
}

#[test]
fn accounts_are_created_changed_and_removed() {
    // A contract that stores, and one that destroys itself while it is created.
    let lab = lab(Phase::Etna, "00");
    let mut create = request(None, "60075f5560015ff3");
    create.value = Some(U256::from(9));
    let diff = replay(&lab, &create)["stateDiff"].clone();
    let created = format!("{:#x}", ALICE.create(0));
    let (zero, seven) = (format!("0x{:064x}", 0), format!("0x{:064x}", 7));
    let expected = json!({"balance": {"+": "0x9"}, "code": {"+": "0x00"}, "nonce": {"+": "0x1"},
        "storage": {zero: {"+": seven}}});
    assert_eq!(diff[&created], expected);
    create.input = hex::decode("33ff").unwrap().into();
    let gone = replay(&lab, &create);
    assert_eq!(gone["stateDiff"].get(&created), None);
    let calls = gone["trace"].as_array().unwrap();
    let suicide =
        json!({"address": created, "balance": "0x9", "refundAddress": format!("{ALICE:#x}")});
    assert_eq!((&calls[1]["action"], &calls[1]["type"]), (&suicide, &json!("suicide")));
    assert_eq!((&calls[0]["subtraces"], &calls[1]["result"]), (&json!(1), &Value::Null));

    // Before Cancun an older contract is removed.
    let removed = replay(&self::lab(Phase::Durango, "BOB ff"), &request(Some(CODE), ""));
    let code = format!("0x73{}ff", hex::encode(BOB));
    let expected = json!({"balance": {"-": "0x0"}, "code": {"-": code}, "nonce": {"-": "0x0"},
        "storage": {}});
    assert_eq!(removed["stateDiff"][format!("{CODE:#x}")], expected);
    let kept = replay(&self::lab(Phase::Etna, "BOB ff"), &request(Some(CODE), ""));
    assert_eq!(kept["stateDiff"].get(format!("{CODE:#x}")), None);
}

#[test]
fn a_list_takes_what_its_filter_lets_through() {
    // Two calls of Bob, one of a precompiled contract.
    let lab = lab(Phase::Etna, "5f5f5f5f5fBOB5af150 5f5f5f5f60045afa50 5f5f5f5fBOB5afa50");
    let listed = |filter: CallFilter| {
        let list = CallList::new(Selection::Matching(filter));
        let text = trace_text(&lab, &request(Some(CODE), ""), Box::new(list.tracer()), 1 << 20);
        let calls: Vec<Value> = serde_json::from_str(&format!("[{}]", text.unwrap())).unwrap();
        assert_eq!((calls.len(), calls.is_empty()), (list.len(), list.is_empty()));
        (
            calls.iter().map(|call| call["traceAddress"].to_string()).collect::<Vec<_>>(),
            list.is_full(),
        )
    };
    let bob = CallFilter { to: [BOB].into_iter().collect(), ..Default::default() };
    assert_eq!(listed(CallFilter::default()).0, ["[]", "[0]", "[1]", "[2]"]);
    assert_eq!(listed(bob.clone()), (vec!["[0]".to_owned(), "[2]".to_owned()], false));
    assert_eq!(
        listed(CallFilter { count: Some(1), ..bob.clone() }),
        (vec!["[0]".to_owned()], true)
    );
    assert_eq!(listed(CallFilter { after: 1, ..bob.clone() }).0, ["[2]"]);
    let from = [ALICE].into_iter().collect();
    assert_eq!(listed(CallFilter { from, ..bob }).0, ["[]", "[0]", "[2]"]);
}

#[test]
fn long_traces_are_refused() {
    // Endless code with 64 KiB of memory.
    let lab = lab(Phase::Etna, "5f61ffff52 5b600556");
    let tracer = Box::new(ReplayTracer::new(ALL));
    let refused = trace_text(&lab, &request(Some(CODE), ""), tracer, 1 << 20);
    let Err(TraceError::Output(TraceStop::TooLarge)) = refused else { panic!("{refused:?}") };
}
