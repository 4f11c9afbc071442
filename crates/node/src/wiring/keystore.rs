//! The keystore over the node's store, and its endpoint where it is switched on.

use std::sync::Arc;

use esker_http::{Endpoint, RouteError, Routes};
use esker_keystore::{Keystore, KeystoreService, methods};
use esker_primitives::{Clock, Randomness};
use esker_storage::Store;

use crate::config::Config;

/// The system's randomness. A system that has none can't make keys: nothing goes on then.
pub fn randomness() -> Randomness {
    use rand::TryRngCore as _;
    Arc::new(|bytes: &mut [u8]| {
        rand::rngs::OsRng.try_fill_bytes(bytes).expect("the system gives random bytes");
    })
}

/// The users of this node; without any where the keystore is off.
pub(super) fn open(config: &Config, store: &Store, clock: &Arc<dyn Clock>) -> Arc<Keystore> {
    match config.keystore_enabled() {
        true => Keystore::new(store.clone(), randomness(), Arc::clone(clock), config.hash_limits()),
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
            routes.node("keystore", Endpoint::Object(service))?;
        }
    }
    Ok(())
}
