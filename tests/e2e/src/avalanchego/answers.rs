//! The answers of the stand-in, in the recorded forms.

use std::collections::BTreeMap;

use esker_avalanchego::Chain;
use esker_primitives::hexfmt;
use serde_json::{Value, json};

use super::recording::Container;

/// The node's text for arguments of a wrong type.
const BAD_ARGUMENT: &str = "couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See \
                            documentation for example calls";

/// The data of the stand-in.
#[derive(Debug, Default)]
pub(super) struct Served {
    /// Containers by chain.
    pub(super) containers: BTreeMap<Chain, Vec<Container>>,
    /// Number of containers that are shown so far, by chain.
    pub(super) shown: BTreeMap<Chain, usize>,
    /// Characters added to each container.
    pub(super) padding: usize,
    pub(super) p_txs: BTreeMap<String, String>,
    pub(super) network_id: String,
    pub(super) blockchain_ids: Value,
}

impl Served {
    fn of(&self, chain: Chain) -> &[Container] {
        let all = self.containers.get(&chain).map_or(&[][..], Vec::as_slice);
        let shown = self.shown.get(&chain).copied().unwrap_or_default();
        &all[..shown.min(all.len())]
    }

    /// Result or error text of a method at a path; `None`: the path does not exist.
    pub(super) fn answer(&self, path: &str, request: &Value) -> Option<Result<Value, String>> {
        let method = request["method"].as_str().unwrap_or_default();
        let params = match &request["params"] {
            Value::Array(list) => list.first().cloned().unwrap_or_default(),
            other => other.clone(),
        };
        let chain = |chain: &Chain| path == format!("/ext/index/{}/block", chain.alias());
        if let Some(chain) = Chain::ALL.into_iter().find(chain) {
            return Some(self.index(self.of(chain), method, &params));
        }
        match path {
            "/ext/bc/P" => Some(self.platform(method, &params)),
            "/ext/info" => Some(self.info(method, &params)),
            _ => None,
        }
    }

    fn index(&self, shown: &[Container], method: &str, params: &Value) -> Result<Value, String> {
        let encoding = params["encoding"].as_str().unwrap_or("hex");
        match encoding {
            "hex" | "hexc" | "hexnc" => {}
            "json" => return Err("unsupported encoding in method".to_owned()),
            _ => return Err(BAD_ARGUMENT.to_owned()),
        }
        let none = || "no containers have been accepted".to_owned();
        match method {
            "index.getLastAccepted" => {
                Ok(self.container(shown.last().ok_or_else(none)?, shown.len() - 1, encoding))
            }
            "index.getContainerRange" => {
                let start = number(&params["startIndex"])?;
                let count = number(&params["numToFetch"])?;
                if !(1..=1024).contains(&count) {
                    return Err(format!("numToFetch must be in [1,1024] but is {count}"));
                }
                let last = shown.len().checked_sub(1).ok_or_else(none)?;
                let first = usize::try_from(start).unwrap_or(usize::MAX);
                if first > last {
                    return Err(format!("start index ({start}) > last accepted index ({last})"));
                }
                let page = shown.iter().enumerate().skip(first);
                let page = page.take(usize::try_from(count).unwrap_or_default());
                let page: Vec<_> =
                    page.map(|(index, found)| self.container(found, index, encoding)).collect();
                Ok(json!({ "containers": page }))
            }
            "index.getContainerByIndex" => {
                let index = number(&params["index"])?;
                let found = usize::try_from(index).ok().and_then(|at| Some((at, shown.get(at)?)));
                let (at, found) = found.ok_or(format!("no container at index {index}"))?;
                Ok(self.container(found, at, encoding))
            }
            other => Err(format!("rpc: can't find method \"{other}\"")),
        }
    }

    fn container(&self, container: &Container, index: usize, encoding: &str) -> Value {
        let bytes = match encoding {
            "hexnc" => hexfmt::encode_plain(&container.bytes),
            _ => hexfmt::encode_checked(&container.bytes),
        };
        let mut answer = json!({
            "id": container.id,
            "bytes": bytes,
            "timestamp": container.timestamp,
            "encoding": encoding,
            "index": index.to_string(),
        });
        if self.padding > 0 {
            answer["padding"] = " ".repeat(self.padding).into();
        }
        answer
    }

    fn platform(&self, method: &str, params: &Value) -> Result<Value, String> {
        match method {
            "platform.getTx" => {
                let id = params["txID"].as_str().unwrap_or_default();
                let tx = self.p_txs.get(id).ok_or("couldn't get tx: not found")?;
                Ok(json!({ "tx": tx, "encoding": "hex" }))
            }
            other => Err(format!("rpc: can't find method \"{other}\"")),
        }
    }

    fn info(&self, method: &str, params: &Value) -> Result<Value, String> {
        match method {
            "info.getNetworkID" => Ok(json!({ "networkID": self.network_id })),
            "info.getBlockchainID" => {
                let alias = params["alias"].as_str().unwrap_or_default();
                let id = self.blockchain_ids.get(alias);
                let id = id.ok_or(format!("there is no ID with alias {alias}"))?;
                Ok(json!({ "blockchainID": id }))
            }
            other => Err(format!("rpc: can't find method \"{other}\"")),
        }
    }
}

/// Reads a number or its text; a missing value is zero.
fn number(value: &Value) -> Result<u64, String> {
    match value {
        Value::Null => Ok(0),
        Value::String(text) => text.parse().map_err(|_| BAD_ARGUMENT.to_owned()),
        other => other.as_u64().ok_or_else(|| BAD_ARGUMENT.to_owned()),
    }
}
