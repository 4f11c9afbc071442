//! The index of logs of a store whose blocks were accepted without one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloy_primitives::{Address, Bloom, BloomInput};
use esker_chain::{Backfill, ChainError, ChainVm as _};
use esker_evm::chain::EvmConfig;
use esker_evm::view::ChainReader as _;
use esker_evm_execution::rules::FeeOverrides;
use esker_evm_state::blocks::{History, write_block};
use esker_evm_state::logs::tables::{LOG_ROWS, LOG_SECTIONS};
use esker_evm_state::logs::{LogQuery, SECTION};
use esker_evm_state::types::{Block, Header};
use esker_primitives::clock::ManualClock;
use esker_storage::{
    CopyProgress, FailPoint, FailingStore, KvRead, KvStore, MemoryStore, Scope, StorageResult,
    Store, Visitor, WriteSet,
};

use crate::live;

const SCOPE: Scope = Scope(2);

/// Three sections and a part of a fourth.
const LAST: u64 = 3 * SECTION + 500;

/// Blocks between two with a log.
const APART: u64 = 700;

fn logger() -> Address {
    Address::repeat_byte(9)
}

/// A store that counts its open snapshots at each write.
#[derive(Debug)]
struct CountingStore {
    inner: FailingStore,
    open: Arc<AtomicUsize>,
    /// Number of writes while a snapshot was open.
    held: AtomicUsize,
}

struct CountingReader {
    inner: Box<dyn KvRead>,
    open: Arc<AtomicUsize>,
}

impl CountingStore {
    fn new() -> Arc<Self> {
        let inner = FailingStore::new(Arc::new(MemoryStore::new()));
        Arc::new(Self { inner, open: Arc::default(), held: AtomicUsize::new(0) })
    }

    fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }
}

impl KvStore for CountingStore {
    fn snapshot(&self) -> StorageResult<Box<dyn KvRead>> {
        let inner = self.inner.snapshot()?;
        self.open.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(CountingReader { inner, open: Arc::clone(&self.open) }))
    }

    fn write_all(&self, sets: &[&WriteSet]) -> StorageResult<()> {
        if self.open.load(Ordering::SeqCst) > 0 {
            self.held.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.write_all(sets)
    }

    fn backup(&self, to: &Path, progress: &mut CopyProgress<'_>) -> StorageResult<()> {
        self.inner.backup(to, progress)
    }

    fn size_on_disk(&self) -> StorageResult<u64> {
        self.inner.size_on_disk()
    }
}

impl KvRead for CountingReader {
    fn get_with(&self, key: &[u8], f: &mut dyn FnMut(&[u8])) -> StorageResult<bool> {
        self.inner.get_with(key, f)
    }

    fn seek_back(&self, key: &[u8]) -> StorageResult<Option<(Vec<u8>, Vec<u8>)>> {
        self.inner.seek_back(key)
    }

    fn scan(
        &self,
        prefix: &[u8],
        from: Option<&[u8]>,
        visit: &mut Visitor<'_>,
    ) -> StorageResult<()> {
        self.inner.scan(prefix, from, visit)
    }
}

impl Drop for CountingReader {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

fn open(kv: &Arc<CountingStore>) -> Result<live::World, ChainError> {
    let kv = Arc::clone(kv) as Arc<dyn KvStore>;
    live::open(kv, EvmConfig::default(), FeeOverrides::default())
}

/// A store with many blocks that an earlier version accepted, some of them with a log, without an index.
fn without_index() -> Arc<CountingStore> {
    let kv = CountingStore::new();
    let genesis = open(&kv).unwrap().evm.head();
    for first in (1..=LAST).step_by(512) {
        let mut out = WriteSet::new();
        let reader = kv.snapshot().unwrap();
        for number in first..=LAST.min(first + 511) {
            let bloom = match number % APART {
                0 => Bloom::from(BloomInput::Raw(logger().as_slice())),
                _ => Bloom::ZERO,
            };
            let state_root = genesis.header.state_root;
            let header = Header { number, bloom, state_root, ..Header::default() };
            let block = Block { header, ..Block::default() };
            let (hash, bytes) = (block.hash(), block.to_bytes());
            let rows = (hash, bytes.as_slice());
            let history = History::Archive;
            write_block(reader.as_ref(), SCOPE, history, &block, rows, Vec::new(), &mut out)
                .unwrap();
        }
        drop(reader);
        kv.write(&out).unwrap();
    }
    assert_eq!(sections(&kv), None);
    kv
}

fn sections(kv: &CountingStore) -> Option<u64> {
    LOG_SECTIONS.get(kv.snapshot().unwrap().as_ref(), SCOPE, &()).unwrap()
}

/// The index finds every block with a log, and only those.
#[track_caller]
fn assert_whole(world: &live::World, kv: &CountingStore) {
    let query = LogQuery::any().one_of([logger()]);
    let (mut found, mut next) = (Vec::new(), Some(0));
    while let Some(from) = next {
        let part = world.evm.blocks_with_logs(&query, from, LAST).unwrap();
        found.extend(part.heights);
        next = part.next;
    }
    let expected: Vec<u64> = (1..=LAST).filter(|height| height % APART == 0).collect();
    assert_eq!(found, expected);
    assert_eq!(sections(kv), Some(LAST / SECTION));
}

#[test]
fn a_start_fills_the_index_and_holds_no_snapshot_while_it_writes() {
    let kv = without_index();
    let writes = kv.inner.writes();
    let world = open(&kv).unwrap();
    assert_whole(&world, &kv);
    // Each section has one bounded commit.
    assert_eq!(kv.inner.writes() - writes, LAST / SECTION);
    // The first start wrote its genesis and first bundle without an open snapshot too.
    assert_eq!(kv.held(), 0);
    drop(world);
    // The next start has nothing to do.
    let writes = kv.inner.writes();
    assert_whole(&open(&kv).unwrap(), &kv);
    assert_eq!(kv.inner.writes(), writes);
}

#[test]
fn the_watch_sees_a_snapshot_that_is_held() {
    let kv = CountingStore::new();
    let mut out = WriteSet::new();
    out.put(b"key", b"value");
    kv.write(&out).unwrap();
    assert_eq!(kv.held(), 0);
    let reader = kv.snapshot().unwrap();
    kv.write(&out).unwrap();
    drop(reader);
    assert_eq!(kv.held(), 1);
}

#[test]
fn a_start_goes_on_where_a_failed_one_ended() {
    for point in [FailPoint::Before, FailPoint::After] {
        let kv = without_index();
        kv.inner.crash_at_nth_write(2, point);
        assert!(matches!(open(&kv), Err(ChainError::Storage(_))));
        kv.inner.clear_failures();
        let done = match point {
            FailPoint::Before => 1,
            FailPoint::After => 2,
        };
        assert_eq!(sections(&kv), Some(done));
        let writes = kv.inner.writes();
        assert_whole(&open(&kv).unwrap(), &kv);
        assert_eq!(kv.inner.writes() - writes, LAST / SECTION - done);
    }
}

#[test]
fn a_refused_start_fills_nothing() {
    let kv = without_index();
    let writes = kv.inner.writes();
    let other = live::open(Arc::clone(&kv) as Arc<dyn KvStore>, EvmConfig::default(), live::easy());
    assert!(matches!(other, Err(ChainError::Mismatch(_))));
    assert_eq!(kv.inner.writes(), writes);
}

#[test]
fn a_check_writes_nothing_and_each_step_fills_one_section() {
    let kv = without_index();
    let store = Store::new(Arc::clone(&kv) as Arc<dyn KvStore>).unwrap();
    let clock = Arc::new(ManualClock::new(live::START_MS));
    let config = EvmConfig::default();
    let evm = live::chain(store.clone(), &clock, config, FeeOverrides::default()).unwrap();
    let writes = kv.inner.writes();
    let reader = store.snapshot().unwrap();
    evm.check(reader.as_ref()).unwrap();
    assert_eq!(kv.inner.writes(), writes);
    assert_eq!(LOG_ROWS.last(reader.as_ref(), SCOPE, &[]).unwrap(), None);
    drop(reader);
    let total = LAST / SECTION * SECTION;
    for section in 1..=LAST / SECTION {
        let step = evm.backfill().unwrap();
        assert_eq!(step, Some(Backfill { index: "logs", done: section * SECTION, total }));
        assert_eq!(sections(&kv), Some(section));
    }
    assert_eq!(evm.backfill().unwrap(), None);
}
