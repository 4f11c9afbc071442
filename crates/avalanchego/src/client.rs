//! The methods of AvalancheGo that a follower asks (docs/protocol/avalanchego.md, "The index API").

use std::time::Duration;

use bytes::Bytes;
use esker_outbound::{Dialer, SourceUrl};
use esker_primitives::{BlockId, ChainId, Id, TxId, hexfmt};
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::block::Chain;
use crate::connection::Connection;
use crate::error::{ClientError, Refusal};
use crate::outer::MAX_CONTAINER_LEN;

/// Most bytes of one answer: a container of [`MAX_CONTAINER_LEN`] fits in hexadecimal, with as much again around it.
pub const MAX_ANSWER_LEN: usize = 4 * MAX_CONTAINER_LEN;
/// Most containers that the node gives at once.
pub(crate) const MAX_PAGE: u64 = 1024;
/// Characters of an answer that an error shows.
const EXCERPT: usize = 200;

/// A container as the index gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The ID that the index gives it.
    pub id: BlockId,
    /// Its bytes.
    pub bytes: Bytes,
}

/// The result of [`IndexClient::containers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Containers {
    /// Consecutive ones; at least one.
    Some(Vec<Container>),
    /// There is none at that index yet. The number of containers that there are.
    None {
        /// Containers in the index.
        total: u64,
    },
}

/// Asks one node.
#[derive(Debug)]
pub struct IndexClient {
    connection: Connection,
}

#[derive(Deserialize)]
struct Reply<T> {
    result: Option<T>,
    error: Option<ReplyError>,
}

#[derive(Deserialize)]
struct ReplyError {
    message: String,
}

#[derive(Deserialize)]
struct RangeReply {
    containers: Vec<ContainerReply>,
}

#[derive(Deserialize)]
struct ContainerReply {
    id: BlockId,
    bytes: String,
    index: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NetworkReply {
    #[serde(rename = "networkID")]
    network_id: String,
}

#[derive(Deserialize)]
struct ChainReply {
    #[serde(rename = "blockchainID")]
    blockchain_id: ChainId,
}

#[derive(Deserialize)]
struct TxReply {
    tx: String,
}

impl IndexClient {
    /// A client of that node. It connects with the first request.
    #[must_use]
    pub const fn new(url: SourceUrl, dialer: Dialer) -> Self {
        Self { connection: Connection::new(url, dialer) }
    }

    /// With another deadline of each request than 30 s, its connection and its answer included.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.connection.set_timeout(timeout);
        self
    }

    /// The node.
    #[must_use]
    pub const fn url(&self) -> &SourceUrl {
        self.connection.url()
    }

    /// Containers of a chain from `index` on, at most `count`, 1 to 1024.
    pub async fn containers(
        &mut self,
        chain: Chain,
        index: u64,
        count: u64,
    ) -> Result<Containers, ClientError> {
        const METHOD: &str = "index.getContainerRange";
        let path = format!("/ext/index/{}/block", chain.alias());
        let params = json!({
            "startIndex": index.to_string(),
            "numToFetch": count.clamp(1, MAX_PAGE).to_string(),
            "encoding": "hex",
        });
        let range: RangeReply = match self.call(&path, METHOD, params).await? {
            Ok(range) => range,
            Err(refusal) => {
                let total = total_of(&refusal.message, index).ok_or(refusal)?;
                return Ok(Containers::None { total });
            }
        };
        let garbage = |reason: String| ClientError::Garbage { method: METHOD, reason };
        let asked = usize::try_from(count).unwrap_or(usize::MAX);
        if range.containers.is_empty() || range.containers.len() > asked {
            let (given, chain) = (range.containers.len(), chain.alias());
            return Err(garbage(format!("{given} containers of {chain} instead of 1 to {count}")));
        }
        let mut containers = Vec::with_capacity(range.containers.len());
        for (expected, container) in (index..).zip(range.containers) {
            if container.index != expected.to_string() {
                let given = excerpt(&container.index);
                return Err(garbage(format!("index {given} instead of {expected}")));
            }
            let bytes = hexfmt::decode_checked(&container.bytes)
                .map_err(|error| garbage(format!("container {expected}: {error}")))?;
            containers.push(Container { id: container.id, bytes: bytes.into() });
        }
        Ok(Containers::Some(containers))
    }

    /// The signed bytes of a transaction of P, whose hash is its ID. `None`: P has not accepted it, as far as the node
    /// has come.
    pub async fn p_tx(&mut self, id: &TxId) -> Result<Option<Bytes>, ClientError> {
        const METHOD: &str = "platform.getTx";
        let params = json!({ "txID": id, "encoding": "hex" });
        let reply: TxReply = match self.call("/ext/bc/P", METHOD, params).await? {
            Ok(reply) => reply,
            Err(refusal) if refusal.message.ends_with("not found") => return Ok(None),
            Err(refusal) => return Err(refusal.into()),
        };
        let garbage = |reason: String| ClientError::Garbage { method: METHOD, reason };
        let bytes =
            hexfmt::decode_checked(&reply.tx).map_err(|error| garbage(error.to_string()))?;
        let found = Id::sha256(&bytes);
        if found != *id {
            return Err(garbage(format!("transaction {found} instead of {id}")));
        }
        Ok(Some(bytes.into()))
    }

    /// The ID of the node's network.
    pub async fn network_id(&mut self) -> Result<u32, ClientError> {
        const METHOD: &str = "info.getNetworkID";
        let reply: NetworkReply = self.call("/ext/info", METHOD, json!({})).await??;
        let id = reply.network_id;
        id.parse().map_err(|_| ClientError::Garbage {
            method: METHOD,
            reason: format!("network ID {}", excerpt(&id)),
        })
    }

    /// The ID of a chain.
    pub async fn blockchain_id(&mut self, chain: Chain) -> Result<ChainId, ClientError> {
        const METHOD: &str = "info.getBlockchainID";
        let params = json!({ "alias": chain.alias() });
        let reply: ChainReply = self.call("/ext/info", METHOD, params).await??;
        Ok(reply.blockchain_id)
    }

    /// The result of a method, or the node's refusal.
    async fn call<T: DeserializeOwned>(
        &mut self,
        path: &str,
        method: &'static str,
        params: Value,
    ) -> Result<Result<T, Refusal>, ClientError> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, answer) = self.connection.post(path, body.to_string(), MAX_ANSWER_LEN).await?;
        let shown = || excerpt(&String::from_utf8_lossy(&answer));
        match status {
            StatusCode::OK => {}
            // The chain does not exist yet, or bootstraps.
            StatusCode::NOT_FOUND | StatusCode::SERVICE_UNAVAILABLE => {
                return Err(ClientError::NotReady(format!("{path}: {}", shown())));
            }
            StatusCode::FORBIDDEN => return Err(ClientError::Forbidden(shown())),
            _ => {
                return Err(ClientError::Refused {
                    method,
                    message: format!("{status}: {}", shown()),
                });
            }
        }
        let garbage = |error: serde_json::Error| {
            let reason = format!("{error}: {}", excerpt(&String::from_utf8_lossy(&answer)));
            ClientError::Garbage { method, reason }
        };
        let reply: Reply<T> = serde_json::from_slice(&answer).map_err(garbage)?;
        match (reply.result, reply.error) {
            (_, Some(error)) => Ok(Err(Refusal { method, message: error.message })),
            (Some(result), None) => Ok(Ok(result)),
            (None, None) => {
                let reason = format!("neither result nor error: {}", shown());
                Err(ClientError::Garbage { method, reason })
            }
        }
    }
}

/// The number of containers, of an error that says that there is none at `index`.
fn total_of(message: &str, index: u64) -> Option<u64> {
    if message == "no containers have been accepted" {
        return Some(0);
    }
    let rest = message.strip_prefix(&format!("start index ({index}) > last accepted index ("))?;
    rest.strip_suffix(')')?.parse::<u64>().ok()?.checked_add(1)
}

/// The beginning of a text of the node.
fn excerpt(text: &str) -> String {
    let text = text.trim();
    let cut: String = text.chars().take(EXCERPT).collect();
    if cut.len() < text.len() { format!("{cut}...") } else { cut }
}
