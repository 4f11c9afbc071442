//! Properties of any bytes and any value.

use esker_go_json::{Document, GoValue, decode, to_go_vec};
use esker_rpc::wire::{CappedLimit, Encoding, JsonU64};
use proptest::{collection::vec, prelude::*};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::toy::{answer, post, service};

/// Pieces of JSON in any order: nearly valid, often enough.
fn jsonish() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"", "\\", " ", "\n", "0", "1", "-", ".", "e", "+", "true", "false",
            "null", "\\u0041", "\\ud83d", "\\n", "\"a\"", "\"id\":", "\"method\":", "é", "\u{1}", "[1,2]", "{}",
            "\"jsonrpc\":\"2.0\"", "\"params\":", "\"avm.echo\"", "\"avm.getHeight\"",
        ]).prop_map(str::to_owned),
        1 => "[ -~]{0,3}",
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Whole floats read back as integers.
        (-1_000_000..1_000_000_i32).prop_map(|n| Value::from(f64::from(n) + 0.25)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn check_reply(body: &[u8]) {
    let service = service();
    let reply = post(&service, body);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body.is_empty(), reply.content_type.is_none());
    if !reply.body.is_empty() {
        assert_eq!(reply.body.iter().position(|byte| *byte == b'\n'), Some(reply.body.len() - 1));
        Document::whole(&reply.body).unwrap();
    }
}

/// Decoders of every kind: none may panic.
fn decode_all(bytes: &[u8]) {
    _ = decode::<Value>(bytes);
    _ = decode::<GoValue>(bytes);
    _ = decode::<IgnoredAny>(bytes);
    _ = decode::<Vec<String>>(bytes);
    _ = decode::<(f64, Option<i8>)>(bytes);
    _ = decode::<std::collections::BTreeMap<String, Option<u16>>>(bytes);
    _ = decode::<JsonU64>(bytes);
    _ = decode::<CappedLimit>(bytes);
    _ = decode::<Encoding>(bytes);
    if let Ok(document) = Document::first(bytes) {
        assert!(document.elements().all(|element| Document::whole(element.as_bytes()).is_ok()));
    }
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(bytes in vec(any::<u8>(), 0..200)) {
        check_reply(&bytes);
        decode_all(&bytes);
    }

    #[test]
    fn any_text_has_an_answer(text in jsonish()) {
        check_reply(text.as_bytes());
        check_reply(format!("{{{text}").as_bytes());
        decode_all(text.as_bytes());
    }

    #[test]
    fn broken_bytes_in_strings_have_an_answer(bytes in vec(any::<u8>(), 0..20)) {
        let body = [b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"", &bytes[..], b"\"}"].concat();
        check_reply(&body);
    }

    #[test]
    fn syntax_is_that_of_serde_json(text in jsonish()) {
        let theirs = serde_json::from_str::<IgnoredAny>(&text).is_ok();
        prop_assert_eq!(Document::whole(text.as_bytes()).is_ok(), theirs);
        // A whole document is also a first value, and then the same one.
        if let Ok(whole) = Document::whole(text.as_bytes()) {
            prop_assert_eq!(Document::first(text.as_bytes()), Ok(whole));
        }
    }

    #[test]
    fn values_are_those_of_serde_json(text in jsonish()) {
        if let Ok(theirs) = serde_json::from_str::<Value>(&text) {
            // Negative zero is an integer here and a float there.
            if !text.contains("-0") {
                prop_assert_eq!(decode::<Value>(text.as_bytes()).ok(), Some(theirs));
            }
        }
    }

    #[test]
    fn values_round_trip(value in value()) {
        let text = to_go_vec(&value).unwrap();
        prop_assert_eq!(&decode::<Value>(&text).unwrap(), &value);
        prop_assert_eq!(&serde_json::from_slice::<Value>(&text).unwrap(), &value);
        for escaped in [&b"<"[..], b">", b"&", "\u{2028}".as_bytes(), "\u{2029}".as_bytes()] {
            prop_assert!(!text.windows(escaped.len()).any(|part| part == escaped));
        }
        // Compact form is a fixed point, and the same from text with white space.
        let pretty = serde_json::to_vec_pretty(&value).unwrap();
        for source in [&text, &pretty] {
            let mut compact = Vec::new();
            Document::whole(source).unwrap().write_compact(&mut compact);
            prop_assert_eq!(decode::<Value>(&compact).unwrap(), value.clone());
            prop_assert!(!compact.contains(&b'\n'));
        }
        prop_assert_eq!(decode::<GoValue>(&pretty).unwrap().decode::<Value>().unwrap(), value);
    }

    #[test]
    fn arguments_come_back(members in vec((any::<String>(), value()), 0..5)) {
        let arguments = Value::Object(members.into_iter().collect());
        let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "xvm.echo", "params": arguments});
        let reply: Value = serde_json::from_str(&answer(&service(), &body.to_string())).unwrap();
        prop_assert_eq!(&reply["result"], &arguments);
    }

    #[test]
    fn integers_round_trip(value in any::<u64>()) {
        for text in [format!("{value}"), format!("\"{value}\""), format!("\"{value:#x}\"")] {
            prop_assert_eq!(decode::<JsonU64>(text.as_bytes()).unwrap(), JsonU64(value));
        }
        let written = to_go_vec(&JsonU64(value)).unwrap();
        prop_assert_eq!(written, format!("\"{value}\"").into_bytes());
    }
}
