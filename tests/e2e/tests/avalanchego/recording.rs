//! The recordings.

use esker_avalanchego::Outer;
use esker_e2e::files::tests_path;
use serde_json::Value;

/// One container.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    /// `X`, `C` or `P`.
    pub(crate) chain: String,
    pub(crate) index: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Container {
    pub(crate) fn outer(&self) -> Outer {
        Outer::parse(&self.bytes).unwrap()
    }
}

/// A run: its containers in the order of their timestamps.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) name: &'static str,
    pub(crate) containers: Vec<Container>,
    pub(crate) state: Value,
}

impl Recording {
    pub(crate) fn load(name: &'static str) -> Self {
        let read = |end: &str| {
            std::fs::read_to_string(tests_path(&format!("vectors/follow/{name}.{end}"))).unwrap()
        };
        let container = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            Container {
                chain: line["chain"].as_str().unwrap().to_owned(),
                index: line["index"].as_u64().unwrap(),
                bytes: plain_hex(&line["bytes"]),
            }
        };
        let containers = read("jsonl").lines().map(container).collect();
        let state = serde_json::from_str(&read("state.json")).unwrap();
        Self { name, containers, state }
    }

    /// Both runs.
    pub(crate) fn all() -> [Self; 2] {
        [Self::load("follow-1"), Self::load("follow-signed")]
    }
}

pub(crate) fn plain_hex(value: &Value) -> Vec<u8> {
    esker_primitives::hexfmt::decode_plain(value.as_str().unwrap()).unwrap()
}
