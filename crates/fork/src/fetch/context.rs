//! What the parts of a fork share.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::options::{ForkOptions, Trust};
use super::queue::Queue;
use super::reader::StateReader;
use super::reading::Reading;
use crate::cache::{Cache, Shared};
use crate::error::{ForkError, Lacking};
use crate::misses::Want;
use crate::pin::Pin;
use crate::source::Counters;
use crate::state::{Fact, KnownState};

/// Most times that a read begins again at another source.
const MAX_RESTARTS: usize = 3;

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
    /// What is read from now. It may be replaced.
    pub(super) readings: watch::Sender<Arc<Reading>>,
    /// Of all sources so far.
    pub(super) counters: Arc<Counters>,
    /// What is read in place of a source.
    pub(super) file: Option<OfflineFile>,
    pub(super) cache: Option<Arc<Cache>>,
    pub(super) options: ForkOptions,
    pub(super) trust: Trust,
    pub(super) queue: Queue,
}

impl Context {
    pub(super) fn new(
        (pin, known): (Pin, KnownState),
        reader: Option<StateReader>,
        caches: Caches,
        (options, trust): (ForkOptions, Trust),
    ) -> Self {
        let Caches { file, cache, shared } = caches;
        let counters = reader.as_ref().map(|reader| Arc::clone(reader.source.counters()));
        let counters = counters.unwrap_or_default();
        let readings = watch::Sender::new(Arc::new(Reading::new(reader, shared)));
        let queue = Queue::default();
        Self { pin, known, readings, counters, file, cache, options, trust, queue }
    }

    /// What is read from now.
    pub(super) fn reading(&self) -> Arc<Reading> {
        Arc::clone(&self.readings.borrow())
    }

    /// Does work that only reads. If another source takes over meanwhile, the work begins again there, a few times at most.
    pub(super) async fn read_from<T, F: Future<Output = T>>(
        &self,
        work: impl Fn(Arc<Reading>) -> F,
    ) -> T {
        let mut readings = self.readings.subscribe();
        for _ in 0..MAX_RESTARTS {
            let reading = Arc::clone(&readings.borrow_and_update());
            tokio::select! {
                biased;
                done = work(reading) => return done,
                // It can't fail: the sender is there as long as `self`.
                _replaced = readings.changed() => {}
            }
        }
        work(self.reading()).await
    }

    /// Most accounts of a request: each takes a proof and its code.
    pub(super) fn max_accounts(&self) -> usize {
        let reading = self.reading();
        reading.reader.as_ref().map_or(1, |reader| (reader.source.batch_limit() / 2).max(1))
    }

    /// The error of parts that a fork without a source lacks.
    pub(super) fn lacking(&self, wants: &[Want]) -> ForkError {
        let hash = self.pin.hash;
        let advice = match &self.file {
            Some(OfflineFile::Pack(_)) => format!(
                "run this with --fork-url and --fork-block {hash}, and write the file again with esker fork pack"
            ),
            _ => "start with --fork-url, or give its URL to anvil_setRpcUrl".to_owned(),
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
        let reading = self.reading();
        let Some(shared) = &reading.shared else { return Ok(()) };
        let unknown = wants.iter().filter(|want| !self.known.is_known(want));
        let facts: Vec<Fact> =
            unknown.filter_map(|want| shared.facts_about(want)).flatten().collect();
        match facts.is_empty() {
            true => Ok(()),
            false => self.keep(&reading, facts).await,
        }
    }

    /// Keeps facts in memory and in the caches. The shared one is that of the source that gave them.
    pub(super) async fn keep(&self, from: &Reading, facts: Vec<Fact>) -> Result<(), ForkError> {
        let new = self.known.insert(facts);
        let new = new.ok_or(ForkError::Full(self.options.max_state_bytes))?;
        if let Some(shared) = &from.shared {
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
