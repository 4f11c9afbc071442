//! The final bundles of a store.

use std::sync::Arc;

use bytes::Bytes;
use esker_storage::{KvRead, Scope, Store};

use crate::bundle::Bundle;
use crate::error::ChainError;
use crate::tables::{BUNDLES, BundleRecord};
use crate::vm::ChainVm;

/// Like [`bundle_in`], in the last state of a store.
pub(crate) fn bundle_at(
    chains: &[Arc<dyn ChainVm>],
    store: &Store,
    height: u64,
) -> Result<Option<(Bundle, Option<Bytes>)>, ChainError> {
    bundle_in(chains, store.snapshot()?.as_ref(), height)
}

/// The final bundle of a height, with its proof.
pub(crate) fn bundle_in(
    chains: &[Arc<dyn ChainVm>],
    reader: &dyn KvRead,
    height: u64,
) -> Result<Option<(Bundle, Option<Bytes>)>, ChainError> {
    let Some(record) = BUNDLES.get(reader, Scope::NODE, &height)? else {
        return Ok(None);
    };
    let mut blocks = Vec::with_capacity(record.blocks.len());
    for (id, block_height) in record.blocks {
        let damaged = || {
            ChainError::Corrupted(format!(
                "bundle {height} names block {block_height} of chain {id}, which is missing"
            ))
        };
        let chain = chains.iter().find(|chain| chain.context().chain_id == id);
        let block = chain.ok_or_else(damaged)?.block_at(reader, block_height)?;
        blocks.push((id, block.ok_or_else(damaged)?));
    }
    let BundleRecord { version, parent, timestamp_ms, commitment, .. } = record;
    let bundle = Bundle { version, parent, height, timestamp_ms, commitment, blocks };
    let proof = (!record.proof.is_empty()).then(|| Bytes::from(record.proof));
    Ok(Some((bundle, proof)))
}

/// The version of the final bundle at a height.
pub(crate) fn version_at(reader: &dyn KvRead, height: u64) -> Result<u16, ChainError> {
    let missing = || ChainError::Corrupted(format!("bundle {height} is missing"));
    Ok(BUNDLES.get(reader, Scope::NODE, &height)?.ok_or_else(missing)?.version)
}
