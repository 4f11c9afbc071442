//! Where a node keeps the agreed changes of its network's validators: a table of the store, so that a backup has them, and
//! a crash keeps all or nothing of one. And what a follower knows of the validators by them.

use std::fmt;
use std::ops::ControlFlow;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{Bundle, BundleId, ProofError, ProofVerifier};
use esker_engine_bft::{CertificateVerifier, ChangeHistory, ChangeLog};
use esker_follow::{ChangeRefusal, FollowedValidators};
use esker_primitives::Randomness;
use esker_primitives::sync::Mutex;
use esker_storage::{Scope, StorageResult, Store, Table, WriteSet};

use crate::networks::Network;

/// Signed changes of the validators by the epoch that they begin.
pub(crate) const VALIDATOR_CHANGES: Table<u64, Bytes> = Table::new(0x40, "validator-change");

/// The changes in a node's store.
#[derive(Clone)]
pub struct StoreChangeLog(Store);

impl StoreChangeLog {
    /// Those of this store.
    #[must_use]
    pub const fn new(store: Store) -> Self {
        Self(store)
    }

    /// All changes in order.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn all(&self) -> StorageResult<Vec<Bytes>> {
        self.from_epoch(0, usize::MAX)
    }

    /// At most so many changes, from the one that begins this epoch on.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn from_epoch(&self, epoch: u64, most: usize) -> StorageResult<Vec<Bytes>> {
        let reader = self.0.snapshot()?;
        let from = VALIDATOR_CHANGES.key(Scope::NODE, &epoch);
        let from = &from[VALIDATOR_CHANGES.prefix(Scope::NODE).len()..];
        let mut changes = Vec::new();
        VALIDATOR_CHANGES.scan(&*reader, Scope::NODE, &[], Some(from), |_, document| {
            if changes.len() >= most {
                return ControlFlow::Break(());
            }
            changes.push(Bytes::copy_from_slice(document));
            ControlFlow::Continue(())
        })?;
        Ok(changes)
    }
}

#[async_trait]
impl ChangeLog for StoreChangeLog {
    fn read(&self) -> Result<Vec<Bytes>, String> {
        self.all().map_err(|error| error.to_string())
    }

    async fn append(&self, epoch: u64, document: &[u8]) -> Result<(), String> {
        let mut writes = WriteSet::default();
        let document = Bytes::copy_from_slice(document);
        VALIDATOR_CHANGES.put(&mut writes, Scope::NODE, &epoch, &document);
        self.0.commit(writes).await.map_err(|error| error.to_string())
    }
}

impl fmt::Debug for StoreChangeLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreChangeLog")
    }
}

/// The validators of a network as a follower knows them: those of the network file, and those of the changes in its store.
pub(crate) struct KnownValidators {
    history: Mutex<ChangeHistory>,
    verifier: CertificateVerifier,
    log: StoreChangeLog,
}

impl KnownValidators {
    /// Reads what the store has. `None`: the network has no validators.
    ///
    /// # Errors
    /// A stored change is not one of this network.
    pub(crate) fn open(
        network: &Network,
        genesis: BundleId,
        randomness: &Randomness,
        store: &Store,
    ) -> Result<Option<Self>, String> {
        if network.validators.is_empty() {
            return Ok(None);
        }
        let log = StoreChangeLog::new(store.clone());
        let stored = log.read()?;
        let members = network.validators.members.clone();
        let keys: Vec<_> = members.iter().map(|(key, _)| *key).collect();
        let history = ChangeHistory::new(network.id, genesis, members);
        let mut history = history.map_err(|error| error.to_string())?;
        let verifier = CertificateVerifier::new(network.id, genesis, &keys, randomness.clone());
        let verifier = verifier.map_err(|error| error.to_string())?;
        for document in stored {
            history.append(&document).map_err(|error| error.to_string())?;
        }
        verifier.add_committees(&history).map_err(|error| error.to_string())?;
        let history = Mutex::new_named("node.validators", history);
        Ok(Some(Self { history, verifier, log }))
    }
}

impl ProofVerifier for KnownValidators {
    fn verify(&self, bundle: &Bundle, proof: &[u8]) -> Result<(), ProofError> {
        ProofVerifier::verify(&self.verifier, bundle, proof)
    }

    fn verify_all(&self, proven: &[(&Bundle, &[u8])]) -> Result<(), (usize, ProofError)> {
        ProofVerifier::verify_all(&self.verifier, proven)
    }
}

#[async_trait]
impl FollowedValidators for KnownValidators {
    fn next_epoch(&self) -> u64 {
        self.history.lock().newest_epoch().saturating_add(1)
    }

    async fn append(&self, changes: &[Bytes]) -> Result<usize, ChangeRefusal> {
        let mut history = self.history.lock().clone();
        let mut count = 0;
        for document in changes {
            let invalid = |reason: String| ChangeRefusal::Invalid(reason);
            if !history.append(document).map_err(|error| invalid(error.to_string()))? {
                continue;
            }
            let (epoch, newest) = (history.newest_epoch(), history.first_height());
            self.log.append(epoch, document).await.map_err(ChangeRefusal::Storage)?;
            let added = self.verifier.add_committees(&history);
            added.map_err(|error| invalid(error.to_string()))?;
            *self.history.lock() = history.clone();
            tracing::info!(epoch, first_height = newest, "a change of the validators is known");
            count += 1;
        }
        Ok(count)
    }
}

impl fmt::Debug for KnownValidators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownValidators").field("next_epoch", &self.next_epoch()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn changes_are_read_in_order() {
        let log = StoreChangeLog::new(Store::memory().unwrap());
        assert_eq!(log.read().unwrap(), Vec::<Bytes>::new());
        for (epoch, document) in [(1, b"one"), (2, b"two"), (300, b"end")] {
            log.append(epoch, document).await.unwrap();
        }
        assert_eq!(log.read().unwrap(), ["one", "two", "end"]);
        assert_eq!(log.from_epoch(2, 1).unwrap(), ["two"]);
        assert_eq!(log.from_epoch(3, 9).unwrap(), ["end"]);
        assert_eq!(log.from_epoch(301, 9).unwrap(), Vec::<Bytes>::new());
    }
}
