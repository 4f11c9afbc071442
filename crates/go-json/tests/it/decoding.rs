//! How arguments become structs.

use std::collections::BTreeMap;

use esker_go_json::{DecodeError, GoValue, Kind, MAX_DECODE_NESTING, decode, to_go_vec};
use serde::Deserialize;

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Arguments {
    tx_id: String,
    limit: u32,
    small: u8,
    signed: i64,
    ratio: f64,
    partial: bool,
    addresses: Vec<String>,
    start: Start,
    optional: Option<u64>,
    any: GoValue,
    map: BTreeMap<String, Vec<u64>>,
    kind: Option<Choice>,
    #[serde(alias = "sourceChain")]
    source: String,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Start {
    address: String,
    utxo: String,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Choice {
    First,
    Second,
}

fn arguments(text: &str) -> Arguments {
    decode(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn refuse(text: &str) -> String {
    decode::<Arguments>(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn every_field_decodes() {
    let found = arguments(
        r#" { "txId" : "a\n" , "limit":4294967295,"small":255,"signed":-5,"ratio":1.5e1,"partial":true,
            "addresses":["x","y"],"start":{"address":"A","utxo":"U"},"optional":7,
            "any":{"a": [1]},"map":{"k":[1,2]},"kind":"second","sourceChain":"P"}"#,
    );
    let expected = Arguments {
        tx_id: "a\n".into(),
        limit: u32::MAX,
        small: 255,
        signed: -5,
        ratio: 15.0,
        partial: true,
        addresses: vec!["x".into(), "y".into()],
        start: Start { address: "A".into(), utxo: "U".into() },
        optional: Some(7),
        any: GoValue::first(b"{\"a\": [1]}").unwrap(),
        map: BTreeMap::from([("k".into(), vec![1, 2])]),
        kind: Some(Choice::Second),
        source: "P".into(),
    };
    assert_eq!(found, expected);
}

#[test]
fn names_match_in_any_case_and_the_last_counts() {
    assert_eq!(arguments(r#"{"TXID":"a"}"#).tx_id, "a");
    assert_eq!(arguments(r#"{"txid":"a","txId":"b","TxId":"c"}"#).tx_id, "c");
    assert_eq!(arguments(r#"{"t\u0078Id":"a"}"#).tx_id, "a");
    assert_eq!(arguments("{\"addre\u{17f}\u{17f}es\":[\"a\"]}").addresses, ["a"]);
    assert_eq!(arguments("{\"\u{212a}ind\":\"first\"}").kind, Some(Choice::First));
    assert_eq!(arguments(r#"{"start":{"ADDRESS":"a","other":[{}],"Utxo":"b"}}"#).start.utxo, "b");
    assert_eq!(arguments(r#"{"unknown":{"a":[1,{"b":2}]},"limit":3,"":1}"#).limit, 3);
    // Keys of a map are no field names.
    assert_eq!(arguments(r#"{"map":{"a":[1],"A":[2],"a":[3]}}"#).map.len(), 2);
}

#[test]
fn null_is_the_default() {
    let nothing = r#"{"txId":null,"limit":null,"small":null,"signed":null,"ratio":null,"partial":null,
        "addresses":null,"start":null,"optional":null,"any":null,"map":null,"kind":null,"source":null}"#;
    assert_eq!(arguments(nothing), Arguments::default());
    assert_eq!(arguments("{}"), Arguments::default());
    assert_eq!(arguments("null"), Arguments::default());
    assert_eq!(arguments(r#"{"addresses":["a",null],"start":{"utxo":null}}"#).addresses, ["a", ""]);
    assert_eq!(arguments(r#"{"map":{"a":null,"b":[null]}}"#).map["b"], [0]);
}

#[test]
fn null_after_a_value_keeps_scalars_and_clears_what_can_be_nil() {
    let found = arguments(
        r#"{"txId":"a","txId":null,"limit":1,"LIMIT":null,"addresses":["a"],"addresses":null,
            "optional":1,"optional":null,"map":{"a":[]},"map":null,"start":{"utxo":"u"},"start":null}"#,
    );
    assert_eq!((found.tx_id.as_str(), found.limit), ("a", 1));
    assert_eq!(found.start.utxo, "u");
    assert!(found.addresses.is_empty() && found.optional.is_none() && found.map.is_empty());
    assert_eq!(arguments(r#"{"optional":1,"optional":null,"optional":2}"#).optional, Some(2));
}

#[test]
fn wrong_types_are_refused() {
    let check = |text: &str, value: &str, of: &str| {
        let error = format!("json: cannot unmarshal {value} into Go value of type {of}");
        assert_eq!(refuse(text), error, "{text}");
    };
    check(r#"{"txId":5}"#, "number", "string");
    check(r#"{"txId":true}"#, "bool", "string");
    check(r#"{"txId":{}}"#, "object", "string");
    check(r#"{"limit":"5"}"#, "string", "uint32");
    check(r#"{"limit":-1}"#, "number -1", "uint32");
    check(r#"{"limit":-0}"#, "number -0", "uint32");
    check(r#"{"limit":1.0}"#, "number 1.0", "uint32");
    check(r#"{"limit":1e0}"#, "number 1e0", "uint32");
    check(r#"{"limit":4294967296}"#, "number 4294967296", "uint32");
    check(r#"{"small":256}"#, "number 256", "uint8");
    check(r#"{"signed":9223372036854775808}"#, "number 9223372036854775808", "int64");
    check(r#"{"ratio":1e999}"#, "number 1e999", "float64");
    check(r#"{"ratio":"1"}"#, "string", "float64");
    check(r#"{"partial":"x"}"#, "string", "bool");
    check(r#"{"partial":0}"#, "number", "bool");
    check(r#"{"addresses":"a"}"#, "string", "slice");
    check(r#"{"addresses":{}}"#, "object", "slice");
    check(r#"{"addresses":[5]}"#, "number", "string");
    check(r#"{"start":[]}"#, "array", "Start");
    check(r#"{"start":"x"}"#, "string", "Start");
    check(r#"{"map":[]}"#, "array", "map");
    check(r#"{"kind":1}"#, "number", "Choice");
    check("[]", "array", "Arguments");
    check("5", "number", "Arguments");
    assert!(refuse(r#"{"kind":"third"}"#).contains("third"));
    assert_eq!(refuse(r#"{"limit":}"#), "invalid character '}' looking for beginning of value");
}

#[test]
fn any_value_is_kept_as_text() {
    let found = arguments(r#"{"any": [ 1.50, {"b":"\u003c<"} ] }"#).any;
    assert_eq!(found.as_text(), r#"[ 1.50, {"b":"\u003c<"} ]"#);
    assert_eq!(to_go_vec(&found).unwrap(), br#"[1.50,{"b":"\u003c\u003c"}]"#);
    assert_eq!(found.kind(), Kind::Array);
    let kinds: Vec<_> = found.document().elements().map(|element| element.kind()).collect();
    assert_eq!(kinds, [Kind::Number, Kind::Object]);
    let again: (f64, BTreeMap<String, String>) = found.decode().unwrap();
    assert_eq!((again.0, again.1["b"].as_str()), (1.5, "<<"));
    // Through another format, and with bytes that are no text.
    let other: GoValue = serde_json::from_str(r#"{"b":[1,null]}"#).unwrap();
    assert_eq!(other.as_text(), r#"{"b":[1,null]}"#);
    assert_eq!(decode::<GoValue>(b"\"\xff\"").unwrap().as_text(), "\"\u{fffd}\"");
}

#[test]
fn fixed_length_arrays_ignore_extra_elements() {
    assert_eq!(decode::<(u8, u8)>(b"[1,2,[3],{\"a\":4}]").unwrap(), (1, 2));
    assert_eq!(decode::<Vec<(u8,)>>(b"[[1,2],[3]]").unwrap(), [(1,), (3,)]);
    assert!(decode::<(u8, u8)>(b"[1]").is_err());
}

#[test]
fn decoding_refuses_deep_nesting() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(decode::<serde_json::Value>(nested(MAX_DECODE_NESTING).as_bytes()).is_ok());
    let deep = nested(MAX_DECODE_NESTING + 1);
    let error = decode::<serde_json::Value>(deep.as_bytes()).unwrap_err();
    assert_eq!(error, DecodeError::Type("exceeded max depth".into()));
    // Skipped or kept as text they are fine.
    let deepest = format!("{{\"unknown\":{0},\"any\":{0},\"limit\":1}}", nested(9_998));
    assert_eq!(arguments(&deepest).limit, 1);
}

#[test]
fn every_duplicate_member_must_fit() {
    #[derive(serde::Deserialize, Default, PartialEq, Debug)]
    #[serde(default)]
    struct Inner {
        name: String,
        inner: Option<Box<Self>>,
    }
    let decode = |text: &str| decode::<Inner>(text.as_bytes());
    let named = |name: &str| Inner { name: name.into(), inner: None };
    assert_eq!(decode(r#"{"name": "a", "NAME": "b", "name": null}"#).unwrap().name, "b");
    let wrong = "json: cannot unmarshal number into Go value of type string";
    for text in [
        r#"{"name": 1, "name": "b"}"#,
        r#"{"name": "a", "Name": 2, "name": "b"}"#,
        r#"{"inner": {"name": 1, "name": "b"}, "name": "a"}"#,
        r#"{"inner": {"name": 1}, "inner": {"name": "b"}}"#,
        r#"{"name": "a", "name": 1}"#,
    ] {
        assert_eq!(decode(text).unwrap_err().to_string(), wrong, "{text}");
    }
    // A name without a field is ignored.
    assert_eq!(decode(r#"{"other": 1, "other": "b", "name": "a"}"#).unwrap(), named("a"));
    // However many there are, the work for them is bounded.
    let many = format!("{{{}\"name\": \"b\"}}", r#""name": "a", "#.repeat(100_000));
    assert_eq!(decode(&many).unwrap(), named("b"));
}
