//! Keys, passwords and folders for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_evm::accounts::AccountKey;
use esker_key_directory::{KeyDirectory, KeyDirectoryConfig, ScryptCost};
use esker_keystore::HashLimits;
use esker_primitives::clock::ManualClock;
use esker_primitives::{Password, PrivateKey, Randomness};
use tempfile::TempDir;

/// So cheap that a test may have many.
pub(crate) fn cheap() -> ScryptCost {
    ScryptCost::new(2, 1, 1).unwrap()
}

pub(crate) fn password(text: &str) -> Password {
    text.to_owned().into()
}

pub(crate) fn key(byte: u8) -> AccountKey {
    AccountKey::new(private_key(byte))
}

pub(crate) fn private_key(byte: u8) -> PrivateKey {
    PrivateKey::from_slice(&[byte; 32]).unwrap()
}

/// Bytes that are never the same twice.
pub(crate) fn randomness() -> Randomness {
    let next = AtomicU64::new(1);
    Arc::new(move |bytes: &mut [u8]| {
        for part in bytes.chunks_mut(8) {
            let n = next.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            part.copy_from_slice(&n.to_be_bytes()[..part.len()]);
        }
    })
}

/// A folder of keys, its path and its clock.
pub(crate) struct Opened {
    pub(crate) keys: KeyDirectory,
    pub(crate) folder: TempDir,
    pub(crate) clock: ManualClock,
}

pub(crate) fn open() -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new(1_700_000_000_000);
    let keys = reopen(&folder, &clock);
    Opened { keys, folder, clock }
}

pub(crate) fn reopen(folder: &TempDir, clock: &ManualClock) -> KeyDirectory {
    let config = KeyDirectoryConfig {
        folder: folder.path().join("data/keys"),
        cost: cheap(),
        limits: HashLimits::default(),
    };
    KeyDirectory::open(config, Arc::new(clock.clone()), randomness())
}
