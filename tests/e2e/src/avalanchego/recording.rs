//! The recordings of `tests/vectors/follow`.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

use std::collections::BTreeMap;

use esker_avalanchego::{Chain, Outer};
use esker_primitives::hexfmt;
use serde_json::Value;

use crate::files::tests_path;

/// One container.
#[derive(Clone, Debug)]
pub struct Container {
    /// Its chain.
    pub chain: Chain,
    /// Its index.
    pub index: u64,
    /// The ID that the index reports.
    pub id: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The time at which the node accepted it, in the index's form.
    pub timestamp: String,
}

impl Container {
    /// The outer block.
    ///
    /// # Panics
    /// If it is none.
    pub fn outer(&self) -> Outer {
        Outer::parse(self.chain, &self.bytes).unwrap()
    }
}

/// A recorded run.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its name.
    pub name: &'static str,
    /// Its network, for `--network`: a name, or the path of a file.
    pub network: String,
    /// Its containers in the order of their timestamps.
    pub containers: Vec<Container>,
    /// The state at the end.
    pub state: Value,
    /// The hexadecimal of transactions of P, by their IDs.
    pub p_txs: BTreeMap<String, String>,
}

impl Recording {
    /// Reads the run of that name.
    ///
    /// # Panics
    /// If there is none.
    pub fn load(name: &'static str) -> Self {
        let read = |end: &str| {
            std::fs::read_to_string(tests_path(&format!("vectors/follow/{name}.{end}"))).unwrap()
        };
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let container = |line: &str| {
            let line = json(line);
            let alias = text(&line["chain"]);
            Container {
                chain: Chain::ALL.into_iter().find(|chain| chain.alias() == alias).unwrap(),
                index: line["index"].as_u64().unwrap(),
                id: text(&line["id"]),
                bytes: hexfmt::decode_plain(line["bytes"].as_str().unwrap()).unwrap(),
                timestamp: text(&line["timestamp"]),
            }
        };
        let p_tx = |line: &str| {
            let line = json(line);
            (text(&line["txID"]), text(&line["getTx"]["tx"]))
        };
        let file = tests_path(&format!("vectors/follow/{name}.genesis.json"));
        let network = if file.exists() { file.to_str().unwrap() } else { "local" };
        Self {
            name,
            network: network.to_owned(),
            containers: read("jsonl").lines().map(container).collect(),
            state: json(&read("state.json")),
            p_txs: read("ptx.jsonl").lines().map(p_tx).collect(),
        }
    }

    /// All runs.
    pub fn all() -> [Self; 3] {
        ["follow-1", "follow-signed", "fortuna-atomic"].map(Self::load)
    }

    /// The containers of one chain.
    pub fn of(&self, chain: Chain) -> Vec<Container> {
        self.containers.iter().filter(|container| container.chain == chain).cloned().collect()
    }
}
