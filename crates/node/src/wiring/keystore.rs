//! Opens the keystore over the node's store, and adds its endpoint if enabled.

use std::sync::Arc;

use esker_http::{RouteError, Routes};
use esker_keystore::{Keystore, KeystoreService, methods};
use esker_settings::config::Config;
use esker_storage::Store;

use crate::discovery::node_endpoint;
use crate::environment::Environment;

/// The keystore of this node; a disabled one has no users.
pub(super) fn open(config: &Config, store: &Store, environment: &Environment) -> Arc<Keystore> {
    match config.keystore_enabled() {
        true => {
            let Environment { clock, randomness, .. } = environment.clone();
            Keystore::new(store.clone(), randomness, clock, config.hash_limits())
        }
        false => Keystore::disabled(),
    }
}

/// `/ext/keystore`.
pub(super) fn add_endpoint(
    config: &Config,
    keystore: Arc<Keystore>,
    routes: &Routes,
) -> Result<(), RouteError> {
    match config.keystore_off() {
        Some(reason) => routes.switched_off("keystore", reason),
        None => {
            let service = methods().bind(KeystoreService::new(keystore));
            routes.node("keystore", node_endpoint("keystore", service))?;
        }
    }
    Ok(())
}
