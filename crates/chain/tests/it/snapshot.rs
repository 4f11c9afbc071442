//! Snapshots of the state: what a store takes, and what it refuses.

use std::sync::Arc;

use bytes::Bytes;
use esker_chain::commitment::{SHARED_PART, StateSummary};
use esker_chain::snapshot::{
    Page, PageBuilder, PartRestore, PartSnapshot, Restore, RestoreError, SnapshotBlock,
    SnapshotItem, SnapshotReader, SnapshotRefusal, SnapshotTable, SnapshotTarget, check_finished,
    is_unfinished,
};
use esker_chain::tables::Position;
use esker_chain::{Bundle, ChainMachine, ChainVm, GenesisBundle, Machine};
use esker_primitives::{BlockId, Id};
use esker_storage::{KvRead, MemoryStore, WriteSet};
use esker_testkit::toy::{REGISTERS, SHARED_TAG, Toy, World, block_bytes};

use crate::machine::{open, propose, world};

/// Final bundles of the source.
const FINAL: u64 = 5;
/// Length of a key of shared memory, which is empty on the source.
const SHARED_KEY: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Shared;

impl PartSnapshot for Shared {
    fn tables(&self) -> Vec<SnapshotTable> {
        vec![SnapshotTable::new(SHARED_TAG, "shared", SHARED_KEY, 8)]
    }

    fn restore(&self) -> Box<dyn PartRestore + '_> {
        Box::new(*self)
    }
}

impl PartRestore for Shared {
    fn block(&mut self, _: SnapshotBlock<'_>, _: &mut WriteSet) -> Result<BlockId, RestoreError> {
        unreachable!("it is no chain")
    }

    fn row(
        &mut self,
        _: u8,
        _: (&[u8], &[u8]),
        _: &dyn KvRead,
        _: &mut WriteSet,
    ) -> Result<(), RestoreError> {
        Ok(())
    }
}

/// The records that a source sends.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sent {
    bundle: Bundle,
    summary: StateSummary,
    items: Vec<SnapshotItem>,
    rows: u64,
}

fn chains(toys: &[Arc<Toy>]) -> Vec<Arc<dyn ChainVm>> {
    toys.iter().map(|toy| Arc::clone(toy) as Arc<dyn ChainVm>).collect()
}

/// A source of three chains, the last of which has no blocks.
async fn source() -> (World, Vec<Arc<Toy>>, Arc<Machine>) {
    let (world, toys, machine) = world(3);
    for height in 1..=FINAL {
        toys[0].set(2 * height, height);
        toys[0].set(2 * height + 100, height);
        if height == 3 {
            toys[1].set(1, 10);
        }
        let bundle = propose(&machine).await;
        machine.finalize(&bundle, None).await.unwrap();
    }
    (world, toys, machine)
}

fn sent(world: &World, toys: &[Arc<Toy>]) -> Sent {
    let mut reader = SnapshotReader::open(&chains(toys), &Shared, &world.store).unwrap();
    let (bundle, summary) = (reader.bundle().0.clone(), reader.summary().clone());
    let counted = reader.count_rows(|| true).unwrap().unwrap();
    let (mut items, mut rows) = (Vec::new(), 0);
    while let Some((item, more)) = reader.next_item().unwrap() {
        items.push(item);
        rows += more;
    }
    assert_eq!(counted, rows);
    Sent { bundle, summary, items, rows }
}

/// An empty store of the same chains.
fn target() -> (World, Vec<Arc<Toy>>, SnapshotTarget) {
    let world = World::on(Arc::new(MemoryStore::new()));
    let toys: Vec<_> = (1..=3).map(|number| world.toy(number)).collect();
    let genesis = GenesisBundle::default();
    let store = world.store.clone();
    let target = SnapshotTarget::new(&chains(&toys), Box::new(Shared), store, &genesis).unwrap();
    (world, toys, target)
}

fn restore(target: &SnapshotTarget, sent: &Sent) -> Result<Position, RestoreError> {
    target.begin().unwrap();
    let mut restore = Restore::new(target, sent.bundle.clone(), None, sent.summary.clone())?;
    for item in &sent.items {
        restore.take(item.clone())?;
    }
    restore.finish(sent.rows)
}

/// All rows of a store.
fn rows(world: &World) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let reader = world.store.snapshot().unwrap();
    reader
        .scan(&[], None, &mut |key, _| {
            keys.push(key.to_vec());
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    keys
}

#[tokio::test]
async fn a_restored_store_has_the_state_and_goes_on() {
    let (from, toys, machine) = source().await;
    let sent = sent(&from, &toys);
    let (world, restored, target) = target();
    assert_eq!(target.genesis(), &machine.genesis());
    let position = restore(&target, &sent).unwrap();
    assert_eq!((position.height, position.id), machine.last_final());
    check_finished(world.store.snapshot().unwrap().as_ref()).unwrap();
    let follower = open(&world, &restored);
    assert_eq!(follower.last_final(), machine.last_final());
    assert_eq!(follower.history_start().unwrap(), FINAL);
    for height in 1..=FINAL {
        assert_eq!(restored[0].get(2 * height), Some(height));
    }
    assert_eq!(restored[1].get(1), Some(10));
    for toy in [0, 1, 2] {
        toys[toy].set(7, 7);
        let bundle = propose(&machine).await;
        machine.finalize(&bundle, None).await.unwrap();
        follower.finalize(&bundle, None).await.unwrap();
        assert_eq!(restored[toy].get(7), Some(7));
    }
    assert_eq!(follower.height_of(&position.id).unwrap(), Some(FINAL));
}

#[tokio::test]
async fn a_new_source_gives_no_snapshot() {
    let (world, toys, _machine) = world(1);
    let refused = SnapshotReader::open(&chains(&toys), &Shared, &world.store).err().unwrap();
    assert!(matches!(refused, SnapshotRefusal::Genesis), "{refused}");
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn page(rows: &Rows) -> Bytes {
    let mut page = PageBuilder::default();
    for (key, value) in rows {
        page.push(key, value);
    }
    page.finish()
}

/// Changes the rows of the first page.
fn with_rows(sent: &mut Sent, change: impl FnOnce(&mut Rows)) {
    let changed = sent.items.iter_mut().find_map(|item| match item {
        SnapshotItem::Rows { page, .. } => Some(page),
        SnapshotItem::Block { .. } => None,
    });
    let changed = changed.unwrap();
    let split = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
    let mut rows: Rows = Page(changed).flatten().map(split).collect();
    change(&mut rows);
    *changed = page(&rows);
}

fn first_block(sent: &mut Sent) -> (&mut Id, &mut u64, &mut Bytes) {
    match &mut sent.items[0] {
        SnapshotItem::Block { chain, height, bytes, .. } => (chain, height, bytes),
        SnapshotItem::Rows { .. } => panic!("blocks come first"),
    }
}

fn shared_rows() -> SnapshotItem {
    let page = page(&vec![(vec![1; SHARED_KEY], vec![1])]);
    SnapshotItem::Rows { part: SHARED_PART, tag: SHARED_TAG, page }
}

/// Its name, the change, and the reason of the refusal.
type Lie = (&'static str, Box<dyn Fn(&mut Sent)>, &'static str);

/// Changes with which no snapshot is taken, and the reason.
fn lies() -> Vec<Lie> {
    fn lie(what: &'static str, change: impl Fn(&mut Sent) + 'static, reason: &'static str) -> Lie {
        (what, Box::new(change), reason)
    }
    fn rows_lie(
        what: &'static str,
        change: impl Fn(&mut Rows) + 'static,
        reason: &'static str,
    ) -> Lie {
        lie(what, move |sent| with_rows(sent, &change), reason)
    }
    const SUMMARY: &str = "its bundle does not commit to its summary";
    const LENGTH: &str = "a row of another length in table register";
    const ORDER: &str = "rows out of order in table register";
    const HASH: &str = "are not those of its bundle";
    vec![
        lie("another summary", |sent| sent.summary.shared = Id::sha256(b"another"), SUMMARY),
        lie("the bundle of height 0", |sent| sent.bundle.height = 0, SUMMARY),
        lie("a bundle without commitment", |sent| sent.bundle.version = 0, SUMMARY),
        lie(
            "a summary with an unknown chain",
            |sent| {
                let state = *sent.summary.chains.values().next().unwrap();
                sent.summary.chains.insert(Id::sha256(b"unknown"), state);
                sent.bundle.commitment = sent.summary.commitment();
            },
            ", which this node does not have",
        ),
        lie(
            "a summary with a chain at height 0",
            |sent| {
                sent.summary.chains.values_mut().next().unwrap().height = 0;
                sent.bundle.commitment = sent.summary.commitment();
            },
            " without blocks",
        ),
        lie(
            "a summary without a chain of the bundle",
            |sent| {
                let id = sent.bundle.blocks[0].0;
                sent.summary.chains.remove(&id);
                sent.bundle.commitment = sent.summary.commitment();
            },
            "its bundle has a block of a chain without blocks",
        ),
        lie(
            "another block in the bundle",
            |sent| sent.bundle.blocks[0].1 = block_bytes(&Id::ZERO, FINAL, &[]),
            "its bundle has another block of",
        ),
        lie(
            "another block",
            |sent| *first_block(sent).2 = block_bytes(&Id::ZERO, FINAL, &[]),
            ": another ID",
        ),
        lie(
            "a block of an unknown chain",
            |sent| *first_block(sent).0 = Id::sha256(b"unknown"),
            "is unexpected",
        ),
        lie("a block of another height", |sent| *first_block(sent).1 += 1, "is unexpected"),
        lie("a missing block", |sent| drop(sent.items.remove(0)), "is unexpected"),
        lie("a block twice", |sent| sent.items.insert(1, sent.items[0].clone()), "is unexpected"),
        lie(
            "a block after the rows",
            |sent| sent.items.push(sent.items[0].clone()),
            "is unexpected",
        ),
        lie(
            "no blocks",
            |sent| sent.items.retain(|item| matches!(item, SnapshotItem::Rows { .. })),
            "blocks of chain",
        ),
        lie("nothing", |sent| sent.items.clear(), "blocks of chain"),
        lie("no end of the rows", |sent| drop(sent.items.pop()), "rows came of"),
        lie("another number of rows", |sent| sent.rows += 1, "rows came of"),
        lie(
            "no rows of a chain",
            |sent| {
                sent.items.pop();
                sent.rows -= 1;
            },
            HASH,
        ),
        lie(
            "rows of a chain twice",
            |sent| sent.items.push(sent.items.last().unwrap().clone()),
            ORDER,
        ),
        lie(
            "rows of shared memory after those of a chain",
            |sent| sent.items.push(shared_rows()),
            "rows of table 0x20 are unexpected",
        ),
        lie(
            "rows of an unknown part",
            |sent| {
                let part = Id::sha256(b"unknown");
                let page = page(&vec![(vec![1; 8], vec![1; 8])]);
                sent.items.push(SnapshotItem::Rows { part, tag: REGISTERS.tag(), page });
            },
            "are unexpected",
        ),
        lie(
            "rows of a chain that has no blocks",
            |sent| {
                let page = page(&vec![(vec![1; 8], vec![1; 8])]);
                let part = Id::sha256(&3u16.to_be_bytes());
                sent.items.push(SnapshotItem::Rows { part, tag: REGISTERS.tag(), page });
            },
            "are unexpected",
        ),
        lie(
            "rows of another table",
            |sent| match sent.items.last_mut().unwrap() {
                SnapshotItem::Rows { tag, .. } => *tag += 1,
                SnapshotItem::Block { .. } => panic!("rows come last"),
            },
            "rows of table 0x81 are unexpected",
        ),
        lie("an empty page", |sent| with_rows(sent, |rows| rows.clear()), "no rows of table 0x80"),
        lie(
            "bytes that are no row",
            |sent| match sent.items.last_mut().unwrap() {
                SnapshotItem::Rows { page, .. } => *page = page.slice(1..),
                SnapshotItem::Block { .. } => panic!("rows come last"),
            },
            "bytes that are no row in table register",
        ),
        rows_lie("keys that descend", |rows| rows.reverse(), ORDER),
        rows_lie("a row twice", |rows| rows.insert(1, rows[0].clone()), ORDER),
        rows_lie("a long key", |rows| rows[0].0.push(0), LENGTH),
        rows_lie("a short key", |rows| rows[0].0.truncate(7), LENGTH),
        rows_lie("no key", |rows| rows[0].0.clear(), LENGTH),
        rows_lie("a long value", |rows| rows[0].1.resize(17, 0), LENGTH),
        rows_lie("a value that does not decode", |rows| rows[0].1.push(0), "that does not decode"),
        rows_lie("another value", |rows| rows[0].1[7] ^= 1, HASH),
        rows_lie("another key", |rows| rows[0].0[7] ^= 1, HASH),
        lie(
            "a further row",
            |sent| {
                with_rows(sent, |rows| rows.push((vec![0xff; 8], vec![0; 8])));
                sent.rows += 1;
            },
            HASH,
        ),
        lie(
            "a row less",
            |sent| {
                with_rows(sent, |rows| drop(rows.remove(1)));
                sent.rows -= 1;
            },
            HASH,
        ),
    ]
}

#[tokio::test]
async fn a_wrong_snapshot_is_refused_and_leaves_nothing() {
    let (from, toys, machine) = source().await;
    let honest = sent(&from, &toys);
    let (world, restored, target) = target();
    target.begin().unwrap();
    let mark = rows(&world);
    for (what, change, reason) in lies() {
        let mut changed = honest.clone();
        change(&mut changed);
        assert_ne!(changed, honest, "{what}");
        let error = restore(&target, &changed).expect_err(what);
        let RestoreError::Invalid(error) = error else { panic!("{what}: {error}") };
        assert!(error.contains(reason), "{what}: {error}");
        let reader = world.store.snapshot().unwrap();
        assert!(is_unfinished(reader.as_ref()).unwrap(), "{what}");
        let refused = check_finished(reader.as_ref()).unwrap_err().to_string();
        assert!(refused.contains("the snapshot was not completed"), "{refused}");
        drop(reader);
        target.begin().unwrap();
        assert_eq!(rows(&world), mark, "{what}");
    }
    // A store that took a part of each takes the honest one.
    restore(&target, &honest).unwrap();
    assert_eq!(open(&world, &restored).last_final(), machine.last_final());
}

/// Shared memory comes first; its rows have to be those of the bundle too.
#[tokio::test]
async fn rows_that_the_source_does_not_have_are_refused() {
    let (from, toys, _machine) = source().await;
    let mut sent = sent(&from, &toys);
    let first = sent.items.iter().position(|item| matches!(item, SnapshotItem::Rows { .. }));
    sent.items.insert(first.unwrap(), shared_rows());
    sent.rows += 1;
    let (_world, _toys, target) = target();
    let refused = restore(&target, &sent).unwrap_err().to_string();
    assert_eq!(refused, "the rows of shared memory are not those of its bundle");
}
