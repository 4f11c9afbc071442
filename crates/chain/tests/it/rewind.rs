//! Taking final bundles back: what the store holds then, what is kept, what is refused, who is notified.

use std::ops::ControlFlow;
use std::sync::Arc;

use esker_chain::{
    Bundle, ChainError, ChainMachine, Machine, MachineConfig, MachineEvent, ProposeError,
    RewindError, Rewound, Undo, UndoLimits, Verdict,
};
use esker_storage::{Entry, FailPoint, FailingStore, KvStore, MemoryStore, StorageError, WriteSet};
use esker_testkit::toy::{ChainEvent, Toy, World};
use proptest::prelude::*;

use crate::machine::{open_with, propose};

/// The tables that say what is kept: scope 0, tag.
const UNDO_PREFIX: [u8; 3] = [0, 0, 0x13];

pub(crate) fn keeping(bundles: u64) -> MachineConfig {
    let undo = Undo::Keep(UndoLimits::bundles(bundles));
    MachineConfig { check_proposals: true, undo, decides_alone: true, ..MachineConfig::default() }
}

/// All rows except undo rows.
pub(crate) fn rows(kv: &dyn KvStore) -> Vec<Entry> {
    let mut rows = Vec::new();
    let reader = kv.snapshot().unwrap();
    reader
        .scan(&[], None, &mut |key, value| {
            if !key.starts_with(&UNDO_PREFIX) {
                rows.push((key.to_vec(), value.to_vec()));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

pub(crate) fn undo_rows(kv: &dyn KvStore) -> Vec<u64> {
    let mut heights = Vec::new();
    let reader = kv.snapshot().unwrap();
    reader
        .scan(&UNDO_PREFIX, None, &mut |key, _| {
            heights.push(u64::from_be_bytes(key[3..].try_into().unwrap()));
            ControlFlow::Continue(())
        })
        .unwrap();
    heights
}

struct Fixture {
    world: World,
    toys: Vec<Arc<Toy>>,
    machine: Arc<Machine>,
}

impl Fixture {
    fn on(kv: Arc<dyn KvStore>, config: MachineConfig) -> Self {
        let world = World::on(kv);
        let toys = vec![world.toy(1), world.toy(2)];
        let machine = open_with(&world, &toys, config);
        Self { world, toys, machine }
    }

    fn new(config: MachineConfig) -> Self {
        Self::on(Arc::new(MemoryStore::new()), config)
    }

    fn reopen(self, config: MachineConfig) -> Self {
        let Self { world, toys, machine } = self;
        drop((toys, machine));
        Self::on(world.store.kv, config)
    }

    /// Makes a bundle final in which chains set registers.
    async fn accept(&self, registers: &[(usize, u64)]) -> Bundle {
        self.world.clock.advance(1_000);
        for (chain, register) in registers {
            self.toys[*chain].set(*register, register * 10);
        }
        let bundle = propose(&self.machine).await;
        self.machine.finalize(&bundle, None).await.unwrap();
        bundle
    }

    /// As many as asked for, with the rows after each; those of the start first.
    async fn accept_all(&self, count: u64) -> (Vec<Bundle>, Vec<Vec<Entry>>) {
        let (first, _) = self.machine.last_final();
        let (mut bundles, mut all) = (Vec::new(), vec![rows(self.kv())]);
        for number in first + 1..=first + count {
            bundles.push(self.accept(&[(usize::from(number % 2 == 0), number)]).await);
            all.push(rows(self.kv()));
        }
        (bundles, all)
    }

    fn kv(&self) -> &dyn KvStore {
        self.world.store.kv.as_ref()
    }

    async fn refusal(&self, to: u64) -> String {
        self.machine.rewind(to).await.unwrap_err().to_string()
    }
}

#[tokio::test]
async fn bundles_are_taken_back_and_made_final_again() {
    let fixture = Fixture::new(keeping(10));
    let (bundles, all) = fixture.accept_all(5).await;
    assert_eq!(fixture.machine.lowest_rewind().await.unwrap(), Some(0));
    let mut events = fixture.machine.subscribe();
    let rewound = fixture.machine.rewind(2).await.unwrap();
    assert_eq!(rewound, Rewound { from: 5, to: 2, bundle_id: bundles[1].id() });
    assert_eq!(fixture.machine.last_final(), (2, bundles[1].id()));
    assert_eq!(rows(fixture.kv()), all[2]);
    assert_eq!(undo_rows(fixture.kv()), [1, 2]);
    assert!(fixture.machine.bundle_at(3).unwrap().is_none());
    assert!(matches!(events.try_recv().unwrap(), MachineEvent::Rewound(event) if event == rewound));
    for toy in &fixture.toys {
        assert_eq!(
            toy.take_events().last(),
            Some(&ChainEvent::Rewound(1)),
            "one block of each is left"
        );
    }
    assert_eq!(fixture.machine.verify(&[], &bundles[1]).await.unwrap(), Verdict::AlreadyFinal);
    for (bundle, expected) in bundles[2..].iter().zip(&all[3..]) {
        // The same clock as then: a commit holds the time of acceptance.
        assert_eq!(fixture.machine.verify(&[], bundle).await.unwrap(), Verdict::Valid);
        fixture.machine.finalize(bundle, None).await.unwrap();
        assert_eq!(&rows(fixture.kv()), expected);
    }
    assert_eq!(undo_rows(fixture.kv()), [1, 2, 3, 4, 5]);
    fixture.machine.rewind(0).await.unwrap();
    assert_eq!(rows(fixture.kv()), all[0]);
    let other = fixture.accept(&[(0, 77)]).await;
    assert_eq!((other.height, fixture.toys[0].get(77)), (1, Some(770)));
}

#[tokio::test]
async fn undecided_bundles_are_dropped_with_their_txs_waiting_again() {
    let fixture = Fixture::new(keeping(10));
    fixture.accept_all(2).await;
    fixture.toys[0].set(9, 90);
    let undecided = propose(&fixture.machine).await;
    let (last, _) = fixture.machine.bundle_at(2).unwrap().unwrap();
    let commitment = last.commitment;
    let heartbeat = Bundle { blocks: Vec::new(), commitment, ..undecided.clone() };
    assert_eq!(fixture.machine.verify(&[], &heartbeat).await.unwrap(), Verdict::Valid);
    assert_eq!(fixture.machine.undecided(), 2);
    fixture.toys[0].take_events();
    fixture.machine.rewind(1).await.unwrap();
    assert_eq!(fixture.machine.undecided(), 0);
    let events = fixture.toys[0].take_events();
    assert_eq!(events, [ChainEvent::Rewound(1), ChainEvent::Rejected(2)]);
    // Transactions of undecided bundles wait again; those of rewound ones do not.
    let next = propose(&fixture.machine).await;
    assert_eq!((next.height, next.blocks.len()), (2, 1));
    fixture.machine.finalize(&next, None).await.unwrap();
    assert_eq!((fixture.toys[0].get(9), fixture.toys[1].get(2)), (Some(90), None));
}

#[tokio::test]
async fn what_is_kept_is_bounded_in_number() {
    let fixture = Fixture::new(keeping(3));
    let (_, all) = fixture.accept_all(5).await;
    assert_eq!(undo_rows(fixture.kv()), [3, 4, 5]);
    assert_eq!(
        fixture.refusal(1).await,
        "can't rewind to bundle 1: the lowest possible is 2, the last is 5"
    );
    assert_eq!(rows(fixture.kv()), all[5]);
    fixture.machine.rewind(2).await.unwrap();
    assert_eq!((rows(fixture.kv()), undo_rows(fixture.kv())), (all[2].clone(), Vec::new()));
    assert_eq!(fixture.machine.lowest_rewind().await.unwrap(), None);
    let refusal = fixture.refusal(1).await;
    assert!(refusal.starts_with("bundle 2 can't be rewound: it has no undo data"), "{refusal}");
}

#[tokio::test]
async fn what_is_kept_is_bounded_in_bytes() {
    let one = {
        let fixture = Fixture::new(keeping(10));
        // The first one has no old total, and no old hash of the state.
        fixture.accept(&[(0, 1)]).await;
        fixture.accept(&[(0, 2)]).await;
        let reader = fixture.kv().snapshot().unwrap();
        let key = [&UNDO_PREFIX[..], &2u64.to_be_bytes()].concat();
        reader.get(&key).unwrap().unwrap().len() as u64
    };
    let limits = UndoLimits { bytes: 3 * one, ..UndoLimits::bundles(100) };
    let config = MachineConfig { undo: Undo::Keep(limits), ..keeping(1) };
    let fixture = Fixture::new(config);
    // Of one size: each sets one register of the first chain.
    for register in 1..=8 {
        fixture.accept(&[(0, register)]).await;
    }
    let kept = undo_rows(fixture.kv());
    assert!(kept == [7, 8] || kept == [6, 7, 8], "{kept:?}");
    // One that is too long by itself leaves nothing.
    let many: Vec<_> = (100..1100).map(|register| (0, register)).collect();
    fixture.accept(&many).await;
    assert_eq!(undo_rows(fixture.kv()), Vec::<u64>::new());
    assert!(matches!(fixture.machine.rewind(8).await, Err(RewindError::NoUndoRows { last: 9 })));
    fixture.accept(&[(0, 9)]).await;
    assert_eq!(undo_rows(fixture.kv()), [10]);
    let fixture = fixture.reopen(config);
    assert_eq!(fixture.machine.lowest_rewind().await.unwrap(), Some(9));
    fixture.machine.rewind(9).await.unwrap();
    assert_eq!(fixture.toys[0].get(9), None);
}

#[tokio::test]
async fn all_bundles_above_a_height_can_be_kept() {
    let fixture = Fixture::new(keeping(2));
    let (_, all) = fixture.accept_all(4).await;
    let limits = UndoLimits { bytes: 1, all_above: 3, ..UndoLimits::bundles(2) };
    fixture.machine.set_undo(Undo::Keep(limits)).await.unwrap();
    assert_eq!(undo_rows(fixture.kv()), [4]);
    let (_, later) = fixture.accept_all(5).await;
    assert_eq!(undo_rows(fixture.kv()), [4, 5, 6, 7, 8, 9]);
    fixture.machine.rewind(5).await.unwrap();
    assert_eq!(rows(fixture.kv()), later[1]);
    fixture.accept_all(1).await;
    fixture.machine.rewind(3).await.unwrap();
    assert_eq!(rows(fixture.kv()), all[3]);
    assert_eq!(undo_rows(fixture.kv()), Vec::<u64>::new());
}

/// A rewind of many bundles takes several writes. Whichever of them is the last before a crash, the next start ends where
/// the rewind would have.
#[tokio::test]
async fn a_long_rewind_takes_several_writes_and_is_completed_after_a_crash() {
    let config = MachineConfig { rewind_bytes: 1, ..keeping(100) };
    let mut also = WriteSet::new();
    also.put(b"beside", b"it");
    for nth in 1..=7 {
        let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
        let fixture = Fixture::on(failing.clone(), config);
        let (bundles, all) = fixture.accept_all(8).await;
        let after = || {
            let mut rows = all[2].clone();
            rows.push((b"beside".to_vec(), b"it".to_vec()));
            rows.sort();
            rows
        };
        let mut events = fixture.machine.subscribe();
        failing.crash_at_nth_write(nth, FailPoint::After);
        let outcome = fixture.machine.rewind_with(2, also.clone()).await;
        failing.clear_failures();
        if nth == 7 {
            let rewound = Rewound { from: 8, to: 2, bundle_id: bundles[1].id() };
            assert_eq!(outcome.unwrap(), rewound);
            let event = events.try_recv().unwrap();
            assert!(matches!(event, MachineEvent::Rewound(event) if event == rewound));
            assert!(events.try_recv().is_err());
            assert_eq!(rows(fixture.kv()), after());
            continue;
        }
        outcome.unwrap_err();
        let fixture = fixture.reopen(config);
        assert_eq!((fixture.machine.last_final().0, rows(fixture.kv())), (2, after()), "{nth}");
        assert_eq!(fixture.toys[0].get(3), None);
        fixture.accept(&[(0, 77)]).await;
        let fixture = fixture.reopen(config);
        assert_eq!(fixture.machine.last_final().0, 3);
    }
}

#[tokio::test]
async fn rows_stay_across_restarts_and_a_gap_ends_them() {
    let fixture = Fixture::new(keeping(10));
    let (_, all) = fixture.accept_all(3).await;
    let beside = MachineConfig { undo: Undo::AsStored, ..keeping(1) };
    let fixture = fixture.reopen(beside);
    assert_eq!(fixture.machine.lowest_rewind().await.unwrap(), Some(0));
    fixture.machine.rewind(2).await.unwrap();
    assert_eq!(rows(fixture.kv()), all[2]);
    // A bundle without an undo row: earlier bundles can't be rewound any more.
    fixture.accept(&[(0, 50)]).await;
    assert_eq!(undo_rows(fixture.kv()), [1, 2]);
    assert!(matches!(fixture.machine.rewind(2).await, Err(RewindError::NoUndoRows { last: 3 })));
    let fixture = fixture.reopen(keeping(10));
    assert_eq!(undo_rows(fixture.kv()), Vec::<u64>::new(), "they would be of use to nobody");
    let (_, all) = fixture.accept_all(2).await;
    let fixture = fixture.reopen(keeping(10));
    assert_eq!(undo_rows(fixture.kv()), [4, 5]);
    fixture.machine.rewind(3).await.unwrap();
    assert_eq!(rows(fixture.kv()), all[0]);
}

#[tokio::test]
async fn it_is_switched_on_and_off_while_the_machine_runs() {
    let off = MachineConfig { undo: Undo::Off, ..keeping(1) };
    let fixture = Fixture::new(off);
    fixture.accept_all(2).await;
    assert_eq!(undo_rows(fixture.kv()), Vec::<u64>::new());
    fixture.machine.set_undo(Undo::Keep(UndoLimits::bundles(400))).await.unwrap();
    let (_, all) = fixture.accept_all(300).await;
    assert_eq!(undo_rows(fixture.kv()).len(), 300);
    fixture.machine.set_undo(Undo::Keep(UndoLimits::bundles(280))).await.unwrap();
    assert_eq!(undo_rows(fixture.kv()), (23..=302).collect::<Vec<_>>());
    fixture.machine.rewind(100).await.unwrap();
    assert_eq!(rows(fixture.kv()), all[98]);
    fixture.machine.set_undo(Undo::Off).await.unwrap();
    assert_eq!(undo_rows(fixture.kv()), Vec::<u64>::new());
    assert!(matches!(fixture.machine.rewind(99).await, Err(RewindError::NoUndoRows { .. })));
    let fixture = fixture.reopen(keeping(5));
    fixture.accept_all(1).await;
    let fixture = fixture.reopen(off);
    assert_eq!(undo_rows(fixture.kv()), Vec::<u64>::new());
}

#[tokio::test]
async fn it_is_refused_where_others_decide_too() {
    let config = MachineConfig { decides_alone: false, undo: Undo::Off, ..keeping(1) };
    let fixture = Fixture::new(config);
    fixture.accept_all(1).await;
    let text = "only a node that decides alone can rewind final bundles";
    assert_eq!(fixture.refusal(0).await, text);
    let kept = Undo::Keep(UndoLimits::bundles(1));
    assert_eq!(fixture.machine.set_undo(kept).await.unwrap_err().to_string(), text);
    let world = World::on(Arc::new(MemoryStore::new()));
    let config = MachineConfig { undo: kept, ..config };
    let opened =
        Machine::open(Vec::new(), world.store.clone(), world.clock.clone(), world.work, config);
    assert!(matches!(opened, Err(ChainError::Mismatch(reason)) if reason == text));
}

#[tokio::test]
async fn a_height_that_is_not_reached_is_refused_and_the_last_one_changes_nothing() {
    let fixture = Fixture::new(keeping(10));
    let (_, all) = fixture.accept_all(2).await;
    assert_eq!(fixture.refusal(3).await, "there is no bundle 3: the last one is 2");
    let rewound = fixture.machine.rewind(2).await.unwrap();
    assert_eq!((rewound.from, rewound.to, rows(fixture.kv())), (2, 2, all[2].clone()));
}

#[tokio::test]
async fn several_final_bundles_have_a_row_each() {
    let fixture = Fixture::new(keeping(10));
    let (bundles, all) = fixture.accept_all(4).await;
    let rest = bundles[1..].iter().map(|bundle| (bundle.clone(), None)).collect();
    fixture.machine.rewind(1).await.unwrap();
    fixture.machine.finalize_all(rest).await.unwrap();
    assert_eq!((undo_rows(fixture.kv()), rows(fixture.kv())), (vec![1, 2, 3, 4], all[4].clone()));
    fixture.machine.rewind(3).await.unwrap();
    assert_eq!(rows(fixture.kv()), all[3]);
}

#[tokio::test]
async fn a_proposal_that_waits_hears_of_it() {
    let fixture = Fixture::new(keeping(10));
    fixture.accept_all(2).await;
    let machine = Arc::clone(&fixture.machine);
    let waiting = tokio::spawn(async move {
        let (height, parent) = machine.last_final();
        let wait_until_ms = u64::MAX;
        let at =
            esker_chain::ProposeCtx { height: height + 1, parent, ancestry: &[], wait_until_ms };
        machine.propose(at).await
    });
    let looks = || fixture.toys[0].looks.load(std::sync::atomic::Ordering::SeqCst);
    let before = looks();
    let patience = std::time::Instant::now();
    while looks() == before {
        assert!(patience.elapsed().as_secs() < 60);
        tokio::task::yield_now().await;
    }
    fixture.machine.rewind(1).await.unwrap();
    let patience = std::time::Duration::from_secs(60);
    let ended = tokio::time::timeout(patience, waiting).await.unwrap().unwrap();
    assert!(matches!(ended, Err(ProposeError::Parent { .. })), "{ended:?}");
}

#[tokio::test]
async fn a_damaged_row_takes_nothing_back() {
    let fixture = Fixture::new(keeping(10));
    let (_, all) = fixture.accept_all(3).await;
    let key = [&UNDO_PREFIX[..], &2u64.to_be_bytes()].concat();
    let mut value = fixture.kv().snapshot().unwrap().get(&key).unwrap().unwrap();
    let last = value.len() - 1;
    value[last] ^= 1;
    let mut damage = esker_storage::WriteSet::new();
    damage.put(&key, &value);
    fixture.kv().write(&damage).unwrap();
    assert!(fixture.machine.rewind(0).await.is_err());
    assert_eq!((rows(fixture.kv()), fixture.machine.last_final().0), (all[3].clone(), 3));
    fixture.machine.rewind(2).await.unwrap();
    assert_eq!(rows(fixture.kv()), all[2]);
}

/// Each read and the write of a rewind fail in turn: before, everything is as it was; after, the rewind is done.
#[tokio::test]
async fn a_store_that_fails_leaves_everything_as_it_was() {
    let disk = Arc::new(MemoryStore::new());
    let failing = Arc::new(FailingStore::new(disk));
    let fixture = Fixture::on(failing.clone(), keeping(10));
    let (_, all) = fixture.accept_all(4).await;
    fixture.toys[0].set(9, 90);
    let undecided = propose(&fixture.machine).await;
    let reads = failing.reads();
    failing.fail_nth_write(1, FailPoint::Before);
    fixture.machine.rewind(1).await.unwrap_err();
    let reads_of_one = failing.reads() - reads;
    assert_eq!(rows(fixture.kv()), all[4]);
    assert!(reads_of_one > 3, "{reads_of_one}");
    for nth in 1..=reads_of_one {
        fixture.toys[0].take_events();
        failing.fail_nth_read(nth);
        let outcome = fixture.machine.rewind(1).await;
        failing.clear_failures();
        if outcome.is_ok() {
            // The last two looked whether the write that failed was done.
            assert!(nth + 2 > reads_of_one, "{nth} of {reads_of_one}");
            break;
        }
        assert_eq!((fixture.machine.last_final().0, fixture.machine.undecided()), (4, 1), "{nth}");
        assert_eq!(
            (rows(fixture.kv()), fixture.toys[0].take_events()),
            (all[4].clone(), vec![]),
            "{nth}"
        );
    }
    if fixture.machine.last_final().0 == 4 {
        fixture.machine.finalize(&undecided, None).await.unwrap();
        fixture.machine.rewind(1).await.unwrap();
    }
    assert_eq!(rows(fixture.kv()), all[1]);
}

#[tokio::test]
async fn a_write_that_fails_after_it_is_done_is_done() {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let fixture = Fixture::on(failing.clone(), keeping(10));
    let (_, all) = fixture.accept_all(3).await;
    failing.fail_nth_write(1, FailPoint::After);
    fixture.machine.rewind(1).await.unwrap();
    assert_eq!((fixture.machine.last_final().0, rows(fixture.kv())), (1, all[1].clone()));
    fixture.accept(&[(0, 40)]).await;
    // And where nobody can know, nothing more is done.
    failing.crash_at_nth_write(1, FailPoint::After);
    fixture.machine.rewind(1).await.unwrap_err();
    failing.clear_failures();
    assert!(matches!(
        fixture.machine.rewind(1).await,
        Err(RewindError::Chain(ChainError::Stopped))
    ));
    let fixture = fixture.reopen(keeping(10));
    assert_eq!((fixture.machine.last_final().0, rows(fixture.kv())), (1, all[1].clone()));
}

#[tokio::test]
async fn a_store_that_takes_no_writes_refuses_at_once() {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let world = World::with(
        esker_storage::Store::retrying(failing.clone(), esker_storage::RetryPolicy::NODE).unwrap(),
    );
    let toys = vec![world.toy(1), world.toy(2)];
    let machine = open_with(&world, &toys, keeping(10));
    let fixture = Fixture { world, toys, machine };
    let (_, all) = fixture.accept_all(2).await;
    failing.refuse_writes(StorageError::Full { size: 7 });
    for _ in 0..2 {
        assert!(fixture.machine.rewind(0).await.is_err());
        assert_eq!((fixture.machine.last_final().0, rows(fixture.kv())), (2, all[2].clone()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Bundles are accepted and rewound in any order: at each height the rows equal those of a machine without
    /// rewinds.
    #[test]
    fn any_walk_ends_with_the_rows_of_its_path(
        walk in prop::collection::vec((1..4u64, 0..6u64), 1..12),
        limit in 1..8u64,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let fixture = Fixture::new(keeping(limit));
            let mut path = vec![rows(fixture.kv())];
            let mut register = 0;
            for (forth, back) in walk {
                for _ in 0..forth {
                    register += 1;
                    fixture.accept(&[(usize::from(register % 3 == 0), register)]).await;
                    path.push(rows(fixture.kv()));
                }
                let last = path.len() as u64 - 1;
                let to = last.saturating_sub(back);
                let lowest = fixture.machine.lowest_rewind().await.unwrap().unwrap_or(last);
                assert_eq!(fixture.machine.rewind(to).await.is_ok(), to >= lowest, "{to} {lowest}");
                if to >= lowest {
                    path.truncate(usize::try_from(to).unwrap() + 1);
                }
                assert_eq!(&rows(fixture.kv()), path.last().unwrap());
                assert!(undo_rows(fixture.kv()).len() as u64 <= limit);
            }
        });
    }
}
