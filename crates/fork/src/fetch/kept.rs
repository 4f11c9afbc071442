//! Forks of what was kept: a data folder, or a pack. They need no source.

use std::path::Path;
use std::sync::Arc;

use alloy_primitives::B256;

use super::context::{Caches, Context, OfflineFile};
use super::fork::{Fork, OpenedFork, usable};
use super::options::{ForkOptions, Trust};
use super::shelf::open_shared;
use crate::cache::{Cache, CacheOptions, OpenedCache, read_facts};
use crate::error::ForkError;
use crate::state::{Fact, KnownState};

/// The block that a data folder was made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptBlock {
    /// The chain's ID.
    pub chain_id: u64,
    /// The block's hash.
    pub hash: B256,
    /// Whether its values are proved; `None`: as its cache shows.
    pub is_proven: Option<bool>,
}

impl Fork {
    /// The fork of a kept block, without a source.
    ///
    /// # Errors
    /// The cache has no file of the block, or one whose block is damaged.
    pub async fn open_kept(
        kept: KeptBlock,
        options: ForkOptions,
        cache: &CacheOptions,
    ) -> Result<OpenedFork, ForkError> {
        let cache = cache.clone();
        let opening = move || Cache::reopen(&cache, kept.chain_id, kept.hash);
        let opening = tokio::task::spawn_blocking(opening).await;
        let (pin, opened) = opening.map_err(|_| ForkError::Cancelled)??;
        let OpenedCache { cache, facts, damaged } = opened;
        for fault in &damaged {
            tracing::warn!(%fault, "a record of the fork's cache is damaged");
        }
        let trust = match kept.is_proven.unwrap_or_else(|| has_proofs(&facts)) {
            true => Trust::Proven,
            false => Trust::Claimed("the data folder has values without proofs".to_owned()),
        };
        let known = KnownState::new(options.max_state_bytes, &pin);
        let new = known.insert(usable(facts, &trust));
        let new = new.ok_or(ForkError::Full(options.max_state_bytes))?;
        let shared = open_shared(&options, &pin, &trust, "", new).await?;
        let file = Some(OfflineFile::Folder(cache.path().to_owned()));
        let cache = Some(Arc::new(cache));
        let caches = Caches { file, cache, shared };
        let context = Context::new((pin, known), None, caches, (options, trust));
        Ok(OpenedFork { fork: Self::of(context), damaged })
    }

    /// A fork of a pack, without a source. Each record is checked. The values are added to the cache, if there is one.
    ///
    /// # Errors
    /// The file can't be read, or has a fault; the cache can't be opened.
    pub fn open_pack(
        path: &Path,
        options: ForkOptions,
        cache: Option<&CacheOptions>,
    ) -> Result<Self, ForkError> {
        let (summary, facts) = read_facts(path, options.max_state_bytes as u64)?;
        if !options.accepts_unknown_header {
            summary.check_header(path)?;
        }
        let trust = match summary.is_verified() {
            true => Trust::Proven,
            false => Trust::Claimed("the pack has values without proofs".to_owned()),
        };
        let pin = summary.pin;
        let known = KnownState::new(options.max_state_bytes.saturating_mul(4), &pin);
        let full = || ForkError::Full(options.max_state_bytes);
        let kept = match cache {
            None => None,
            Some(cache) => {
                let OpenedCache { cache, facts, .. } = Cache::open(cache, &pin)?;
                known.insert(usable(facts, &trust)).ok_or_else(full)?;
                Some(Arc::new(cache))
            }
        };
        let new = known.insert(facts).ok_or_else(full)?;
        if let Some(cache) = &kept {
            cache.append(&new);
        }
        let file = Some(OfflineFile::Pack(path.to_owned()));
        let caches = Caches { file, cache: kept, shared: None };
        Ok(Self::of(Context::new((pin, known), None, caches, (options, trust))))
    }
}

/// Whether values are proved.
fn has_proofs(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| matches!(fact, Fact::Account { is_proven: true, .. }))
}
