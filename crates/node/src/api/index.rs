//! `/ext/index/<chain>/{block,tx,vtx}`: accepted blocks in order.
//!
//! Containers are the blocks from height 1 on, numbered from 0, without the genesis block. The indexes of
//! transactions and vertices are empty; only chains that were DAGs have them.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use esker_evm::view::ViewError;
use esker_http::{RouteError, Routes};
use esker_primitives::Id;
use esker_rpc::handler::{blocking, quick};
use esker_rpc::wire::{Encoding, JsonU64};
use esker_rpc::{MethodTable, RpcError, Service, cost};
use esker_storage::StorageError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::time::Timestamp;
use crate::discovery::node_endpoint;

/// Most containers of one reply.
pub const MAX_RANGE: u64 = 1024;
/// A range ends early once its containers have this many bytes, which limits the memory of a reply. The client
/// continues from the index that it has reached.
pub const MAX_RANGE_BYTES: usize = 32 * 1024 * 1024;

/// The error of the P-Chain's index.
const OF_PEER: &str = "no containers have been accepted: the P-Chain is only a peer of this node, which has no blocks of it";

/// An accepted block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Hash of the block.
    pub id: Id,
    /// The block.
    pub bytes: Bytes,
    /// Acceptance time, Unix ms.
    pub accepted_ms: u64,
}

/// The reason why an index can't be read. The texts are for clients.
#[derive(Debug, Error)]
pub enum IndexError {
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// An EVM chain can't be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The block is older than the node's history.
    #[error(
        "block {height} is not available: this node's history begins at block {first} (it joined from a snapshot)"
    )]
    BeforeHistory {
        /// Height of the block.
        height: u64,
        /// First height of the history.
        first: u64,
    },
}

impl From<IndexError> for RpcError {
    fn from(error: IndexError) -> Self {
        Self::new(error.to_string())
    }
}

/// The source of an index: the accepted blocks of a chain.
pub trait IndexSource: fmt::Debug + Send + Sync + 'static {
    /// Height of the last accepted block; 0 if only the genesis block is accepted.
    fn last_height(&self) -> Result<u64, IndexError>;

    /// The block at a height from 1 on; `None` above the last height.
    fn container_at(&self, height: u64) -> Result<Option<Container>, IndexError>;

    /// The height of an accepted block; `None` for any other ID.
    fn height_of(&self, id: &Id) -> Result<Option<u64>, IndexError>;
}

/// The content of an index.
#[derive(Clone, Debug)]
pub enum IndexContent {
    /// The accepted blocks of a chain.
    Blocks(Arc<dyn IndexSource>),
    /// Always empty.
    Empty,
    /// The P-Chain's blocks, which this node does not have.
    NotStored,
}

/// Adds the indexes of a chain under its primary alias, including those of transactions and vertices if it was a DAG.
pub(super) fn install(
    chain: &str,
    blocks: IndexContent,
    was_dag: bool,
    routes: &Routes,
) -> Result<(), RouteError> {
    let mut indexes = vec![("block", blocks)];
    if was_dag {
        indexes.extend([("tx", IndexContent::Empty), ("vtx", IndexContent::Empty)]);
    }
    for (name, listed) in indexes {
        let service = IndexApi { listed, range_bytes: MAX_RANGE_BYTES }.service();
        let path = format!("index/{chain}/{name}");
        routes.node(&path, node_endpoint(&path, service))?;
    }
    Ok(())
}

/// The `index` service over one index.
#[derive(Debug)]
pub(crate) struct IndexApi {
    listed: IndexContent,
    range_bytes: usize,
}

/// The `index` namespace.
pub(crate) fn methods() -> MethodTable<IndexApi> {
    MethodTable::new("index")
        .on("getLastAccepted", quick(IndexApi::get_last_accepted))
        .on("getContainerByIndex", quick(IndexApi::get_container_by_index))
        .on("getContainerByID", quick(IndexApi::get_container_by_id))
        .on("getContainerRange", blocking(IndexApi::get_container_range))
        .cost(cost::SEARCH)
        .on("getIndex", quick(IndexApi::get_index))
        .on("isAccepted", quick(IndexApi::is_accepted))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct EncodingArgs {
    encoding: Encoding,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct IndexArgs {
    index: JsonU64,
    encoding: Encoding,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct IdArgs {
    id: Id,
    encoding: Encoding,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
struct RangeArgs {
    start_index: JsonU64,
    num_to_fetch: JsonU64,
    encoding: Encoding,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ContainerReply {
    id: Id,
    bytes: String,
    timestamp: Timestamp,
    encoding: Encoding,
    index: JsonU64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RangeReply {
    containers: Vec<ContainerReply>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct IndexReply {
    index: JsonU64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct IsAcceptedReply {
    is_accepted: bool,
}

impl IndexApi {
    pub(crate) fn service(self) -> Service {
        methods().bind(Arc::new(self))
    }

    fn get_last_accepted(&self, args: EncodingArgs) -> Result<ContainerReply, RpcError> {
        let last = self.last_index()?.ok_or_else(|| self.none_accepted())?;
        self.reply(last, args.encoding)
    }

    fn get_container_by_index(&self, args: IndexArgs) -> Result<ContainerReply, RpcError> {
        let index = args.index.0;
        if matches!(self.listed, IndexContent::NotStored) {
            return Err(self.none_accepted());
        }
        if self.last_index()?.is_none_or(|last| index > last) {
            return Err(no_container_at(index));
        }
        self.reply(index, args.encoding)
    }

    fn get_container_by_id(&self, args: IdArgs) -> Result<ContainerReply, RpcError> {
        let index = self.index_of(&args.id)?.ok_or_else(not_found)?;
        self.reply(index, args.encoding)
    }

    fn get_container_range(&self, args: RangeArgs) -> Result<RangeReply, RpcError> {
        let (start, wanted) = (args.start_index.0, args.num_to_fetch.0);
        if !(1..=MAX_RANGE).contains(&wanted) {
            let text = format!("numToFetch must be in [1,{MAX_RANGE}] but is {wanted}");
            return Err(RpcError::new(text));
        }
        let last = self.last_index()?.ok_or_else(|| self.none_accepted())?;
        if start > last {
            let text = format!("start index ({start}) > last accepted index ({last})");
            return Err(RpcError::new(text));
        }
        let (mut containers, mut bytes) = (Vec::new(), 0);
        for index in start..=last.min(start.saturating_add(wanted - 1)) {
            let container = self.container(index)?;
            bytes += container.bytes.len();
            containers.push(shown(index, &container, args.encoding)?);
            if bytes >= self.range_bytes {
                break;
            }
        }
        Ok(RangeReply { containers })
    }

    fn get_index(&self, args: IdArgs) -> Result<IndexReply, RpcError> {
        let index = self.index_of(&args.id)?.ok_or_else(not_found)?;
        Ok(IndexReply { index: JsonU64(index) })
    }

    fn is_accepted(&self, args: IdArgs) -> Result<IsAcceptedReply, RpcError> {
        Ok(IsAcceptedReply { is_accepted: self.index_of(&args.id)?.is_some() })
    }

    /// Index of the last container, if there is one.
    fn last_index(&self) -> Result<Option<u64>, RpcError> {
        let IndexContent::Blocks(source) = &self.listed else { return Ok(None) };
        Ok(source.last_height()?.checked_sub(1))
    }

    fn index_of(&self, id: &Id) -> Result<Option<u64>, RpcError> {
        let IndexContent::Blocks(source) = &self.listed else { return Ok(None) };
        let height = source.height_of(id)?;
        Ok(height.and_then(|height| height.checked_sub(1)))
    }

    fn container(&self, index: u64) -> Result<Container, RpcError> {
        let IndexContent::Blocks(source) = &self.listed else { return Err(no_container_at(index)) };
        let found = source.container_at(index.saturating_add(1))?;
        found.ok_or_else(|| no_container_at(index))
    }

    fn none_accepted(&self) -> RpcError {
        RpcError::new(match self.listed {
            IndexContent::NotStored => OF_PEER,
            IndexContent::Blocks(_) | IndexContent::Empty => "no containers have been accepted",
        })
    }

    fn reply(&self, index: u64, encoding: Encoding) -> Result<ContainerReply, RpcError> {
        shown(index, &self.container(index)?, encoding)
    }
}

fn shown(
    index: u64,
    container: &Container,
    encoding: Encoding,
) -> Result<ContainerReply, RpcError> {
    Ok(ContainerReply {
        id: container.id,
        bytes: encoding.encode(&container.bytes)?,
        timestamp: Timestamp::from_ms(container.accepted_ms),
        encoding,
        index: JsonU64(index),
    })
}

fn no_container_at(index: u64) -> RpcError {
    RpcError::new(format!("no container at index {index}"))
}

fn not_found() -> RpcError {
    RpcError::new("not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten blocks of 100 bytes.
    #[derive(Debug)]
    struct Ten;

    impl IndexSource for Ten {
        fn last_height(&self) -> Result<u64, IndexError> {
            Ok(10)
        }

        fn container_at(&self, height: u64) -> Result<Option<Container>, IndexError> {
            let bytes = Bytes::from(vec![0; 100]);
            Ok((1..=10).contains(&height).then_some(Container {
                id: Id::ZERO,
                bytes,
                accepted_ms: 0,
            }))
        }

        fn height_of(&self, _: &Id) -> Result<Option<u64>, IndexError> {
            Ok(None)
        }
    }

    #[test]
    fn a_range_ends_before_it_outgrows_the_memory() {
        for (range_bytes, start, first_and_last) in [
            (1000, 0, (0, 9)),
            (400, 0, (0, 3)),
            (399, 0, (0, 3)),
            (1, 9, (9, 9)),
            (350, 5, (5, 8)),
        ] {
            let api = IndexApi { listed: IndexContent::Blocks(Arc::new(Ten)), range_bytes };
            let args = RangeArgs {
                start_index: JsonU64(start),
                num_to_fetch: JsonU64(MAX_RANGE),
                encoding: Encoding::Hex,
            };
            let containers = api.get_container_range(args).unwrap().containers;
            let indexes: Vec<_> = containers.iter().map(|container| container.index.0).collect();
            let (first, last) = first_and_last;
            assert_eq!(indexes, (first..=last).collect::<Vec<_>>(), "{range_bytes}");
        }
    }
}
