//! Certificates for marshal.

use std::sync::Arc;

use commonware_consensus::marshal::store::Certificates;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::types::Height;
use commonware_runtime::buffer::paged::CacheRef;
use commonware_runtime::{Clock, Handle, Metrics, Storage};
use commonware_storage::archive::{Archive, Identifier};
use esker_validators::MAX_VALIDATORS;

use super::{Certificate, FinalBundles, Recent, StoreError, open, pruned_below};
use crate::block::{Digest, id_of};

/// The proofs of the machine's final bundles, and an archive of the last ones. A bundle that became final through a
/// later one may have none.
pub(crate) struct CertificateStore<E: Storage + Metrics + Clock> {
    finals: Arc<FinalBundles<E>>,
    recent: Recent<E, Certificate>,
    /// The highest bundle with a proof when the engine started.
    newest: Option<u64>,
}

impl<E: Storage + Metrics + Clock> CertificateStore<E> {
    /// `newest` is the highest bundle with a proof.
    pub(crate) async fn open(
        context: E,
        partition: &str,
        (finals, newest): (Arc<FinalBundles<E>>, Option<u64>),
        cache: CacheRef,
    ) -> Result<Self, StoreError> {
        let name = format!("{partition}certificates");
        let recent = open(context, name, cache, MAX_VALIDATORS).await?;
        Ok(Self { finals, recent, newest })
    }
}

impl<E: Storage + Metrics + Clock> Certificates for CertificateStore<E> {
    type BlockDigest = Digest;
    type Commitment = Digest;
    type Scheme = Scheme;
    type Error = StoreError;

    async fn put(
        mut self,
        height: Height,
        digest: Digest,
        certificate: &Certificate,
    ) -> Result<Self, StoreError> {
        let height = height.get();
        self.recent = Archive::put(self.recent, height, digest, certificate).await?;
        if let Some(min) = pruned_below(height, self.finals.last()) {
            self.recent = self.recent.prune(min).await?;
        }
        Ok(self)
    }

    async fn sync(mut self) -> Result<Self, StoreError> {
        self.recent = Archive::sync(self.recent).await?;
        Ok(self)
    }

    async fn start_sync(mut self) -> Result<(Self, Handle<()>), StoreError> {
        let (recent, synced) = Archive::start_sync(self.recent).await?;
        self.recent = recent;
        Ok((self, synced))
    }

    async fn get(&self, id: Identifier<'_, Digest>) -> Result<Option<Certificate>, StoreError> {
        let height = match &id {
            Identifier::Index(height) => Some(*height),
            Identifier::Key(digest) => self.finals.height_of(&id_of(digest)).await?,
        };
        if let Some(certificate) = Archive::get(&self.recent, id).await? {
            return Ok(Some(certificate));
        }
        match height {
            Some(height) => self.finals.proof_at(height).await,
            None => Ok(None),
        }
    }

    async fn has(&self, height: Height) -> Result<bool, StoreError> {
        if Archive::has(&self.recent, Identifier::Index(height.get())).await? {
            return Ok(true);
        }
        Ok(self.finals.proof_at(height.get()).await?.is_some())
    }

    async fn prune(self, _: Height) -> Result<Self, StoreError> {
        // The machine keeps its proofs, and the archive prunes itself.
        Ok(self)
    }

    fn last_index(&self) -> Option<Height> {
        Archive::last_index(&self.recent).max(self.newest).map(Height::new)
    }

    fn ranges_from(&self, from: Height) -> impl Iterator<Item = (Height, Height)> {
        let from = from.get();
        let first = Archive::first_index(&self.recent);
        // Only the newest one of the machine's: marshal looks for the newest certificate below a height.
        let newest = self
            .newest
            .filter(|height| *height >= from && first.is_none_or(|first| *height < first));
        let recent = Archive::ranges_from(&self.recent, from);
        let ranges = newest.map(|height| (height, height)).into_iter().chain(recent);
        ranges.map(|(start, end)| (Height::new(start), Height::new(end)))
    }
}
