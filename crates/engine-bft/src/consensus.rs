//! The port of the node to a consensus library, filled with Commonware.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use esker_chain::{Bundle, BundleId, ProofError, ProofVerifier};
use esker_primitives::Randomness;
use esker_primitives::sync::Mutex;
use esker_validators::{
    ChangeError, Committees, CommitteesError, Consensus, ValidatorAddress, ValidatorConfig,
    ValidatorEngine, ValidatorPublicKey, VerifiedChange,
};

use crate::certificate::CertificateVerifier;
use crate::changes::ChangeHistory;
use crate::engine::BftEngine;

/// Commonware simplex.
#[derive(Clone, Copy, Debug)]
pub struct Simplex;

impl Consensus for Simplex {
    fn engine(&self, config: ValidatorConfig) -> Arc<dyn ValidatorEngine> {
        Arc::new(BftEngine::new(config))
    }

    fn committees(
        &self,
        (network, genesis): (u32, BundleId),
        members: Vec<(ValidatorPublicKey, ValidatorAddress)>,
        changes: &[Bytes],
        randomness: Randomness,
    ) -> Result<Arc<dyn Committees>, CommitteesError> {
        let invalid = |reason: &dyn fmt::Display| CommitteesError::Members(reason.to_string());
        let keys: Vec<_> = members.iter().map(|(key, _)| *key).collect();
        let history = ChangeHistory::new(network, genesis, members);
        let mut history = history.map_err(|error| invalid(&error))?;
        let verifier = CertificateVerifier::new(network, genesis, &keys, randomness);
        let verifier = verifier.map_err(|error| invalid(&error))?;
        for document in changes {
            history.append(document)?;
        }
        verifier.add_committees(&history).map_err(|error| invalid(&error))?;
        let history = Mutex::new_named("engine_bft.committee_history", history);
        Ok(Arc::new(KnownCommittees { history, verifier }))
    }
}

/// The validators since the first bundle, and what checks their certificates.
struct KnownCommittees {
    history: Mutex<ChangeHistory>,
    verifier: CertificateVerifier,
}

impl ProofVerifier for KnownCommittees {
    fn verify(&self, bundle: &Bundle, proof: &[u8]) -> Result<(), ProofError> {
        ProofVerifier::verify(&self.verifier, bundle, proof)
    }

    fn verify_all(&self, proven: &[(&Bundle, &[u8])]) -> Result<(), (usize, ProofError)> {
        ProofVerifier::verify_all(&self.verifier, proven)
    }
}

impl Committees for KnownCommittees {
    fn newest_epoch(&self) -> u64 {
        self.history.lock().newest_epoch()
    }

    fn verify_change(&self, document: &[u8]) -> Result<Option<VerifiedChange>, ChangeError> {
        // Signatures are verified without the lock.
        let history = self.history.lock().clone();
        history.verify(document)
    }

    fn add_change(&self, verified: VerifiedChange) -> Result<(), ChangeError> {
        let mut history = self.history.lock();
        let mut next = history.clone();
        next.add(verified)?;
        // The history checked the set and its place.
        let added = self.verifier.add_committees(&next);
        added.map_err(|_| ChangeError::Form("its set is none"))?;
        *history = next;
        Ok(())
    }
}

impl fmt::Debug for KnownCommittees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownCommittees").field("newest_epoch", &self.newest_epoch()).finish()
    }
}
