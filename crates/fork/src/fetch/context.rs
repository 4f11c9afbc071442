//! What the parts of a fork share.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::options::{ForkOptions, Trust};
use super::queue::Queue;
use super::reader::StateReader;
use super::warm_up::WarmUps;
use crate::cache::{Cache, Shared};
use crate::error::{ForkError, Lacking};
use crate::misses::Want;
use crate::pin::Pin;
use crate::state::{Fact, KnownState};

/// The file of a fork without a source.
#[derive(Clone, Debug)]
pub(super) enum OfflineFile {
    Pack(PathBuf),
    Folder(PathBuf),
}

/// What a fork reads from and writes to besides its source.
#[derive(Debug, Default)]
pub(super) struct Caches {
    /// What is read in place of a source.
    pub(super) file: Option<OfflineFile>,
    pub(super) cache: Option<Arc<Cache>>,
    /// What forks of other folders and processes have read.
    pub(super) shared: Option<Arc<Shared>>,
}

#[derive(Debug)]
pub(super) struct Context {
    pub(super) pin: Pin,
    pub(super) known: KnownState,
    /// None for a fork without a source.
    pub(super) reader: Option<StateReader>,
    /// What is read in place of a source.
    pub(super) file: Option<OfflineFile>,
    pub(super) cache: Option<Arc<Cache>>,
    /// What forks of other folders and processes have read.
    pub(super) shared: Option<Arc<Shared>>,
    pub(super) options: ForkOptions,
    pub(super) trust: Trust,
    pub(super) warm_ups: WarmUps,
    pub(super) queue: Queue,
}

impl Context {
    pub(super) fn new(
        (pin, known): (Pin, KnownState),
        reader: Option<StateReader>,
        caches: Caches,
        (options, trust): (ForkOptions, Trust),
    ) -> Self {
        let (warm_ups, queue) = (WarmUps::default(), Queue::default());
        let Caches { file, cache, shared } = caches;
        Self { pin, known, reader, file, cache, shared, options, trust, warm_ups, queue }
    }

    /// Most accounts of a request: each takes a proof and its code.
    pub(super) fn max_accounts(&self) -> usize {
        self.reader.as_ref().map_or(1, |reader| (reader.source.batch_limit() / 2).max(1))
    }

    /// The error of parts that a fork without a source lacks.
    pub(super) fn lacking(&self, wants: &[Want]) -> ForkError {
        let hash = self.pin.hash;
        let advice = match &self.file {
            Some(OfflineFile::Pack(_)) => format!(
                "run this with --fork-url and --fork-block {hash}, and write the file again with esker fork pack"
            ),
            _ => "start with --fork-url".to_owned(),
        };
        ForkError::Offline(Box::new(Lacking {
            count: wants.len(),
            first: wants.first().map(ToString::to_string).unwrap_or_default(),
            block: self.pin.header.number,
            file: self.offline_file(),
            advice,
        }))
    }

    /// The error of a question about something else than state.
    pub(super) fn no_history(&self, method: &'static str) -> ForkError {
        let (block, file) = (self.pin.header.number, self.offline_file());
        ForkError::NoHistory { method, block, file }
    }

    fn offline_file(&self) -> PathBuf {
        match &self.file {
            Some(OfflineFile::Pack(path) | OfflineFile::Folder(path)) => path.clone(),
            None => PathBuf::new(),
        }
    }

    /// Takes parts out of the shared cache.
    pub(super) async fn take_shared(&self, wants: &BTreeSet<Want>) -> Result<(), ForkError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let unknown = wants.iter().filter(|want| !self.known.is_known(want));
        let facts: Vec<Fact> =
            unknown.filter_map(|want| shared.facts_about(want)).flatten().collect();
        match facts.is_empty() {
            true => Ok(()),
            false => self.keep(facts).await,
        }
    }

    /// Keeps facts in memory and in the caches.
    pub(super) async fn keep(&self, facts: Vec<Fact>) -> Result<(), ForkError> {
        let new = self.known.insert(facts);
        let new = new.ok_or(ForkError::Full(self.options.max_state_bytes))?;
        if let Some(shared) = &self.shared {
            shared.add(&new);
        }
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
