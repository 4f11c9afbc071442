//! States for `anvil_loadState` that become large only when they are read.

use std::fmt::Write as _;
use std::io::Write as _;

use esker_e2e::hostile::figures::{metric, mib};
use esker_e2e::hostile::requests::request;
use esker_e2e::hostile::{RPC, Wire};
use esker_e2e::until;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::arguments::{MIB, taken};
use crate::support::{alone, assert_served, dev, measured};

/// Bytes of a state as JSON, about.
const LONG: usize = 16 * 1024 * 1024;

/// A state, compressed, as an argument.
fn load(json: &str) -> String {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(json.as_bytes()).unwrap();
    let mut hex = "0x".to_owned();
    for byte in gzip.finish().unwrap() {
        write!(hex, "{byte:02x}").unwrap();
    }
    request("anvil_loadState", &json!([hex])).to_string()
}

/// As many of a part as there is room for between a beginning and an end.
fn many(begin: &str, part: &str, end: &str) -> String {
    let parts = vec![part; LONG / (part.len() + 1)].join(",");
    format!("{begin}{parts}{end}")
}

/// A state of one block with these transactions.
fn block_of(begin: &str, part: &str, end: &str) -> String {
    let hash = format!("0x{}", "11".repeat(32));
    let address = format!("0x{}", "22".repeat(20));
    let header = json!({
        "parentHash": hash, "sha3Uncles": hash, "miner": address, "stateRoot": hash, "transactionsRoot": hash,
        "receiptsRoot": hash, "logsBloom": format!("0x{}", "00".repeat(256)), "difficulty": 0, "number": 1,
        "gasLimit": 1, "gasUsed": 0, "timestamp": 1, "extraData": "0x", "mixHash": hash, "nonce": "0x0000000000000000",
    });
    let begin =
        format!("{{\"accounts\":{{}},\"blocks\":[{{\"header\":{header},\"transactions\":[{begin}");
    many(&begin, part, &format!("{end}]}}]}}"))
}

#[test]
fn states_that_become_large() {
    let _alone = alone();
    let limit = 24 * MIB;
    let node = dev().arg("--http-client-call-memory").arg(limit.to_string()).start().unwrap();
    let tx = r#"{"nonce":0,"gas":0,"value":0,"input":"0x","r":0,"s":0}"#;
    let text = format!(
        "the call needs more memory than the {limit} bytes that the calls of a client may take \
         (http-client-call-memory)"
    );
    let (item, end) =
        (r#"{"address":"0x2222222222222222222222222222222222222222","storageKeys":[]}"#, "]}");
    let with_list = r#"{"nonce":0,"gas":0,"value":0,"input":"0x","r":0,"s":0,"accessList":["#;
    for (name, state, answer) in [
        ("transactions", block_of("", tx, ""), Err(&*text)),
        ("one access list", block_of(with_list, item, end), Ok(())),
        (
            "a list in place of a transaction",
            block_of("[", "0", "]"),
            Err("no state of anvil's form"),
        ),
        (
            "a member that no transaction has",
            block_of("{\"x\":[", "{}", end),
            Err("no state of anvil's form"),
        ),
        ("a member that no state has", many("{\"accounts\":{},\"x\":[", "[]", end), Ok(())),
    ] {
        let body = load(&state);
        let attack = |address| {
            taken(node.pid(), || {
                Wire::open(address).unwrap().call(RPC, &body).unwrap().json().unwrap()
            })
        };
        let ((most, reply), latencies) = measured(&node, attack);
        println!("{name}: {} bytes of body take {} on top", body.len(), mib(most));
        assert_served(name, &latencies);
        let error = reply["error"]["message"].as_str().unwrap_or_default();
        match answer {
            Ok(()) => assert_eq!(reply["result"], Value::Bool(true), "{name}: {reply:.300}"),
            Err(text) => assert!(error.starts_with(text), "{name}: {reply:.300}"),
        }
        assert!(most < limit + 60 * MIB, "{name}: {}", mib(most));
    }
    until("all of it is free", || {
        (metric(&node, "esker_rpc_call_memory_bytes").unwrap() == 0.0).then_some(())
    });
}
