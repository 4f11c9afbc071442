//! Errors quote at most a hundred characters of what a client sent.
//!
//! Every documented request is sent again with each of its arguments, of its names and of its outer members replaced
//! by something long, and the error must not repeat it.

use std::collections::BTreeSet;

use esker_client::RpcClient;
use serde_json::{Value, json};

use crate::docs::api_pages;
use crate::support::local;

/// Characters of a long value.
const LONG: usize = 3000;
/// Characters of a value that an error may repeat in one piece, and what frames them there.
const QUOTED: usize = 110;
/// Bytes that an error with a few quotations has at most.
const MOST: usize = 1200;

/// A text that stands for a long number, which the JSON library can't hold: the mark and how the number starts.
const NUMBER: &str = "number ";
const NUMBERS: [&str; 3] = ["7", "-7", "0.7"];

/// Puts the numbers where their marks are.
fn with_numbers(request: &str) -> String {
    NUMBERS.iter().fold(request.to_owned(), |request, start| {
        let number = format!("{start}{}", "7".repeat(LONG));
        request.replace(&format!("\"{NUMBER}{start}\""), &number)
    })
}

/// Long values of many kinds; each repeats one character.
fn long_values() -> Vec<Value> {
    let texts = [
        ("", "q"),
        ("0x", "a"),
        ("0x", "q"),
        ("", "7"),
        ("X-", "z"),
        ("X-local1", "q"),
        ("C-local1", "7"),
        ("PrivateKey-", "z"),
        ("NodeID-", "z"),
        ("\u{e9}", "\u{e9}"),
        ("", "\n"),
        ("", "\""),
    ];
    let mut values: Vec<Value> =
        texts.iter().map(|(start, one)| json!(format!("{start}{}", one.repeat(LONG)))).collect();
    values.extend(NUMBERS.map(|start| json!(format!("{NUMBER}{start}"))));
    values.push(json!({ "q".repeat(LONG): "q".repeat(LONG) }));
    values.push(json!(["q".repeat(LONG)]));
    values
}

/// Every request that differs from this one in a value, or in the name of a member.
fn mutations(request: &Value, long: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    match request {
        Value::Object(members) => {
            for (name, value) in members {
                let mut replaced = vec![long.clone()];
                replaced.extend(mutations(value, long));
                for value in replaced {
                    let mut mutated = members.clone();
                    mutated.insert(name.clone(), value);
                    all.push(Value::Object(mutated));
                }
                if let Some(text) = long.as_str() {
                    let mut renamed = members.clone();
                    renamed.remove(name);
                    renamed.insert(text.to_owned(), value.clone());
                    all.push(Value::Object(renamed));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let mut replaced = vec![long.clone()];
                replaced.extend(mutations(item, long));
                for value in replaced {
                    let mut mutated = items.clone();
                    mutated[index] = value;
                    all.push(Value::Array(mutated));
                }
            }
        }
        _ => {}
    }
    all
}

/// The longest run of one character.
fn longest_run(text: &str) -> usize {
    let (mut longest, mut run, mut before) = (0, 0, None);
    for c in text.chars() {
        run = if before == Some(c) { run + 1 } else { 1 };
        before = Some(c);
        longest = longest.max(run);
    }
    longest
}

/// The fault of the error of a reply.
fn fault(reply: &[u8]) -> Option<String> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let error = reply.get("error")?.to_string();
    // A line break and a quote are two characters in Go's quotes, and more in JSON.
    let unescaped = error.replace("\\\\\\\"", "\"").replace("\\\\n", "\n");
    let run = longest_run(&unescaped);
    let is_short = run <= QUOTED && error.len() <= MOST;
    (!is_short).then(|| format!("{run} in a row, {} bytes: {:.300}", error.len(), error))
}

#[test]
fn slow_no_error_repeats_more_than_a_hundred_characters() {
    let node = local().dev().arg("--api-admin-enabled").arg("--index-enabled");
    // Without users no password is checked, which takes long.
    let node = node.arg("--api-keystore-enabled=false").start().unwrap();
    let mut rpc: RpcClient = node.rpc();
    let pages = api_pages();
    let exchanges =
        pages.iter().flat_map(|page| &page.sections).flat_map(|section| &section.exchanges);
    let mut seen = BTreeSet::new();
    let mut paths = BTreeSet::new();
    let mut forms = BTreeSet::new();
    let mut wrong = Vec::new();
    for request in exchanges.filter_map(|exchange| exchange.request().ok()) {
        let Ok(body) = serde_json::from_str::<Value>(&request.body) else { continue };
        // The envelope is one for all methods of a path, and pages show many requests of one form.
        let is_new = forms.insert((request.path.clone(), form(&body["params"]), request.method()));
        let is_envelope = paths.insert(request.path.clone());
        if !is_new {
            continue;
        }
        for long in long_values() {
            let mut mutated = if is_envelope { mutations(&body, &long) } else { Vec::new() };
            mutated.extend(mutations(&body["params"], &long).into_iter().map(|params| {
                let mut request = body.clone();
                request["params"] = params;
                request
            }));
            for mut mutated in mutated {
                // The answer has the request's own ID, whatever it is.
                if let Some(id) = mutated.get_mut("id") {
                    *id = json!(1);
                }
                let mutated = with_numbers(&mutated.to_string());
                if !seen.insert((request.path.clone(), mutated.clone())) {
                    continue;
                }
                let reply = rpc.post(&request.path, mutated.as_bytes()).unwrap();
                if let Some(fault) = fault(&reply.body) {
                    wrong.push(format!("{} {:.300}\n    {fault}", request.path, mutated));
                }
            }
        }
    }
    assert!(seen.len() > 5000, "{}", seen.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), seen.len(), wrong.join("\n"));
}

#[test]
fn five_megabytes_are_a_short_error() {
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let long = "q".repeat(5_000_000);
    for (path, method, params) in [
        ("/ext/bc/X", "xvm.getBalance", json!({ "address": long, "assetID": "NAT" })),
        (
            "/ext/bc/X",
            "xvm.getBalance",
            json!({ "address": format!("{long}-1"), "assetID": "NAT" }),
        ),
        ("/ext/bc/C/nat", "nat.getUTXOs", json!({ "addresses": [long], "sourceChain": "X" })),
        ("/ext/bc/C/rpc", "eth_feeHistory", json!([long, "latest", []])),
        ("/ext/bc/C/rpc", &long, json!([])),
        ("/ext/bc/X", &long, json!({})),
        ("/ext/keystore", "keystore.exportUser", json!({ "username": "\u{e9}".repeat(500) })),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let reply = rpc.post(path, body.to_string().as_bytes()).unwrap();
        let reply: Value = serde_json::from_slice(&reply.body).unwrap();
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains("..."), "{message:.300}");
        assert!(longest_run(message) <= QUOTED && message.len() <= MOST, "{message:.300}");
    }
    let kind = "q".repeat(10_000);
    let headers = [("Content-Type", kind.as_str())];
    let reply = rpc.http().request("POST", "/ext/bc/X", &headers, b"{}").unwrap();
    assert_eq!(reply.text(), format!("rpc: unrecognized Content-Type: {}...", "q".repeat(100)));
    let reply = rpc.http().request(&kind, "/ext/bc/X", &[], b"").unwrap();
    assert_eq!(reply.text(), format!("rpc: POST method required, received {}...", "q".repeat(100)));
    // The data of an error, in which the reference repeats the request.
    let request = |params: &str| format!(r#"{{"jsonrpc":"1.0","id":7,"params":["{params}"]}}"#);
    for (params, repeated) in [("q".repeat(900), true), ("q".repeat(2000), false)] {
        let reply = rpc.post("/ext/bc/X", request(&params).as_bytes()).unwrap();
        let reply: Value = serde_json::from_slice(&reply.body).unwrap();
        let data = &reply["error"]["data"];
        assert_eq!((&data["jsonrpc"], &data["id"]), (&json!("1.0"), &json!(7)));
        assert_eq!(data["params"], if repeated { json!([params]) } else { Value::Null });
    }
}

/// The names of members at all depths, without the values.
fn form(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| format!("{name}:{}", form(value))).collect()
        }
        Value::Array(items) => format!("[{}]", items.iter().map(form).collect::<String>()),
        _ => "_".to_owned(),
    }
}
