//! `web3`: the node's version, and a hash.

use std::sync::Arc;

use alloy_primitives::keccak256;
use esker_rpc::handler::quick;
use esker_rpc::{MethodTable, Service};

use crate::reads::ReadApi;
use crate::wire::{Data, Hash};

/// The methods of the service `web3`.
pub fn service(reads: &Arc<ReadApi>) -> Service {
    MethodTable::new("web3")
        .on_list(
            "clientVersion",
            quick(|reads: &ReadApi, ()| Ok(reads.config.client_version.clone())),
        )
        .on_list("sha3", quick(|_: &ReadApi, (Data(bytes),): (Data,)| Ok(Hash(keccak256(&bytes)))))
        .params(&["data"])
        .bind(Arc::clone(reads))
}
