//! Keeps the agreed changes of its network's validators in a table of the store. A backup therefore has them, and a
//! crash leaves all or nothing of a change. This file also has the validators that a follower knows by these changes.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{Bundle, BundleId, ProofError, ProofVerifier};
use esker_follow::{ChangeRefusal, FollowedValidators};
use esker_settings::networks::Network;
use esker_storage::{Scope, StorageResult, Store, Table, WriteSet};
use esker_validators::{ChangeError, ChangeLog, Committees, Consensus, SetChange};
use thiserror::Error;

use crate::environment::Environment;

/// Signed changes of the validators by the epoch that they begin.
pub(crate) const VALIDATOR_CHANGES: Table<u64, Bytes> = Table::new(0x40, "validator-change");

/// The reason why a node can't take part in a network with validators.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValidatorsError {
    /// The program was built without them.
    #[error(
        "network \"{0}\" has validators, and this program was built without them: build it with \
         `cargo build --release --features validators`"
    )]
    NotBuilt(String),
    /// The changes in the store don't follow the network file.
    #[error("the folder's changes of the validators are not those of this network file: {0}")]
    Changes(String),
}

/// The consensus library that a network with validators needs.
///
/// # Errors
/// The program was built without one.
pub(crate) fn consensus<'a>(
    environment: &'a Environment,
    network: &Network,
) -> Result<&'a dyn Consensus, ValidatorsError> {
    let not_built = || ValidatorsError::NotBuilt(network.name.clone());
    environment.consensus.as_deref().ok_or_else(not_built)
}

/// The changes in a node's store.
#[derive(Clone)]
pub struct StoreChangeLog(Store);

impl StoreChangeLog {
    /// The changes in this store.
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

    /// At most this many changes, from the one that begins this epoch on.
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
    fn read(&self) -> StorageResult<Vec<Bytes>> {
        self.all()
    }

    async fn append(&self, epoch: u64, document: &[u8]) -> StorageResult<()> {
        let mut writes = WriteSet::default();
        let document = Bytes::copy_from_slice(document);
        VALIDATOR_CHANGES.put(&mut writes, Scope::NODE, &epoch, &document);
        self.0.commit(writes).await
    }
}

impl fmt::Debug for StoreChangeLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreChangeLog")
    }
}

/// The validators of a network as a follower knows them: those of the network file and of the changes in its store.
pub(crate) struct KnownValidators {
    committees: Arc<dyn Committees>,
    log: StoreChangeLog,
}

impl KnownValidators {
    /// Reads the changes in the store. `None`: the network has no validators.
    ///
    /// # Errors
    /// This build has no validators, or a stored change is not one of this network.
    pub(crate) fn open(
        network: &Network,
        genesis: BundleId,
        environment: &Environment,
        store: &Store,
    ) -> Result<Option<Self>, ValidatorsError> {
        if network.validators.is_empty() {
            return Ok(None);
        }
        let consensus = consensus(environment, network)?;
        let log = StoreChangeLog::new(store.clone());
        let stored = log.read().map_err(|error| ValidatorsError::Changes(error.to_string()))?;
        let members = network.validators.members.clone();
        let randomness = environment.randomness.clone();
        let committees = consensus.committees((network.id, genesis), members, &stored, randomness);
        let committees = committees.map_err(|error| ValidatorsError::Changes(error.to_string()))?;
        Ok(Some(Self { committees, log }))
    }
}

impl ProofVerifier for KnownValidators {
    fn verify(&self, bundle: &Bundle, proof: &[u8]) -> Result<(), ProofError> {
        self.committees.verify(bundle, proof)
    }

    fn verify_all(&self, proven: &[(&Bundle, &[u8])]) -> Result<(), (usize, ProofError)> {
        self.committees.verify_all(proven)
    }
}

#[async_trait]
impl FollowedValidators for KnownValidators {
    fn next_epoch(&self) -> u64 {
        self.committees.newest_epoch().saturating_add(1)
    }

    async fn append(&self, changes: &[Bytes]) -> Result<usize, ChangeRefusal> {
        let mut count = 0;
        for document in changes {
            let invalid = |error: ChangeError| ChangeRefusal::Invalid(error.to_string());
            let verified = self.committees.verify_change(document).map_err(invalid)?;
            let Some(verified) = verified else { continue };
            let SetChange { epoch, first_height, .. } = *verified.change();
            let stored = self.log.append(epoch, document).await;
            stored.map_err(|error| ChangeRefusal::Storage(error.to_string()))?;
            self.committees.add_change(verified).map_err(invalid)?;
            tracing::info!(epoch, first_height, "a change of the validators is known");
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
