//! Reads final bundles and their certificates from the machine.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use commonware_codec::Decode;
use commonware_runtime::Clock;
use esker_chain::{Bundle, BundleId, ChainError, ChainMachine};
use esker_validators::MAX_VALIDATORS;
use tracing::warn;

use super::{Certificate, StoreError};
use crate::block::digest_of;
use crate::log_limit::LogLimit;

/// Bundles below the last one in which the newest certificate is looked for.
const MAX_SEARCH: u64 = 1024;

/// Delay before a read that may succeed later is repeated.
const RETRY: Duration = Duration::from_millis(100);

/// The machine's final bundles. While its store can't be read for a moment, reads wait: marshal takes an error of its stores
/// for the end.
pub(crate) struct FinalBundles<E> {
    machine: Arc<dyn ChainMachine>,
    clock: E,
    lines: LogLimit<()>,
}

impl<E> fmt::Debug for FinalBundles<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FinalBundles")
    }
}

impl<E: Clock> FinalBundles<E> {
    pub(crate) fn new(machine: Arc<dyn ChainMachine>, clock: E) -> Self {
        Self { machine, clock, lines: LogLimit::new() }
    }

    pub(crate) const fn clock(&self) -> &E {
        &self.clock
    }

    /// Height of the last one.
    pub(crate) fn last(&self) -> u64 {
        self.machine.last_final().0
    }

    /// Like [`ChainMachine::bundle_at`].
    pub(crate) async fn bundle_at(
        &self,
        height: u64,
    ) -> Result<Option<(Bundle, Option<Bytes>)>, ChainError> {
        self.read(|machine| machine.bundle_at(height)).await
    }

    /// Like [`ChainMachine::height_of`].
    pub(crate) async fn height_of(&self, id: &BundleId) -> Result<Option<u64>, ChainError> {
        self.read(|machine| machine.height_of(id)).await
    }

    /// The certificate of a bundle. One that became final through a later one may have none.
    pub(crate) async fn proof_at(&self, height: u64) -> Result<Option<Certificate>, StoreError> {
        let Some((bundle, Some(proof))) = self.bundle_at(height).await? else { return Ok(None) };
        let failed = |error| StoreError::Certificate { height, error };
        // Of all epochs, whose validators may be more or fewer.
        let certificate = Certificate::decode_cfg(proof, &MAX_VALIDATORS).map_err(failed)?;
        Ok((certificate.proposal.payload == digest_of(&bundle.id())).then_some(certificate))
    }

    /// The newest certificate among the last ones, and its height.
    pub(crate) async fn newest_proof(&self) -> Result<Option<(u64, Certificate)>, StoreError> {
        let last = self.last();
        for height in (last.saturating_sub(MAX_SEARCH)..=last).rev() {
            if let Some(certificate) = self.proof_at(height).await? {
                return Ok(Some((height, certificate)));
            }
        }
        Ok(None)
    }

    async fn read<T>(
        &self,
        read: impl Fn(&dyn ChainMachine) -> Result<T, ChainError>,
    ) -> Result<T, ChainError> {
        loop {
            match read(self.machine.as_ref()) {
                Err(error) if error.is_temporary() => {
                    if let Some(omitted) = self.lines.next(&()) {
                        warn!(%error, omitted, "a final bundle can't be read; trying again");
                    }
                    self.clock.sleep(RETRY).await;
                }
                done => return done,
            }
        }
    }
}
