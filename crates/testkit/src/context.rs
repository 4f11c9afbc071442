//! What a chain knows of its node.

use std::sync::Arc;

use esker_chain::{ChainContext, FixedAliases};
use esker_primitives::{Clock, Id};
use esker_storage::{Scope, Store};

/// The context of a chain of the network 12345 that has no peers and no names.
pub fn chain_context(
    chain_id: Id,
    scope: Scope,
    clock: Arc<dyn Clock>,
    store: Store,
) -> ChainContext {
    ChainContext {
        network_id: 12345,
        hrp: "local".to_owned(),
        chain_id,
        scope,
        native_asset_id: Id::ZERO,
        native_aliases: Vec::new(),
        aliases: Arc::new(FixedAliases::default()),
        clock,
        store,
        peers: Arc::default(),
        work: Arc::default(),
        forwarding: None,
        exchange: None,
        block_waits: None,
        impersonations: None,
    }
}
