//! `consoleTracer`.

use esker_evm_execution::console::{CONSOLE, Message};
use esker_evm_execution::trace::TxPlace;
use serde_json::{Value, json};

use super::{call, code, lab, run_on, trace};
use crate::machine::{ALICE, CODE};

/// Code that makes a STATICCALL of the console with its call data.
const PRINTS: &str = "365f5f37 5f5f365fCONSOLE5afa50";

fn printing(text: &str) -> String {
    text.replace("CONSOLE", &format!("73{}", hex::encode(CONSOLE)))
}

/// The entries of a call of [`CODE`] with this input.
fn printed(codes: [&str; 3], input: &[u8]) -> Value {
    let [first, second, third] = codes.map(printing);
    let lab = lab([&first, &second, &third]);
    let traced = trace(&lab, &call(Some(CODE), input, 0), ("consoleTracer", "null")).unwrap();
    serde_json::from_str(&traced).unwrap()
}

/// Call data of `log(string,uint256)`, with 5.
fn log_input(text: &[u8]) -> Vec<u8> {
    let word = |number: u8| [vec![0; 31], vec![number]].concat();
    let mut padded = text.to_vec();
    padded.resize(text.len().next_multiple_of(32), 0);
    let length = u8::try_from(text.len()).unwrap();
    [code("b60e72cc"), word(64), word(5), word(length), padded].concat()
}

#[test]
fn a_message_has_its_text_and_its_arguments() {
    let entries = printed([PRINTS, "", ""], &log_input(b"a %d\n\x1b<b>"));
    let want = json!([{
        "from": CODE,
        "depth": 1,
        "text": "a 5\n\u{1b}<b>",
        "signature": "log(string,uint256)",
        "arguments": [
            {"type": "string", "value": "a %d\n\u{1b}<b>"},
            {"type": "uint256", "value": "5"},
        ],
    }]);
    assert_eq!(entries, want);
    // `log(bool)` of true, by a CALL.
    let by_call = "365f5f37 5f5f365f5fCONSOLE5af150";
    let input = [code("32458eed"), vec![0; 31], vec![1]].concat();
    let entries = printed([by_call, "", ""], &input);
    assert_eq!(entries[0]["arguments"], json!([{"type": "bool", "value": true}]));
    // A transaction may call the console itself.
    let lab = lab(["00", "", ""]);
    let traced = trace(&lab, &call(Some(CONSOLE), &input, 0), ("consoleTracer", "null")).unwrap();
    let entries: Value = serde_json::from_str(&traced).unwrap();
    assert_eq!((&entries[0]["from"], &entries[0]["depth"]), (&json!(ALICE), &json!(0)));
}

/// INNER prints and reverts; CODE prints before and after it, and reverts.
#[test]
fn messages_are_in_order_also_those_of_reverted_frames() {
    let outer = format!("{PRINTS} 5f5f365f5fINNER5af150 {PRINTS} 5f5ffd");
    let inner = format!("{PRINTS} 5f5ffd");
    let entries = printed([&outer, &inner, ""], &log_input(b"n"));
    let depths: Vec<_> =
        entries.as_array().unwrap().iter().map(|entry| entry["depth"].clone()).collect();
    assert_eq!(depths, [1, 2, 1]);
}

#[test]
fn malformed_data_are_shown_whole() {
    let input = [code("b60e72cc"), vec![0xff; 64]].concat();
    let entries = printed([PRINTS, "", ""], &input);
    let want = json!([{
        "from": CODE,
        "depth": 1,
        "text": Message::text_of(&input),
        "error": "argument 1 of log(string,uint256) is malformed",
        "input": format!("0x{}", hex::encode(&input)),
    }]);
    assert_eq!(entries, want);
    // A string of any bytes.
    let input = log_input(b"\xff%d");
    let entries = printed([PRINTS, "", ""], &input);
    assert_eq!(entries[0]["text"], "\\xff5");
    assert_eq!(entries[0]["input"], format!("0x{}", hex::encode(&input)));
    assert_eq!(printed(["00", "", ""], &input), json!([]));
}

/// The length of the JSON is bounded before anything is written: data may be short and their text long.
#[test]
fn a_result_that_is_too_long_is_refused() {
    let lab = lab([&printing(PRINTS), "", ""]);
    let message = call(Some(CODE), &log_input(&[0x1b; 60]), 0);
    let traced = |limit| {
        let tracer = ("consoleTracer", "null");
        run_on(&lab, &lab.block(), &message, TxPlace::default(), tracer, limit)
    };
    let (text, _) = traced(100_000).unwrap();
    let refused = traced(2 * text.len()).unwrap_err();
    assert_eq!(refused.to_string(), "response too large");
}
