//! Machines without chains, their bundles, and a source from a list.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use esker_chain::commitment::StateSummary;
use esker_chain::{Bundle, BundleId, ChainMachine, Machine, MachineConfig};
use esker_follow::{Feed, FeedItem, Source, SourceError};
use esker_primitives::clock::{Clock, ManualClock};
use esker_primitives::sync::Mutex;
use esker_storage::{KvStore, MemoryStore, Store};
use tokio::sync::Notify;

/// Time of the machines, Unix ms.
pub(crate) const NOW_MS: u64 = 1_000_000;
/// Time that a condition may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn machine(clock: &Arc<ManualClock>) -> Arc<Machine> {
    machine_on(Arc::new(MemoryStore::new()), clock)
}

pub(crate) fn machine_on(kv: Arc<dyn KvStore>, clock: &Arc<ManualClock>) -> Arc<Machine> {
    let store = Store::new(kv).unwrap();
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let work = Arc::new(Notify::new());
    Machine::open(Vec::new(), store, clock, work, MachineConfig::default()).unwrap()
}

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(NOW_MS))
}

/// This many bundles after the first one.
pub(crate) fn bundles(genesis: &Bundle, count: u64) -> Vec<Bundle> {
    let mut parent = genesis.id();
    (1..=count)
        .map(|height| {
            let bundle = bundle(parent, height, NOW_MS);
            parent = bundle.id();
            bundle
        })
        .collect()
}

pub(crate) fn bundle(parent: BundleId, height: u64, timestamp_ms: u64) -> Bundle {
    let (version, commitment) = (Bundle::VERSION, StateSummary::empty().commitment());
    Bundle { version, parent, height, timestamp_ms, commitment, blocks: Vec::new() }
}

pub(crate) async fn finalize(machine: &Machine, bundles: &[Bundle]) {
    let bundles = bundles.iter().map(|bundle| (bundle.clone(), None)).collect();
    machine.finalize_all(bundles).await.unwrap();
}

/// Repeats a check until it holds.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    assert!(waited.await.is_ok(), "still not so after {PATIENCE:?}: {what}");
}

/// A source that sends these items at its first connection, and then the error at each; without an error it stays
/// connected.
#[derive(Debug)]
pub(crate) struct ListSource {
    pub(crate) name: &'static str,
    items: Mutex<Vec<FeedItem>>,
    end: Option<SourceError>,
    /// The last final bundles after which it was asked to continue.
    pub(crate) opened: Mutex<Vec<u64>>,
}

impl ListSource {
    pub(crate) fn new(name: &'static str, items: Vec<FeedItem>, end: SourceError) -> Arc<Self> {
        Self::ending(name, items, Some(end))
    }

    /// A source that stays connected after its last item.
    pub(crate) fn staying(name: &'static str, items: Vec<FeedItem>) -> Arc<Self> {
        Self::ending(name, items, None)
    }

    fn ending(name: &'static str, items: Vec<FeedItem>, end: Option<SourceError>) -> Arc<Self> {
        let items = Mutex::new(items);
        Arc::new(Self { name, items, end, opened: Mutex::new(Vec::new()) })
    }
}

#[async_trait]
impl Source for ListSource {
    fn name(&self) -> &str {
        self.name
    }

    async fn open(&self, last: (u64, BundleId)) -> Result<Box<dyn Feed>, SourceError> {
        self.opened.lock().push(last.0);
        let mut items = std::mem::take(&mut *self.items.lock());
        items.reverse();
        Ok(Box::new(ListFeed { items, end: self.end.clone() }))
    }
}

struct ListFeed {
    items: Vec<FeedItem>,
    end: Option<SourceError>,
}

#[async_trait]
impl Feed for ListFeed {
    async fn next(&mut self) -> Result<FeedItem, SourceError> {
        match (self.items.pop(), self.end.clone()) {
            (Some(item), _) => Ok(item),
            (None, Some(error)) => Err(error),
            (None, None) => std::future::pending().await,
        }
    }
}
