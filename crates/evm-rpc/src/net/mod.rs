//! `net`: figures about peers. A node has none on this protocol.

use std::sync::Arc;

use esker_rpc::{MethodTable, Service};

use crate::reads::ReadApi;
use crate::wire::Uint;

/// The methods of the service `net`.
pub fn service(reads: &Arc<ReadApi>) -> Service {
    MethodTable::new("net")
        .on_list("listening", |_: &ReadApi, ()| Ok(true))
        .on_list("peerCount", |_: &ReadApi, ()| Ok(Uint(0)))
        .on_list("version", |reads: &ReadApi, ()| Ok(reads.config.net_version.clone()))
        .bind(Arc::clone(reads))
}
