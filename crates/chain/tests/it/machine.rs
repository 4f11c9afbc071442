//! Proposing, verifying and finalizing, with siblings, overlays and waiting.

use std::ops::ControlFlow;
use std::sync::Arc;

use esker_chain::tables::CHAINS;
use esker_chain::{
    Bundle, ChainMachine, ChainVm, FinalizeError, MAX_BUNDLE_AHEAD_MS, MAX_BUNDLE_TIME_MS, Machine,
    MachineConfig, ProposeCtx, ProposeError, Verdict,
};
use esker_primitives::{ChainId, Id};
use esker_storage::{MemoryStore, Scope, WriteSet};
use esker_testkit::toy::{ChainEvent, Op, TIP, Toy, World, block_bytes};

pub(crate) fn open(world: &World, toys: &[Arc<Toy>]) -> Arc<Machine> {
    open_with(world, toys, MachineConfig { check_proposals: true, ..MachineConfig::default() })
}

pub(crate) fn open_with(world: &World, toys: &[Arc<Toy>], config: MachineConfig) -> Arc<Machine> {
    let chains = toys.iter().map(|toy| Arc::clone(toy) as Arc<dyn ChainVm>).collect();
    Machine::open(chains, world.store.clone(), world.clock.clone(), world.work.clone(), config)
        .unwrap()
}

pub(crate) fn world(chains: u16) -> (World, Vec<Arc<Toy>>, Arc<Machine>) {
    let world = World::on(Arc::new(MemoryStore::new()));
    let toys: Vec<_> = (1..=chains).map(|number| world.toy(number)).collect();
    let machine = open(&world, &toys);
    (world, toys, machine)
}

pub(crate) async fn propose(machine: &Machine) -> Bundle {
    let (height, parent) = machine.last_final();
    propose_on(machine, parent, height + 1).await
}

pub(crate) async fn propose_on(machine: &Machine, parent: Id, height: u64) -> Bundle {
    let at = ProposeCtx { height, parent, ancestry: &[], wait_until_ms: u64::MAX };
    machine.propose(at).await.unwrap().unwrap()
}

/// A bundle of one block that another node might have made.
pub(crate) fn foreign(toy: &Toy, machine: &Machine, register: u64) -> Bundle {
    let (height, parent) = machine.last_final();
    let (last, _) = machine.bundle_at(height).unwrap().unwrap();
    let tip = Id::sha256(&last.blocks[0].1);
    let op = Op { register, value: 7, not_before_ms: 0 };
    let block = block_bytes(&tip, height + 1, &[op]);
    let blocks = vec![(toy.id(), block)];
    Bundle {
        version: 0,
        commitment: Id::ZERO,
        parent,
        height: height + 1,
        timestamp_ms: 1_000_000,
        blocks,
    }
}

#[tokio::test]
async fn a_proposal_becomes_final_and_is_found_again() {
    let (_world, toys, machine) = world(2);
    toys[0].set(1, 10);
    toys[1].set(1, 20);
    let bundle = propose(&machine).await;
    assert_eq!(bundle.blocks.len(), 2, "both chains had work");
    assert_eq!(toys[0].get(1), None, "nothing is written before it is final");

    machine.finalize(&bundle, Some(b"proof".as_slice().into())).await.unwrap();
    assert_eq!((toys[0].get(1), toys[1].get(1)), (Some(10), Some(20)));
    assert_eq!(machine.last_final(), (1, bundle.id()));
    let (found, proof) = machine.bundle_at(1).unwrap().unwrap();
    assert_eq!((found, proof.unwrap().as_ref()), (bundle, b"proof".as_slice()));
    assert_eq!(toys[0].take_events(), [ChainEvent::Verified(1), ChainEvent::Accepted(1)]);
    assert!(machine.bundle_at(2).unwrap().is_none());
}

#[tokio::test]
async fn finalize_again_changes_nothing_and_another_bundle_is_refused() {
    let (_world, toys, machine) = world(1);
    let other = foreign(&toys[0], &machine, 2);
    toys[0].set(1, 10);
    let bundle = propose(&machine).await;
    machine.finalize(&bundle, None).await.unwrap();
    toys[0].take_events();
    machine.finalize(&bundle, None).await.unwrap();
    assert_eq!(toys[0].take_events(), [], "the chain is notified of a bundle once");
    let refused = machine.finalize(&other, None).await;
    assert!(matches!(refused, Err(FinalizeError::Conflict { height: 1, .. })), "{refused:?}");
    let gap = Bundle { height: 5, parent: Id::sha256(b"?"), ..other };
    let refused = machine.finalize(&gap, None).await;
    assert!(matches!(refused, Err(FinalizeError::OutOfOrder { last: 1, .. })), "{refused:?}");
}

#[tokio::test]
async fn a_dropped_sibling_returns_its_work() {
    let (_world, toys, machine) = world(1);
    toys[0].set(1, 10);
    let _ours = propose(&machine).await;
    let theirs = foreign(&toys[0], &machine, 2);
    assert_eq!(machine.verify(&[], &theirs).await.unwrap(), Verdict::Valid);
    assert_eq!(machine.undecided(), 2);

    machine.finalize(&theirs, None).await.unwrap();
    assert_eq!((toys[0].get(1), toys[0].get(2)), (None, Some(7)));
    assert_eq!(machine.undecided(), 0, "the sibling's overlay is gone");
    assert!(toys[0].take_events().ends_with(&[ChainEvent::Accepted(1), ChainEvent::Rejected(1)]));
    let again = propose(&machine).await;
    machine.finalize(&again, None).await.unwrap();
    assert_eq!(toys[0].get(1), Some(10), "the dropped work is done in the next bundle");
}

#[tokio::test]
async fn overlays_of_depth_two_see_their_ancestors() {
    let (_world, toys, machine) = world(1);
    toys[0].set(1, 10);
    let first = propose(&machine).await;
    toys[0].set(2, 20);
    let second = propose_on(&machine, first.id(), 2).await;
    assert_eq!(machine.undecided(), 2);

    // A third that repeats the first's work is refused through two layers.
    let tip = Id::sha256(&second.blocks[0].1);
    let repeat = Op { register: 1, value: 1, not_before_ms: 0 };
    let third = Bundle {
        version: Bundle::VERSION,
        commitment: Id::ZERO,
        parent: second.id(),
        height: 3,
        timestamp_ms: second.timestamp_ms,
        blocks: vec![(toys[0].id(), block_bytes(&tip, 3, &[repeat]))],
    };
    let verdict = machine.verify(&[], &third).await.unwrap();
    assert_eq!(verdict, Verdict::Invalid("register 1 is set".into()));

    machine.finalize(&first, None).await.unwrap();
    assert_eq!(machine.undecided(), 1, "the child of a final bundle stays");
    machine.finalize(&second, None).await.unwrap();
    assert_eq!((toys[0].get(1), toys[0].get(2)), (Some(10), Some(20)));
}

#[tokio::test]
async fn ancestry_is_executed_where_it_is_missing() {
    let (_, toys, maker) = world(1);
    toys[0].set(1, 10);
    let first = propose(&maker).await;
    toys[0].set(2, 20);
    let second = propose_on(&maker, first.id(), 2).await;

    let (_world, _toys, machine) = world(1);
    assert_eq!(machine.verify(&[], &second).await.unwrap(), Verdict::ParentMissing);
    let ancestry = [first.clone()];
    assert_eq!(machine.verify(&ancestry, &second).await.unwrap(), Verdict::Valid);
    machine.finalize(&first, None).await.unwrap();
    machine.finalize(&second, None).await.unwrap();
    assert_eq!(machine.last_final(), (2, second.id()));
}

#[tokio::test]
async fn the_form_of_a_bundle_is_checked() {
    let (_world, toys, machine) = world(2);
    let good = foreign(&toys[0], &machine, 1);
    let check = async |bundle: Bundle, text: &str| match machine.verify(&[], &bundle).await.unwrap()
    {
        Verdict::Invalid(reason) => assert!(reason.contains(text), "{reason}"),
        other => panic!("{other:?}, not: {text}"),
    };
    let block = good.blocks[0].1.clone();
    let blocks = |ids: &[ChainId]| ids.iter().map(|id| (*id, block.clone())).collect();
    check(Bundle { version: 2, ..good.clone() }, "unknown bundle version 2").await;
    check(Bundle { height: 2, ..good.clone() }, "its parent has 0").await;
    let never = Bundle { timestamp_ms: MAX_BUNDLE_TIME_MS + 1, ..good.clone() };
    check(never, "after the year 9999").await;
    check(Bundle { blocks: blocks(&[Id::ZERO]), ..good.clone() }, "unknown chain").await;
    let (a, b) = (toys[0].id(), toys[1].id());
    check(Bundle { blocks: blocks(&[b, a]), ..good.clone() }, "order of the chains").await;
    check(Bundle { blocks: blocks(&[a, a]), ..good.clone() }, "order of the chains").await;
    let broken = vec![(a, bytes::Bytes::from_static(b"x"))];
    check(Bundle { blocks: broken, ..good.clone() }, "insufficient length").await;
    assert_eq!(machine.verify(&[], &good).await.unwrap(), Verdict::Valid);
    machine.finalize(&good, None).await.unwrap();
    let late = foreign(&toys[0], &machine, 2);
    check(Bundle { timestamp_ms: 1, ..late }, "older than its parent").await;
}

#[tokio::test]
async fn a_heartbeat_moves_no_chain() {
    let (_world, toys, machine) = world(1);
    let (_, parent) = machine.last_final();
    let beat = Bundle {
        version: 0,
        commitment: Id::ZERO,
        parent,
        height: 1,
        timestamp_ms: 1_000_000,
        blocks: Vec::new(),
    };
    assert_eq!(machine.verify(&[], &beat).await.unwrap(), Verdict::Valid);
    machine.finalize(&beat, None).await.unwrap();
    assert_eq!(machine.last_final(), (1, beat.id()));
    assert_eq!(machine.bundle_at(1).unwrap().unwrap().0, beat);
    assert_eq!(toys[0].take_events(), []);
}

/// A bundle whose block is valid from 1,005,000 ms on.
fn early(toy: &Toy, machine: &Machine) -> Bundle {
    let mut bundle = foreign(toy, machine, 1);
    let tip = Id::sha256(&machine.genesis().blocks[0].1);
    let op = Op { register: 1, value: 7, not_before_ms: 1_005_000 };
    bundle.blocks[0].1 = block_bytes(&tip, 1, &[op]);
    bundle
}

#[tokio::test]
async fn an_early_block_is_not_valid_yet_and_nobody_waits() {
    let (world, toys, machine) = world(1);
    let bundle = early(&toys[0], &machine);
    let reason = "an op is early".to_owned();
    let not_yet = Verdict::NotYet { until_ms: 1_005_000, reason };
    assert_eq!(machine.verify(&[], &bundle).await.unwrap(), not_yet);
    let refused = machine.finalize(&bundle, None).await;
    assert!(
        matches!(refused, Err(FinalizeError::NotYet { until_ms: 1_005_000, .. })),
        "{refused:?}"
    );
    assert_eq!(machine.undecided(), 0);
    world.clock.advance(5_000);
    assert_eq!(machine.verify(&[], &bundle).await.unwrap(), Verdict::Valid);
}

#[tokio::test]
async fn a_bundle_far_ahead_of_the_clock_is_not_valid_yet() {
    let (world, toys, machine) = world(1);
    let at = |timestamp_ms| Bundle { timestamp_ms, ..foreign(&toys[0], &machine, 1) };
    let latest = 1_000_000 + MAX_BUNDLE_AHEAD_MS;
    assert_eq!(machine.verify(&[], &at(latest)).await.unwrap(), Verdict::Valid);
    for (time_ms, until_ms) in
        [(latest + 1, 1_000_001), (MAX_BUNDLE_TIME_MS, MAX_BUNDLE_TIME_MS - MAX_BUNDLE_AHEAD_MS)]
    {
        let verdict = machine.verify(&[], &at(time_ms)).await.unwrap();
        assert!(
            matches!(verdict, Verdict::NotYet { until_ms: u, .. } if u == until_ms),
            "{verdict:?}"
        );
    }
    machine.finalize(&at(latest), None).await.unwrap();
    // The clock is set back: a bundle as late as its parent is as good.
    world.clock.set(500_000);
    let (height, parent) = machine.last_final();
    let beat = |timestamp_ms| Bundle {
        version: 0,
        commitment: Id::ZERO,
        parent,
        height: height + 1,
        timestamp_ms,
        blocks: Vec::new(),
    };
    assert_eq!(machine.verify(&[], &beat(latest)).await.unwrap(), Verdict::Valid);
    let later = machine.verify(&[], &beat(latest + 1)).await.unwrap();
    assert!(matches!(later, Verdict::NotYet { .. }), "{later:?}");
    let never = machine.verify(&[], &beat(u64::MAX)).await.unwrap();
    assert!(matches!(never, Verdict::Invalid(_)), "{never:?}");
}

#[tokio::test]
async fn propose_waits_for_work_up_to_its_deadline() {
    let (world, toys, machine) = world(1);
    let (_, parent) = machine.last_final();
    let at = ProposeCtx { height: 1, parent, ancestry: &[], wait_until_ms: 1_000_100 };
    let idle = {
        let machine = Arc::clone(&machine);
        tokio::spawn(async move { machine.propose(at).await.unwrap() })
    };
    tokio::task::yield_now().await;
    world.clock.advance(100);
    assert_eq!(idle.await.unwrap(), None);

    toys[0].submit(Op { register: 1, value: 7, not_before_ms: 1_000_300 });
    let later = {
        let machine = Arc::clone(&machine);
        tokio::spawn(async move { propose(&machine).await })
    };
    tokio::task::yield_now().await;
    assert!(!later.is_finished());
    world.clock.advance(200);
    assert_eq!(later.await.unwrap().blocks.len(), 1);
}

#[tokio::test]
async fn propose_now_builds_a_bundle_without_blocks_when_no_chain_has_work() {
    let (_world, toys, machine) = world(1);
    let (_, parent) = machine.last_final();
    let at = ProposeCtx { height: 1, parent, ancestry: &[], wait_until_ms: 0 };
    let empty = machine.propose_now(at).await.unwrap();
    assert_eq!((empty.height, empty.timestamp_ms, empty.blocks.len()), (1, 1_000_000, 0));
    machine.finalize(&empty, None).await.unwrap();
    toys[0].set(1, 10);
    let at = ProposeCtx { height: 2, parent: empty.id(), ancestry: &[], wait_until_ms: 0 };
    assert_eq!(machine.propose_now(at).await.unwrap().blocks.len(), 1);
    let at = ProposeCtx { height: 3, parent: empty.id(), ancestry: &[], wait_until_ms: 0 };
    assert!(matches!(machine.propose_now(at).await, Err(ProposeError::Height { .. })));
}

#[tokio::test]
async fn final_bundles_are_found_by_id_where_several_nodes_decide() {
    for decides_alone in [false, true] {
        let world = World::on(Arc::new(MemoryStore::new()));
        let toy = world.toy(1);
        let config = MachineConfig { decides_alone, ..MachineConfig::default() };
        let machine = Machine::open(
            vec![Arc::clone(&toy) as Arc<dyn ChainVm>],
            world.store.clone(),
            world.clock.clone(),
            Arc::clone(&world.work),
            config,
        );
        let machine = machine.unwrap();
        let mut ids = vec![machine.genesis().id()];
        for register in 1..=3 {
            toy.set(register, 1);
            let bundle = propose(&machine).await;
            assert_eq!(machine.height_of(&bundle.id()).unwrap(), None, "it is undecided");
            machine.finalize(&bundle, None).await.unwrap();
            ids.push(bundle.id());
        }
        let found: Vec<_> = ids.iter().map(|id| machine.height_of(id).unwrap()).collect();
        match decides_alone {
            false => assert_eq!(found, [Some(0), Some(1), Some(2), Some(3)]),
            true => assert_eq!(found, [Some(0), None, None, Some(3)]),
        }
    }
}

#[tokio::test]
async fn events_come_after_the_commit() {
    let (_world, toys, machine) = world(1);
    let mut events = machine.subscribe();
    toys[0].set(1, 10);
    let bundle = propose(&machine).await;
    assert!(events.try_recv().is_err());
    machine.finalize(&bundle, None).await.unwrap();
    let event = events.recv().await.unwrap();
    let event = event.accepted().unwrap();
    assert_eq!((event.height, event.bundle_id), (1, bundle.id()));
    assert_eq!(event.blocks[0].0, toys[0].id());
}

/// A start that is refused leaves the store as it was, with a chain that is new to it, too.
#[tokio::test]
async fn a_refused_start_writes_nothing() {
    let (world, toys, machine) = world(2);
    drop(machine);
    let dump = || {
        let mut rows = Vec::new();
        let mut visit = |key: &[u8], value: &[u8]| {
            rows.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        world.store.snapshot().unwrap().scan(&[], None, &mut visit).unwrap();
        rows
    };
    let change = async |change: &dyn Fn(&mut WriteSet)| {
        let mut out = WriteSet::new();
        change(&mut out);
        world.store.commit(out).await.unwrap();
    };
    let refused = |toys: &[Arc<Toy>]| {
        let chains = toys.iter().map(|toy| Arc::clone(toy) as Arc<dyn ChainVm>).collect();
        let (store, clock) = (world.store.clone(), world.clock.clone());
        let config = MachineConfig::default();
        Machine::open(chains, store, clock, world.work.clone(), config).unwrap_err().to_string()
    };
    let with_new = [&toys[..], &[world.toy(3)]].concat();
    let id = toys[0].context().chain_id;

    // A chain that has blocks is not begun again.
    change(&|out| CHAINS.delete(out, Scope::NODE, id.as_bytes())).await;
    let before = dump();
    assert!(refused(&with_new).contains(&format!("the entry of chain {id} is missing")));
    assert_eq!(dump(), before);

    // One that is damaged keeps another one from beginning.
    change(&|out| CHAINS.put(out, Scope::NODE, id.as_bytes(), &())).await;
    change(&|out| TIP.delete(out, toys[1].context().scope, &())).await;
    let before = dump();
    assert!(refused(&with_new).contains("no tip"));
    assert_eq!(dump(), before);
}
