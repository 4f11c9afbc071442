//! `net`: what is said of peers, of which there are none.

use std::sync::Arc;

use esker_rpc::{MethodTable, Service};

use crate::Reads;
use crate::wire::Uint;

/// The methods of the service `net`.
pub fn service(reads: &Arc<Reads>) -> Service {
    MethodTable::new("net")
        .on_list("listening", |_: &Reads, ()| Ok(true))
        .on_list("peerCount", |_: &Reads, ()| Ok(Uint(0)))
        .on_list("version", |reads: &Reads, ()| Ok(reads.config.net_version.clone()))
        .bind(Arc::clone(reads))
}
