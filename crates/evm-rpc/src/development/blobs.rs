//! Blobs of transactions that the node took in lately, as anvil serves them.

use alloy_primitives::Bytes;
use esker_evm::pool::{PooledTx, Sidecar};
use esker_rpc::RpcError;

use super::DevelopmentNode;
use crate::wire::{Data, Hash};

/// The blob of a versioned hash; `null`: the node doesn't have it.
pub(super) fn by_hash(
    node: &DevelopmentNode,
    (Hash(hash),): (Hash,),
) -> Result<Option<Data>, RpcError> {
    let found = node.chain.pool().recent_blob(&hash);
    Ok(found.and_then(|(tx, place)| blobs(&tx)?.into_iter().nth(place)))
}

/// The blobs of a transaction; `null`: the node doesn't have them.
pub(super) fn by_transaction(
    node: &DevelopmentNode,
    (Hash(hash),): (Hash,),
) -> Result<Option<Vec<Data>>, RpcError> {
    Ok(node.chain.pool().recent_blob_tx(&hash).and_then(|tx| blobs(&tx)))
}

fn blobs(tx: &PooledTx) -> Option<Vec<Data>> {
    let blobs = match tx.sidecar()? {
        Sidecar::Eip4844(sidecar) => &sidecar.blobs,
        Sidecar::Eip7594(sidecar) => &sidecar.blobs,
    };
    Some(blobs.iter().map(|blob| Data(Bytes::copy_from_slice(blob.as_slice()))).collect())
}
