//! The beginning of a validator, by the final bundles of its machine.

use commonware_consensus::Epochable as _;
use commonware_consensus::marshal::Start;
use commonware_consensus::simplex::Floor;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_cryptography::Digested;
use commonware_cryptography::certificate::Provider as _;
use commonware_parallel::Sequential;
use commonware_runtime::Clock;
use esker_chain::{Bundle, EngineError};
use rand_core::CryptoRng;

use crate::block::{BundleBlock, Digest, digest_of};
use crate::changes::{ChangeState, Schemes};
use crate::store::{Certificate, FinalBundles};

/// The beginning of a start when the engine's folder is new.
pub(super) enum Origin {
    Genesis,
    /// Height and certificate of the newest final bundle that has one.
    Final(u64, Certificate),
}

/// The beginning of marshal's deliveries.
pub(super) type Deliveries = Start<Scheme, Digest, Digested<BundleBlock>>;

/// The beginning of the votes.
pub(super) type Votes = Floor<Scheme, Digest>;

impl Origin {
    /// Finds the origin. A store of final bundles without a certificate does not come from this network.
    pub(super) async fn find(finals: &FinalBundles<impl Clock>) -> Result<Self, EngineError> {
        let last = finals.last();
        if last == 0 {
            return Ok(Self::Genesis);
        }
        match finals.newest_proof().await? {
            Some((height, certificate)) => Ok(Self::Final(height, certificate)),
            None => Err(EngineError::Protocol(format!(
                "none of the last bundles up to {last} has a certificate of this network's validators"
            ))),
        }
    }

    /// The highest bundle with a certificate.
    pub(super) const fn newest(&self) -> Option<u64> {
        match self {
            Self::Genesis => None,
            Self::Final(height, _) => Some(*height),
        }
    }

    /// Checks that validators of this network made the certificate.
    pub(super) fn check(
        &self,
        rng: &mut impl CryptoRng,
        changes: &ChangeState,
        schemes: &Schemes,
    ) -> Result<(), EngineError> {
        let Self::Final(_, certificate) = self else { return Ok(()) };
        let of = certificate.epoch().get();
        let known = changes.with_history(|history| history.newest_epoch());
        if of > known {
            return Err(EngineError::Protocol(format!(
                "the last bundle was decided in epoch {of}, but changes of the validators are known up to epoch {known}: \
                 give the others (--validator-changes)"
            )));
        }
        let scheme = schemes.scoped(certificate.epoch());
        if !scheme.is_some_and(|scheme| certificate.verify(rng, &scheme, &Sequential)) {
            let text = "the certificate of the last bundle is not of this network's validators";
            return Err(EngineError::Protocol(text.to_owned()));
        }
        Ok(())
    }

    /// The height at which marshal and the votes of this epoch begin.
    pub(super) async fn begin(
        self,
        epoch: u64,
        changes: &ChangeState,
        finals: &FinalBundles<impl Clock>,
        genesis: Bundle,
    ) -> Result<(Deliveries, Votes), EngineError> {
        match self {
            Self::Genesis => {
                let digest = digest_of(&genesis.id());
                let anchor = Digested::precomputed(BundleBlock::new(genesis), digest);
                Ok((Start::Genesis(anchor), Floor::Genesis(digest)))
            }
            Self::Final(_, certificate) if certificate.epoch().get() == epoch => {
                Ok((Start::Floor(certificate.clone()), Floor::Finalized(certificate)))
            }
            // Nothing of this epoch has a certificate yet: it begins on the last bundle of the one before.
            Self::Final(_, certificate) => {
                let first =
                    changes.with_history(|history| history.set(epoch).map_or(0, |set| set.first));
                let last = first.saturating_sub(1);
                let stored = finals.bundle_at(last).await?;
                let (bundle, _) = stored.ok_or_else(|| {
                    EngineError::Protocol(format!(
                        "bundle {last}, the last one of an epoch, is missing"
                    ))
                })?;
                Ok((Start::Floor(certificate), Floor::Genesis(digest_of(&bundle.id()))))
            }
        }
    }
}
