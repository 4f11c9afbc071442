//! Final bundles for marshal.

use std::sync::Arc;

use commonware_consensus::Heightable;
use commonware_consensus::marshal::store::Blocks;
use commonware_consensus::types::Height;
use commonware_runtime::buffer::paged::CacheRef;
use commonware_runtime::{Clock, Handle, Metrics, Storage};
use commonware_storage::archive::{Archive, Identifier};

use super::{FinalBundles, Recent, StoreError, open, pruned_below};
use crate::block::{BundleBlock, Digest, MAX_NETWORK_BUNDLE, id_of};

/// The machine's final bundles, and an archive of those that marshal has and the machine does not have yet.
pub(crate) struct BundleStore<E: Storage + Metrics + Clock> {
    finals: Arc<FinalBundles<E>>,
    recent: Recent<E, Arc<BundleBlock>>,
}

impl<E: Storage + Metrics + Clock> BundleStore<E> {
    pub(crate) async fn open(
        context: E,
        partition: &str,
        finals: Arc<FinalBundles<E>>,
        cache: CacheRef,
    ) -> Result<Self, StoreError> {
        let recent =
            open(context, format!("{partition}bundles"), cache, MAX_NETWORK_BUNDLE).await?;
        Ok(Self { finals, recent })
    }

    fn last(&self) -> u64 {
        self.finals.last()
    }
}

impl<E: Storage + Metrics + Clock> Blocks for BundleStore<E> {
    type Block = Arc<BundleBlock>;
    type Error = StoreError;

    async fn put(mut self, digest: Digest, block: &Arc<BundleBlock>) -> Result<Self, StoreError> {
        let (height, last) = (block.height().get(), self.last());
        if height <= last {
            return Ok(self);
        }
        self.recent = Archive::put(self.recent, height, digest, block).await?;
        if let Some(min) = pruned_below(height, last) {
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

    async fn get(
        &self,
        id: Identifier<'_, Digest>,
    ) -> Result<Option<Arc<BundleBlock>>, StoreError> {
        let height = match id {
            Identifier::Index(height) => Some(height),
            Identifier::Key(digest) => self.finals.height_of(&id_of(digest)).await?,
        };
        // The machine first: what it has may be pruned from the archive at any time.
        if let Some(height) = height.filter(|height| *height <= self.last()) {
            let stored = self.finals.bundle_at(height).await?;
            return Ok(stored.map(|(bundle, _)| Arc::new(BundleBlock::new(bundle))));
        }
        Ok(Archive::get(&self.recent, id).await?)
    }

    async fn prune(self, _: Height) -> Result<Self, StoreError> {
        // The machine keeps its bundles, and the archive prunes itself.
        Ok(self)
    }

    fn missing_items(&self, start: Height, max: usize) -> Vec<Height> {
        let start = start.get().max(self.last().saturating_add(1));
        Archive::missing_items(&self.recent, start, max).into_iter().map(Height::new).collect()
    }

    fn next_gap(&self, value: Height) -> (Option<Height>, Option<Height>) {
        let last = self.last();
        let (end, next) = Archive::next_gap(&self.recent, value.get().max(last.saturating_add(1)));
        let end = if value.get() <= last { Some(end.unwrap_or(last)) } else { end };
        (end.map(Height::new), next.map(Height::new))
    }

    fn last_index(&self) -> Option<Height> {
        let recent = Archive::last_index(&self.recent).unwrap_or(0);
        Some(Height::new(self.last().max(recent)))
    }
}
