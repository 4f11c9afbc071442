//! Users over a real store: what the methods promise, and what lies on disk.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod blobs;
mod disk;
mod guesses;
mod users;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_keystore::{HashLimits, Keystore, Password};
use esker_primitives::ClientAddress;
use esker_primitives::Randomness;
use esker_primitives::clock::ManualClock;
use esker_primitives::hash::sha256;
use esker_storage::Store;

pub(crate) const STRONG: &str = "Str0ng-Pass-W0rd!";

pub(crate) const IN_PROCESS: ClientAddress = ClientAddress::IN_PROCESS;

/// Bytes that differ at each call and are the same at each run.
pub(crate) fn seeded() -> Randomness {
    let calls = AtomicU64::new(0);
    Arc::new(move |bytes: &mut [u8]| {
        for chunk in bytes.chunks_mut(32) {
            let block = sha256(&calls.fetch_add(1, Ordering::Relaxed).to_be_bytes());
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    })
}

pub(crate) fn on(store: Store) -> Arc<Keystore> {
    Keystore::new(store, seeded(), Arc::new(ManualClock::default()), HashLimits::default())
}

pub(crate) fn in_memory() -> Arc<Keystore> {
    on(Store::memory().unwrap())
}

pub(crate) fn password(text: &str) -> Password {
    text.to_owned().into()
}

/// A store in a folder, as a node opens it.
pub(crate) fn disk_store(folder: &std::path::Path) -> Store {
    let options = esker_storage::meta::OpenOptions::TEST;
    Store::new(Arc::new(esker_storage::meta::open_dir(folder, &options).unwrap())).unwrap()
}
