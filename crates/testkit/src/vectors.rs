//! The vectors of `tests/vectors/c-chain.json`.

use serde_json::Value;

/// All vectors of a kind, as (name, input, expected).
pub fn of_kind(kind: &str) -> Vec<(String, Value, Value)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/c-chain.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let vectors = all["vectors"].as_array().unwrap().iter().filter(|v| v["kind"] == kind);
    let found: Vec<_> = vectors
        .map(|v| (v["name"].as_str().unwrap().into(), v["input"].clone(), v["expected"].clone()))
        .collect();
    assert!(!found.is_empty(), "no vectors of kind {kind}");
    found
}

/// The blocks of one chain recorded on the reference, in order: `tests/vectors/chain/local-1.jsonl`.
pub fn recorded(chain: &str) -> Vec<Vec<u8>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/chain/local-1.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|block| block["chain"] == chain)
        .map(|block| hex::decode(&block["bytes"].as_str().unwrap()[2..]).unwrap())
        .collect()
}
