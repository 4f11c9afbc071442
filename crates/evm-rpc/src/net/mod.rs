//! `net`: figures about peers. A node has none on this protocol.

use std::sync::Arc;

use esker_rpc::handler::quick;
use esker_rpc::{MethodTable, Service};

use crate::reads::ReadApi;
use crate::wire::Uint;

/// The methods of the service `net`.
pub fn service(reads: &Arc<ReadApi>) -> Service {
    MethodTable::new("net")
        .on_list("listening", quick(|_: &ReadApi, ()| Ok(true)))
        .on_list("peerCount", quick(|_: &ReadApi, ()| Ok(Uint(0))))
        .on_list("version", quick(|reads: &ReadApi, ()| Ok(reads.config.net_version.clone())))
        .bind(Arc::clone(reads))
}
