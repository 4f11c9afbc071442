//! What the parts of a fork share.

use std::sync::Arc;

use super::options::{ForkOptions, Trust};
use super::queue::Queue;
use super::reader::StateReader;
use super::warm_up::WarmUps;
use crate::cache::Cache;
use crate::error::ForkError;
use crate::pin::Pin;
use crate::state::{Fact, KnownState};

#[derive(Debug)]
pub(super) struct Context {
    pub(super) pin: Pin,
    pub(super) known: KnownState,
    /// None for a fork of a pack.
    pub(super) reader: Option<StateReader>,
    pub(super) cache: Option<Arc<Cache>>,
    pub(super) options: ForkOptions,
    pub(super) trust: Trust,
    pub(super) warm_ups: WarmUps,
    pub(super) queue: Queue,
}

impl Context {
    pub(super) fn new(
        (pin, known): (Pin, KnownState),
        (reader, cache): (Option<StateReader>, Option<Arc<Cache>>),
        (options, trust): (ForkOptions, Trust),
    ) -> Self {
        let (warm_ups, queue) = (WarmUps::default(), Queue::default());
        Self { pin, known, reader, cache, options, trust, warm_ups, queue }
    }

    /// Most accounts of a request: each takes a proof and its code.
    pub(super) fn max_accounts(&self) -> usize {
        self.reader.as_ref().map_or(1, |reader| (reader.source.batch_limit() / 2).max(1))
    }

    /// Keeps facts in memory and in the cache.
    pub(super) async fn keep(&self, facts: Vec<Fact>) -> Result<(), ForkError> {
        let new = self.known.insert(facts);
        let new = new.ok_or(ForkError::Full(self.options.max_state_bytes))?;
        if let Some(cache) = &self.cache
            && !new.is_empty()
        {
            let cache = Arc::clone(cache);
            let appended = tokio::task::spawn_blocking(move || cache.append(&new)).await;
            appended.map_err(|_| ForkError::Cancelled)?;
        }
        Ok(())
    }
}
