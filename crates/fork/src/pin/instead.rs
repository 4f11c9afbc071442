//! What a source has that lacks a block.

use serde_json::{Value, json};

use crate::json::quantity;
use crate::source::{Call, Source, SourceError};

/// What a source has in place of a block.
#[derive(Debug)]
pub struct BlockInstead {
    /// Its chain; `None`: it gave no chain ID.
    pub chain_id: Result<Option<u64>, SourceError>,
    /// The hash of its block with the number of that one, cut if it is long; `None`: it has no such block, or does not say.
    pub hash: Option<String>,
}

/// Asks a source what it has in place of the block with a number.
pub async fn block_instead(source: &Source, number: u64) -> BlockInstead {
    let block = json!([format!("{number:#x}"), false]);
    let calls = [Call::new("eth_chainId", json!([])), Call::new("eth_getBlockByNumber", block)];
    let mut answers = source.batch(&calls).await.into_iter();
    let chain_id = answers.next().map_or(Ok(None), |chain| {
        Ok(quantity(&chain?.result).and_then(|id| u64::try_from(id).ok()))
    });
    let block = answers.next().and_then(Result::ok).map(|answer| answer.result);
    let hash = block.as_ref().and_then(|block| block.get("hash")).and_then(Value::as_str);
    BlockInstead { chain_id, hash: hash.map(|hash| esker_primitives::excerpt(hash).into_owned()) }
}
