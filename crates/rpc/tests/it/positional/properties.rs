//! Whatever comes in, there is an answer of the right form.

use proptest::prelude::*;
use serde_json::Value;

use super::{ask, server};

/// Any JSON value, with the members that messages have.
fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("2.0".to_owned()),
        Just("eth_chainId".to_owned()),
        Just("eth_getBalance".to_owned()),
        "[a-z_]{0,6}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("jsonrpc"),
        Just("id"),
        Just("method"),
        Just("params"),
        Just("result"),
        Just("error"),
        Just("Method"),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        let members = prop::collection::vec((name.clone(), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| {
                let pairs = members.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(pairs.collect())
            }),
        ]
    })
}

fn check_reply(reply: &Value) {
    let object = reply.as_object().unwrap();
    assert_eq!(object["jsonrpc"], "2.0");
    assert!(!object["id"].is_array() && !object["id"].is_object());
    assert!(object.contains_key("result") != object.contains_key("error"));
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(body in prop::collection::vec(any::<u8>(), 0..64)) {
        ask(&server(), &body);
    }

    #[test]
    fn any_value_has_an_answer_of_its_form(value in value()) {
        let body = value.to_string();
        let answer = ask(&server(), body.as_bytes());
        if !answer.body.is_empty() {
            let reply: Value = serde_json::from_slice(&answer.body).unwrap();
            match &reply {
                Value::Array(replies) => {
                    let asked = value.as_array().unwrap();
                    prop_assert!(!replies.is_empty() && replies.len() <= asked.len());
                    replies.iter().for_each(check_reply);
                }
                single => check_reply(single),
            }
        }
    }
}
