//! `esker evm` on the chain and the exchanges of the Ethereum execution API's own suite (`tests/vectors/execution-apis`).

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::Esker;

/// Its cases: 41 methods.
const CASES: usize = 164;

/// A case: requests with their answers. Of some only the kind of the result counts.
struct Case {
    name: String,
    is_example: bool,
    exchanges: Vec<(String, Value)>,
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/execution-apis"))
}

fn start() -> Esker {
    let path = |name: &str| folder().join(name).to_str().unwrap().to_owned();
    let (genesis, chain) = (path("genesis.json"), path("chain.rlp"));
    Esker::start_alone(&["--genesis", &genesis, "--import", &chain, "--no-build"])
}

fn cases() -> Vec<Case> {
    let mut files: Vec<_> = fs::read_dir(folder().join("cases")).unwrap().collect();
    files.sort_by_key(|file| file.as_ref().unwrap().file_name());
    let mut cases: Vec<Case> = Vec::new();
    for file in files {
        let file = file.unwrap().path();
        let method = file.file_stem().unwrap().to_str().unwrap();
        let mut request = String::new();
        for line in fs::read_to_string(&file).unwrap().lines() {
            match line.split_at(2) {
                ("# ", name) => {
                    let (name, is_example) = match name.strip_suffix(" (kind)") {
                        Some(name) => (name, true),
                        None => (name, false),
                    };
                    let name = format!("{method}/{name}");
                    cases.push(Case { name, is_example, exchanges: Vec::new() });
                }
                (">>", body) => body.trim().clone_into(&mut request),
                (_, answer) => {
                    let answer = serde_json::from_str(answer).unwrap();
                    let exchange = (std::mem::take(&mut request), answer);
                    cases.last_mut().unwrap().exchanges.push(exchange);
                }
            }
        }
    }
    cases
}

/// What is wrong with an answer, if anything. Texts of errors are not compared.
fn fault(case: &Case, mut got: Value, want: &Value) -> Option<String> {
    if let Some(error) = got.get_mut("error").and_then(Value::as_object_mut) {
        error.remove("message");
    }
    let is_right = match got.get("result") {
        Some(result) if case.is_example => kind(result) == kind(&want["result"]),
        Some(_) | None => got == *want,
    };
    (!is_right).then(|| format!("{}: {got}", case.name))
}

fn kind(value: &Value) -> usize {
    let kinds =
        [Value::is_null, Value::is_boolean, Value::is_number, Value::is_string, Value::is_array];
    kinds.iter().position(|is| is(value)).unwrap_or(kinds.len())
}

fn replay(rename: impl Fn(&str) -> String) {
    let node = start();
    let address = node.ready["evm"].as_str().unwrap().to_owned();
    let cases = cases();
    assert_eq!(cases.len(), CASES);
    let mut faults = Vec::new();
    for case in &cases {
        for (request, want) in &case.exchanges {
            let (_, body) = node.http_at(&address, "POST", "/", &rename(request));
            let got = serde_json::from_str(&body).unwrap();
            faults.extend(fault(case, got, want));
        }
    }
    assert!(faults.is_empty(), "{} of {CASES}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_suite_of_the_execution_api() {
    replay(str::to_owned);
}

#[test]
fn the_suite_by_the_neutral_names() {
    replay(|request| request.replacen("\"method\":\"eth_", "\"method\":\"evm_", 1));
}
