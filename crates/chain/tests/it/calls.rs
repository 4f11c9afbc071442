//! Calls of several tasks at once: verdicts, cancelled calls, bounds, several final bundles, dead ones.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use esker_chain::{
    Bundle, ChainError, ChainMachine, FinalizeError, Machine, MachineConfig, ProposeCtx,
    ProposeError, Verdict,
};
use esker_primitives::Id;
use esker_storage::{
    FailPoint, FailingStore, KvStore, MemoryStore, RetryPolicy, StorageError, Store,
};
use esker_testkit::toy::{ChainEvent, Op, Toy, World, block_bytes};

use crate::machine::{foreign, open, open_with, propose, propose_on, world};

/// Nothing here takes long.
const PATIENCE: Duration = Duration::from_secs(60);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it ends")
}

/// A bundle with one block that sets a register, on a parent with one block or none.
fn on(toy: &Toy, parent: &Bundle, register: u64) -> Bundle {
    let tip = Id::sha256(&parent.blocks[0].1);
    let op = Op { register, value: 7, not_before_ms: 0 };
    Bundle {
        version: 0,
        commitment: Id::ZERO,
        parent: parent.id(),
        height: parent.height + 1,
        timestamp_ms: 1_000_000,
        blocks: vec![(toy.id(), block_bytes(&tip, parent.height + 1, &[op]))],
    }
}

/// A branch of that many bundles on `parent`; registers from `first` on.
fn branch(toy: &Toy, parent: &Bundle, first: u64, len: u64) -> Vec<Bundle> {
    let mut bundles = vec![parent.clone()];
    for register in first..first + len {
        bundles.push(on(toy, &bundles[bundles.len() - 1], register));
    }
    bundles.remove(0);
    bundles
}

async fn verify(machine: &Machine, bundle: &Bundle) -> Verdict {
    soon(machine.verify(&[], bundle)).await.unwrap()
}

#[tokio::test]
async fn a_verdict_says_where_a_bundle_stands() {
    let (_world, toys, machine) = world(1);
    let genesis = machine.genesis();
    let (ours, theirs) = (branch(&toys[0], &genesis, 1, 3), branch(&toys[0], &genesis, 10, 3));
    assert_eq!(verify(&machine, &genesis).await, Verdict::AlreadyFinal);
    assert_eq!(verify(&machine, &ours[1]).await, Verdict::ParentMissing);
    let known = soon(machine.verify(&[ours[1].clone(), ours[0].clone()], &ours[2])).await;
    assert_eq!(known.unwrap(), Verdict::Valid);
    for bundle in ours.iter().chain([&theirs[0]]) {
        assert_eq!(verify(&machine, bundle).await, Verdict::Valid, "once more");
    }
    assert_eq!(machine.undecided(), 4);
    machine.finalize(&ours[0], None).await.unwrap();
    assert_eq!(verify(&machine, &ours[0]).await, Verdict::AlreadyFinal);
    assert_eq!(verify(&machine, &theirs[0]).await, Verdict::Abandoned);
    // Its parent has the height of the final one.
    assert_eq!(verify(&machine, &theirs[1]).await, Verdict::Abandoned);
    assert_eq!(verify(&machine, &theirs[2]).await, Verdict::ParentMissing);
    let ancestry = [theirs[1].clone(), theirs[0].clone()];
    assert_eq!(machine.verify(&ancestry, &theirs[2]).await.unwrap(), Verdict::Abandoned);
    for bundle in &ours[1..] {
        machine.finalize(bundle, None).await.unwrap();
    }
    for bundle in [&genesis, &ours[0], &ours[1], &ours[2]] {
        assert_eq!(verify(&machine, bundle).await, Verdict::AlreadyFinal);
    }
    for bundle in &theirs {
        assert_eq!(verify(&machine, bundle).await, Verdict::Abandoned);
    }
}

#[tokio::test]
async fn an_invalid_ancestor_makes_its_descendants_invalid() {
    let (_world, toys, machine) = world(1);
    let first = on(&toys[0], &machine.genesis(), 1);
    let twice = on(&toys[0], &first, 1);
    let after = on(&toys[0], &twice, 2);
    let verdict = soon(machine.verify(&[twice, first], &after)).await.unwrap();
    assert_eq!(verdict, Verdict::Invalid("register 1 is set".into()));
    assert_eq!(machine.undecided(), 1, "the valid ancestor is kept");
}

#[tokio::test]
async fn a_chain_is_notified_once_of_a_verified_bundle() {
    let (_world, toys, machine) = world(1);
    let bundle = foreign(&toys[0], &machine, 1);
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (machine, bundle) = (Arc::clone(&machine), bundle.clone());
            tokio::spawn(async move { machine.verify(&[], &bundle).await.unwrap() })
        })
        .collect();
    for call in calls {
        assert_eq!(soon(call).await.unwrap(), Verdict::Valid);
    }
    for _ in 0..3 {
        machine.notarized(&bundle.id()).await.unwrap();
    }
    machine.notarized(&Id::ZERO).await.unwrap();
    machine.finalize(&bundle, None).await.unwrap();
    machine.notarized(&bundle.id()).await.unwrap();
    assert_eq!(
        toys[0].take_events(),
        [ChainEvent::Verified(1), ChainEvent::Notarized(1), ChainEvent::Accepted(1)]
    );
}

#[tokio::test]
async fn several_final_bundles_are_one_write() {
    let disk = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let world = World::on(disk.clone());
    let toys = [world.toy(1)];
    let machine = open(&world, &toys);
    let mut events = machine.subscribe();
    let bundles = branch(&toys[0], &machine.genesis(), 1, 20);
    assert_eq!(verify(&machine, &bundles[0]).await, Verdict::Valid);
    let all = || bundles.iter().map(|bundle| (bundle.clone(), Some("proof".into()))).collect();
    let before = disk.writes();
    soon(machine.finalize_all(all())).await.unwrap();
    assert_eq!(disk.writes() - before, 1);
    assert_eq!(machine.last_final(), (20, bundles[19].id()));
    assert_eq!((machine.undecided(), toys[0].get(20), toys[0].total()), (0, Some(7), 20));
    for bundle in &bundles {
        let event = events.recv().await.unwrap();
        let event = event.accepted().unwrap();
        assert_eq!((event.height, event.bundle_id), (bundle.height, bundle.id()));
        let (found, proof) = machine.bundle_at(bundle.height).unwrap().unwrap();
        assert_eq!((&found, proof.unwrap().as_ref()), (bundle, b"proof".as_slice()));
    }
    // Again, with a new one behind them.
    let next = on(&toys[0], &bundles[19], 21);
    let mut more: Vec<_> = all();
    more.push((next.clone(), None));
    soon(machine.finalize_all(more)).await.unwrap();
    assert_eq!((machine.last_final(), toys[0].total()), ((21, next.id()), 21));
    let verified = toys[0]
        .take_events()
        .iter()
        .filter(|event| matches!(event, ChainEvent::Verified(_)))
        .count();
    assert_eq!(verified, 21);
}

/// The first commit waits for the disk; the bundles of the second one are executed meanwhile, those of the third are
/// not.
#[tokio::test]
async fn bundles_are_executed_while_earlier_ones_are_written() {
    let (disk, store, toys, machine) = on_a_disk();
    let bundles = branch(&toys[0], &machine.genesis(), 1, 150);
    disk.refuse_writes(StorageError::Full { size: 7 });
    let call = tokio::spawn({
        let machine = Arc::clone(&machine);
        let all = bundles.iter().map(|bundle| (bundle.clone(), None)).collect();
        async move { machine.finalize_all(all).await }
    });
    until_refused(&store).await;
    soon(async {
        while machine.undecided() < 128 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!((machine.undecided(), machine.last_final().0), (128, 0));
    disk.refuse_writes(None);
    soon(call).await.unwrap().unwrap();
    assert_eq!((machine.undecided(), toys[0].total()), (0, 150));
    assert_eq!(machine.last_final(), (150, bundles[149].id()));
    let mut events = toys[0].take_events();
    events.retain(|event| matches!(event, ChainEvent::Accepted(_)));
    assert_eq!(events, (1..=150).map(ChainEvent::Accepted).collect::<Vec<_>>());
}

/// A block of the toy that is large enough to be prepared.
fn large(number: u64) -> Bytes {
    let op = |value| Op { register: number, value, not_before_ms: 0 };
    block_bytes(&Id::ZERO, number, &(0..200).map(op).collect::<Vec<_>>())
}

#[tokio::test]
async fn announced_blocks_are_prepared_unless_they_are_small_or_verified_before() {
    let (_world, toys, machine) = world(1);
    let (toy, mut prepared) = (&toys[0], toys[0].prepared.subscribe());
    // All threads are busy.
    toy.hold_preparation(true);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.saturating_sub(1).clamp(1, 16);
    let busy: Vec<_> = (1..=threads as u64).map(|number| (toy.id(), large(number))).collect();
    machine.prepare(&busy);
    soon(prepared.wait_for(|blocks| blocks.len() == threads)).await.unwrap();
    let [early, verified, late] = [101, 102, 103].map(large);
    let small = block_bytes(&Id::ZERO, 1, &[]);
    for block in [&early, &small, &verified, &late] {
        machine.prepare(&[(toy.id(), block.clone()), (Id::ZERO, block.clone())]);
    }
    let blocks = vec![(toy.id(), verified)];
    let bundle = Bundle { blocks, ..foreign(toy, &machine, 1) };
    assert!(matches!(verify(&machine, &bundle).await, Verdict::Invalid(_)));
    toy.hold_preparation(false);
    let blocks = soon(prepared.wait_for(|blocks| blocks.contains(&late))).await.unwrap();
    assert_eq!(blocks.len(), threads + 1, "those up to the verified one are left out");
}

#[tokio::test]
async fn those_before_one_that_is_refused_become_final() {
    let (_world, toys, machine) = world(1);
    let mut bundles = branch(&toys[0], &machine.genesis(), 1, 3);
    bundles.push(on(&toys[0], &bundles[2], 2));
    let all = |bundles: &[Bundle]| bundles.iter().map(|bundle| (bundle.clone(), None)).collect();
    let refused = soon(machine.finalize_all(all(&bundles))).await;
    assert!(
        matches!(&refused, Err(FinalizeError::Invalid(reason)) if reason == "register 2 is set")
    );
    assert_eq!(machine.last_final(), (3, bundles[2].id()));
    // One is left out.
    let rest = branch(&toys[0], &bundles[2], 10, 3);
    let gap = [rest[0].clone(), rest[2].clone()];
    let refused = soon(machine.finalize_all(all(&gap))).await;
    assert!(
        matches!(refused, Err(FinalizeError::OutOfOrder { height: 6, last: 4, .. })),
        "{refused:?}"
    );
    assert_eq!(machine.last_final(), (4, rest[0].id()));
}

#[tokio::test]
async fn a_dead_bundle_is_dropped_with_its_descendants() {
    let (_world, toys, machine) = world(1);
    toys[0].set(1, 10);
    let first = propose(&machine).await;
    toys[0].set(2, 20);
    let second = propose_on(&machine, first.id(), 2).await;
    let beside = foreign(&toys[0], &machine, 3);
    assert_eq!(verify(&machine, &beside).await, Verdict::Valid);
    assert_eq!(machine.abandon(&first.id()).await.unwrap(), 2);
    assert_eq!(machine.undecided(), 1);
    assert!(toys[0].take_events().ends_with(&[ChainEvent::Rejected(1), ChainEvent::Rejected(2)]));
    assert_eq!(machine.abandon(&first.id()).await.unwrap(), 0);
    assert_eq!(machine.abandon(&machine.last_final().1).await.unwrap(), 0);
    assert_eq!(verify(&machine, &second).await, Verdict::ParentMissing);
    let both = propose_on(&machine, beside.id(), 2).await;
    machine.finalize_all(vec![(beside, None), (both, None)]).await.unwrap();
    assert_eq!([1, 2, 3].map(|register| toys[0].get(register)), [Some(10), Some(20), Some(7)]);
    // It may live again, should the engine have been wrong.
    assert_eq!(verify(&machine, &first).await, Verdict::Abandoned);
}

#[tokio::test]
async fn the_tree_is_bounded_and_what_is_decided_always_fits() {
    let world = World::on(Arc::new(MemoryStore::new()));
    let toys = [world.toy(1)];
    let config = MachineConfig { max_undecided: 3, ..MachineConfig::default() };
    let machine = open_with(&world, &toys, config);
    let bundles = branch(&toys[0], &machine.genesis(), 1, 5);
    for bundle in &bundles[..3] {
        assert_eq!(verify(&machine, bundle).await, Verdict::Valid);
    }
    let full = machine.verify(&[], &bundles[3]).await;
    assert!(matches!(full, Err(ChainError::TooManyUndecided { bundles: 3, .. })), "{full:?}");
    toys[0].set(9, 9);
    let (_, parent) = machine.last_final();
    let at = ProposeCtx { height: 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
    let full = machine.propose(at).await;
    let kind =
        |error: &ProposeError| matches!(error, ProposeError::Chain(error) if error.is_temporary());
    assert!(full.as_ref().is_err_and(kind), "{full:?}");
    let all = bundles.iter().map(|bundle| (bundle.clone(), None)).collect();
    soon(machine.finalize_all(all)).await.unwrap();
    assert_eq!(machine.last_final().0, 5);

    let config = MachineConfig { max_undecided_bytes: 10_000, ..MachineConfig::default() };
    let world = World::on(Arc::new(MemoryStore::new()));
    let toys = [world.toy(1)];
    let machine = open_with(&world, &toys, config);
    let siblings = (1..).map(|register| foreign(&toys[0], &machine, register));
    for (taken, bundle) in siblings.enumerate() {
        match machine.verify(&[], &bundle).await {
            Ok(verdict) => assert_eq!(verdict, Verdict::Valid),
            Err(ChainError::TooManyUndecided { bundles, bytes }) => {
                assert!(bundles == taken && bytes <= 10_000 && taken > 1, "{bundles} {bytes}");
                break;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn propose_names_the_unusable_parent() {
    let (_world, toys, machine) = world(1);
    toys[0].set(1, 1);
    let on = async |parent, height| {
        let at = ProposeCtx { height, parent, ancestry: &[], wait_until_ms: u64::MAX };
        soon(machine.propose(at)).await
    };
    let unknown = on(Id::sha256(b"x"), 7).await;
    let is_missing = |error: &ProposeError| {
        matches!(error, ProposeError::Parent { verdict: Verdict::ParentMissing, .. })
    };
    assert!(unknown.as_ref().is_err_and(is_missing), "{unknown:?}");
    let (_, last) = machine.last_final();
    let high = on(last, 2).await;
    assert!(matches!(high, Err(ProposeError::Height { wanted: 2, parent: 0 })), "{high:?}");
    assert!(on(last, 1).await.unwrap().is_some());
}

const RETRY: RetryPolicy = RetryPolicy {
    first: Duration::from_millis(1),
    longest: Duration::from_millis(8),
    check: Duration::from_millis(5),
};

/// Two registers of one chain over a disk that may be full.
fn on_a_disk() -> (Arc<FailingStore>, Store, [Arc<Toy>; 1], Arc<Machine>) {
    let disk = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let store = Store::retrying(disk.clone(), RETRY).unwrap();
    let world = World::with(store.clone());
    let toys = [world.toy(1)];
    let machine = open(&world, &toys);
    (disk, store, toys, machine)
}

async fn until_refused(store: &Store) {
    let mut refusal = store.writer.refusal();
    soon(refusal.wait_for(Option::is_some)).await.unwrap();
}

#[tokio::test]
async fn a_finalize_whose_caller_went_away_takes_place_as_a_whole() {
    let (disk, store, toys, machine) = on_a_disk();
    let mut events = machine.subscribe();
    let bundle = foreign(&toys[0], &machine, 1);
    disk.refuse_writes(StorageError::Full { size: 7 });
    let call = {
        let (machine, bundle) = (Arc::clone(&machine), bundle.clone());
        tokio::spawn(async move { machine.finalize(&bundle, None).await })
    };
    until_refused(&store).await;
    call.abort();
    assert!(soon(call).await.unwrap_err().is_cancelled());
    assert_eq!(machine.last_final().0, 0);
    disk.refuse_writes(None);
    assert_eq!(soon(events.recv()).await.unwrap().accepted().unwrap().height, 1);
    assert_eq!(machine.last_final(), (1, bundle.id()));
    assert_eq!(
        (toys[0].get(1), toys[0].take_events()),
        (Some(7), vec![ChainEvent::Verified(1), ChainEvent::Accepted(1)])
    );
}

#[tokio::test]
async fn the_bundle_of_a_proposal_that_nobody_waits_for_is_dropped() {
    let (disk, store, toys, machine) = on_a_disk();
    let held = foreign(&toys[0], &machine, 1);
    disk.refuse_writes(StorageError::Full { size: 7 });
    let finalizing = {
        let machine = Arc::clone(&machine);
        tokio::spawn(async move { machine.finalize(&held, None).await })
    };
    until_refused(&store).await;
    // Both wait behind the disk; the callers go away.
    toys[0].set(2, 20);
    let (_, parent) = machine.last_final();
    let at = ProposeCtx { height: 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
    let short = Duration::from_millis(20);
    assert!(tokio::time::timeout(short, machine.propose(at)).await.is_err());
    let other = foreign(&toys[0], &machine, 3);
    assert!(tokio::time::timeout(short, machine.verify(&[], &other)).await.is_err());
    disk.refuse_writes(None);
    soon(finalizing).await.unwrap().unwrap();
    // The work is still there for who asks next.
    let next = soon(propose(&machine)).await;
    assert_eq!(machine.undecided(), 1);
    soon(machine.finalize(&next, None)).await.unwrap();
    assert_eq!([1, 2, 3].map(|register| toys[0].get(register)), [Some(7), Some(20), None]);
}

#[tokio::test]
async fn work_reaches_the_proposal_that_can_use_it() {
    let (_world, toys, machine) = world(1);
    let first = foreign(&toys[0], &machine, 1);
    assert_eq!(verify(&machine, &first).await, Verdict::Valid);
    let wait = |parent: Id, height| {
        let machine = Arc::clone(&machine);
        tokio::spawn(async move {
            let at = ProposeCtx { height, parent, ancestry: &[], wait_until_ms: u64::MAX };
            machine.propose(at).await.unwrap().unwrap()
        })
    };
    // The first of them gets the work, which its parent has done already.
    let idle = [wait(first.id(), 2), wait(first.id(), 2)];
    let useful = wait(machine.last_final().1, 1);
    // All have looked once, and wait.
    soon(async {
        while toys[0].looks.load(Ordering::SeqCst) < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    toys[0].set(1, 10);
    assert_eq!(soon(useful).await.unwrap().blocks.len(), 1);
    idle.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_machine_that_is_dropped_waits_for_no_disk() {
    let (disk, store, toys, machine) = on_a_disk();
    let bundle = foreign(&toys[0], &machine, 1);
    disk.refuse_writes(StorageError::Full { size: 7 });
    let short = Duration::from_millis(20);
    assert!(tokio::time::timeout(short, machine.finalize(&bundle, None)).await.is_err());
    until_refused(&store).await;
    soon(tokio::task::spawn_blocking(move || drop(machine))).await.unwrap();
    assert_eq!(toys[0].take_events(), [ChainEvent::Verified(1)]);
}

#[tokio::test]
async fn a_chain_that_panics_stops_the_machine() {
    let (_world, toys, machine) = world(1);
    let bundle = foreign(&toys[0], &machine, 1);
    let panics = Bundle { blocks: vec![(toys[0].id(), Toy::PANICS.into())], ..bundle.clone() };
    let stopped = soon(machine.verify(&[], &panics)).await;
    assert!(matches!(stopped, Err(ChainError::Stopped)), "{stopped:?}");
    let stopped = soon(machine.finalize(&bundle, None)).await;
    assert!(matches!(stopped, Err(FinalizeError::Chain(ChainError::Stopped))), "{stopped:?}");
    assert_eq!(machine.last_final().0, 0);
}

#[tokio::test]
async fn a_write_that_failed_changes_nothing_and_can_be_tried_again() {
    let disk = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let world = World::on(disk.clone() as Arc<dyn KvStore>);
    let toys = [world.toy(1)];
    let machine = open(&world, &toys);
    let bundles = branch(&toys[0], &machine.genesis(), 1, 3);
    let all = || bundles.iter().map(|bundle| (bundle.clone(), None)).collect();
    disk.fail_nth_write(1, FailPoint::Before);
    soon(machine.finalize_all(all())).await.unwrap_err();
    assert_eq!((machine.last_final().0, machine.undecided()), (0, 3));
    assert_eq!(toys[0].take_events().len(), 3, "verified, and nothing else");
    soon(machine.finalize_all(all())).await.unwrap();
    assert_eq!((machine.last_final().0, toys[0].total()), (3, 3));
}

/// The toy reads with `unwrap`, so that here a snapshot fails and nothing else.
#[tokio::test]
async fn a_store_that_cannot_be_read_is_no_verdict() {
    let (disk, _store, toys, machine) = on_a_disk();
    let bundle = foreign(&toys[0], &machine, 1);
    disk.fail_nth_read(1);
    let failed = soon(machine.verify(&[], &bundle)).await;
    assert!(matches!(failed, Err(ChainError::Storage(StorageError::Injected))), "{failed:?}");
    disk.fail_nth_read(1);
    toys[0].set(5, 5);
    let (_, parent) = machine.last_final();
    let at = ProposeCtx { height: 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
    let failed = soon(machine.propose(at)).await;
    assert!(matches!(failed, Err(ProposeError::Chain(ChainError::Storage(_)))), "{failed:?}");
    assert_eq!(verify(&machine, &bundle).await, Verdict::Valid);
}

#[tokio::test]
async fn propose_now_waits_while_building_is_paused() {
    let (_world, toys, machine) = world(1);
    let (_, parent) = machine.last_final();
    let pauses = [machine.pause_building(), machine.pause_building()];
    let proposal = |machine: &Arc<Machine>| {
        let machine = Arc::clone(machine);
        tokio::spawn(async move {
            let at = ProposeCtx { height: 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
            machine.propose_now(at).await.unwrap()
        })
    };
    let proposals = [proposal(&machine), proposal(&machine)];
    for pause in pauses {
        toys[0].set(1, 10);
        tokio::task::yield_now().await;
        // The machine answers in order: the proposals were refused before.
        machine.lowest_rewind().await.unwrap();
        tokio::task::yield_now().await;
        assert!(proposals.iter().all(|proposal| !proposal.is_finished()));
        drop(pause);
    }
    for proposal in proposals {
        assert_eq!(soon(proposal).await.unwrap().height, 1);
    }
}
