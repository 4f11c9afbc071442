//! The stand-in answers as the reference did.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use esker_e2e::avalanchego::{Recording, StandIn};
use esker_e2e::files::tests_path;
use serde_json::Value;

/// Methods that a follower asks.
const METHODS: [&str; 4] = [
    "index.getContainerRange",
    "index.getLastAccepted",
    "index.getContainerByIndex",
    "platform.getTx",
];

/// Status and body of the answer.
pub(crate) fn post(address: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn answers_have_the_recorded_forms() {
    let forms = std::fs::read_to_string(tests_path("vectors/follow/index-forms.json")).unwrap();
    let forms: Value = serde_json::from_str(&forms).unwrap();
    let recording = Recording::load("follow-1");
    let stand_in = StandIn::start(&recording);
    let url = stand_in.url();
    let address = url.strip_prefix("avalanchego+http://").unwrap();
    let mut compared = 0;
    for state in ["empty", "full", "platform.getTx"] {
        if state == "full" {
            stand_in.show_all();
        }
        for exchange in forms[state]["exchanges"].as_array().unwrap() {
            let text = |name: &str| exchange[name].as_str().unwrap_or_default();
            let Ok(request) = serde_json::from_str::<Value>(text("request")) else { continue };
            let of_block = text("path").ends_with("/block") || text("path") == "/ext/bc/P";
            let method = request["method"].as_str().unwrap_or_default();
            let encoding = match &request["params"]["encoding"] {
                Value::String(encoding) => encoding.clone(),
                _ => "hex".to_owned(),
            };
            let is_tx = text("path") == "/ext/bc/P";
            if !exchange["http"].is_null()
                || !METHODS.contains(&method)
                || !(of_block || exchange["status"] == 404)
                // Other encodings of a transaction are not asked for.
                || (is_tx && encoding != "hex")
            {
                continue;
            }
            let (status, answer) = post(address, text("path"), text("request"));
            assert_eq!(status, exchange["status"], "{exchange}");
            compared += 1;
            let Ok(expected) = serde_json::from_str::<Value>(text("answer")) else {
                assert!(status == 404 || text("answer").ends_with("(cut)"), "{exchange}");
                continue;
            };
            let found: Value = serde_json::from_str(&answer).unwrap();
            assert_same(&found, &expected);
        }
    }
    assert!(compared > 60, "{compared}");
}

/// Equal, but for hexadecimal that is cut in the middle.
fn assert_same(found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            assert!(found.keys().eq(expected.keys()));
            found.values().zip(expected.values()).for_each(|(f, e)| assert_same(f, e));
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len());
            found.iter().zip(expected).for_each(|(f, e)| assert_same(f, e));
        }
        (Value::String(found), Value::String(expected)) if expected.contains(" characters)") => {
            let (head, rest) = expected.split_once("...").unwrap();
            let (tail, length) = rest.split_once('(').unwrap();
            assert!(found.starts_with(head) && found.ends_with(tail));
            assert_eq!(length, format!("{} characters)", found.len()));
        }
        _ => assert_eq!(found, expected),
    }
}
