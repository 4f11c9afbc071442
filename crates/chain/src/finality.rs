//! The proof that a bundle is final, on networks where several nodes decide.

use std::fmt;

use thiserror::Error;

use crate::bundle::Bundle;

/// The reason why a proof does not show that a bundle is final.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ProofError(pub String);

/// Checks the proofs that come with final bundles of a network.
pub trait ProofVerifier: fmt::Debug + Send + Sync + 'static {
    /// Checks that a proof shows that this bundle is final, and with it its ancestors.
    ///
    /// # Errors
    /// It does not.
    fn verify(&self, bundle: &Bundle, proof: &[u8]) -> Result<(), ProofError>;

    /// Checks several bundles with their proofs, which may cost less than one after the other.
    ///
    /// # Errors
    /// The index of the first proof that does not show that its bundle is final.
    fn verify_all(&self, proven: &[(&Bundle, &[u8])]) -> Result<(), (usize, ProofError)> {
        for (index, (bundle, proof)) in proven.iter().enumerate() {
            self.verify(bundle, proof).map_err(|error| (index, error))?;
        }
        Ok(())
    }
}
