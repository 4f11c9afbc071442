//! `net`: figures about peers. A node has none on this protocol.

use std::sync::Arc;

use esker_rpc::handler::quick;
use esker_rpc::{MethodTable, RpcError, Service};

use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::Uint;

/// The network's number; where a client set another chain ID, that ID.
pub(crate) fn net_version(reads: &ReadApi) -> Result<String, RpcError> {
    let chain_id = reads.chain.chain_id().map_err(read_error)?;
    Ok(match chain_id == reads.chain.rules().chain_id() {
        true => reads.config.net_version.clone(),
        false => chain_id.to_string(),
    })
}

/// The methods of the service `net`.
pub fn service(reads: &Arc<ReadApi>) -> Service {
    MethodTable::new("net")
        .on_list("listening", quick(|_: &ReadApi, ()| Ok(true)))
        .on_list("peerCount", quick(|_: &ReadApi, ()| Ok(Uint(0))))
        .on_list("version", quick(|reads: &ReadApi, ()| net_version(reads)))
        .bind(Arc::clone(reads))
}
