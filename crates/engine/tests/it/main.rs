//! Engines over the toy chain of the machine's tests.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::{
    ChainError, ChainMachine, ChainVm, Engine, EngineError, FinalizeError, Machine, MachineConfig,
    MachineEvent, Shutdown, Undo, UndoLimits,
};
use esker_engine::{GatedSolo, Solo};
use esker_storage::{FailingStore, MemoryStore, RetryPolicy, StorageError, Store};
use esker_testkit::toy::{ChainEvent, Toy, World};

/// The tests take less time than this.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: RetryPolicy = RetryPolicy {
    first: Duration::from_millis(1),
    longest: Duration::from_millis(8),
    check: Duration::from_millis(5),
};

fn open() -> (Arc<Toy>, Arc<Machine>) {
    open_on(World::on(Arc::new(MemoryStore::new())))
}

fn open_on(world: World) -> (Arc<Toy>, Arc<Machine>) {
    let toy = world.toy(1);
    let chains = vec![Arc::clone(&toy) as Arc<dyn ChainVm>];
    let config = MachineConfig {
        check_proposals: true,
        undo: Undo::Keep(UndoLimits::bundles(10)),
        decides_alone: true,
        ..MachineConfig::default()
    };
    let machine = Machine::open(chains, world.store, world.clock, world.work, config).unwrap();
    (toy, machine)
}

fn start<E: Engine>(
    engine: &Arc<E>,
    machine: &Arc<Machine>,
) -> (esker_chain::ShutdownTrigger, tokio::task::JoinHandle<Result<(), EngineError>>) {
    let (trigger, stop) = Shutdown::new();
    let machine = Arc::clone(machine) as Arc<dyn ChainMachine>;
    (trigger, tokio::spawn(Arc::clone(engine).run(machine, stop)))
}

#[tokio::test]
async fn solo_accepts_submissions_and_stops() {
    let (toy, machine) = open();
    let mut events = machine.subscribe();
    let engine = Arc::new(Solo::new());
    let (trigger, running) = start(&engine, &machine);
    for register in 1..=3 {
        toy.set(register, register * 10);
        events.recv().await.unwrap();
        assert_eq!(toy.get(register), Some(register * 10));
    }
    trigger.trigger();
    running.await.unwrap().unwrap();
    assert_eq!(machine.last_final().0, 3);
}

#[tokio::test]
async fn solo_proposes_waiting_transactions_in_one_block() {
    let (toy, machine) = open();
    let mut events = machine.subscribe();
    for register in 0..100 {
        toy.set(register, 1);
    }
    let (_trigger, _running) = start(&Arc::new(Solo::new()), &machine);
    let event = events.recv().await.unwrap();
    let event = event.accepted().unwrap();
    assert_eq!(event.height, 1);
    assert_eq!(toy.get(99), Some(1), "one block holds them all");
}

#[tokio::test]
async fn a_held_bundle_is_undecided_until_the_gate_opens() {
    let (toy, machine) = open();
    let mut events = machine.subscribe();
    let (engine, mut gate) = GatedSolo::new();
    let engine = Arc::new(engine);
    let (trigger, running) = start(&engine, &machine);
    toy.set(1, 10);
    gate.wait_until_held(1).await;
    assert_eq!((toy.get(1), machine.undecided()), (None, 1));
    let seen = [ChainEvent::Verified(1), ChainEvent::Notarized(1)];
    assert_eq!(toy.take_events(), seen);
    gate.open_once();
    events.recv().await.unwrap();
    assert_eq!((toy.get(1), machine.undecided()), (Some(10), 0));
    trigger.trigger();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn solo_goes_on_from_an_older_bundle() {
    let (toy, machine) = open();
    let mut events = machine.subscribe();
    let engine = Arc::new(Solo::new());
    let (trigger, running) = start(&engine, &machine);
    for register in 1..=3 {
        toy.set(register, 1);
        events.recv().await.unwrap();
    }
    for round in 1..=20 {
        // In some rounds a bundle is in progress.
        if round % 2 == 0 {
            toy.set(100 + round, 1);
        }
        let (last, _) = machine.last_final();
        // The engine may finalize one more bundle meanwhile, which is rewound too.
        machine.rewind(last.saturating_sub(1)).await.unwrap();
        toy.set(10 + round, 1);
        let patience = std::time::Instant::now();
        while toy.get(10 + round).is_none() {
            assert!(patience.elapsed() < PATIENCE, "round {round}");
            tokio::task::yield_now().await;
        }
    }
    machine.rewind(machine.last_final().0.saturating_sub(1)).await.unwrap();
    let (height, _) = machine.last_final();
    let patience = std::time::Instant::now();
    while engine.status().tip_final != height {
        assert!(patience.elapsed() < PATIENCE, "{} of {height}", engine.status().tip_final);
        tokio::task::yield_now().await;
    }
    assert!(!running.is_finished());
    trigger.trigger();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_held_bundle_whose_parent_is_taken_back_is_let_go() {
    let (toy, machine) = open();
    let (engine, mut gate) = GatedSolo::new();
    let (trigger, running) = start(&Arc::new(engine), &machine);
    let mut events = machine.subscribe();
    for height in 1..=2 {
        toy.set(height, 1);
        gate.open_once();
        let event = events.recv().await.unwrap();
        assert_eq!(event.accepted().unwrap().height, height);
    }
    toy.set(3, 1);
    gate.wait_until_held(3).await;
    machine.rewind(1).await.unwrap();
    assert_eq!(machine.undecided(), 0);
    assert!(matches!(events.recv().await.unwrap(), MachineEvent::Rewound(_)));
    // The first pass is for the bundle that can no longer become final.
    gate.open_once();
    gate.open_once();
    let event = events.recv().await.unwrap();
    assert_eq!(event.accepted().unwrap().height, 2);
    assert_eq!((toy.get(2), toy.get(3)), (None, Some(1)), "what was undecided waited again");
    trigger.trigger();
    running.await.unwrap().unwrap();
}

/// Waits until the engine's store takes no writes, or takes them again.
async fn until_refused(store: &Store, refused: bool) {
    let mut refusal = store.writer.refusal();
    let seen = refusal.wait_for(|refusal| refusal.is_some() == refused);
    let waited = tokio::time::timeout(PATIENCE, seen).await;
    waited.unwrap_or_else(|_| panic!("the store is still not refusing: {refused}")).unwrap();
}

#[tokio::test]
async fn a_full_disk_holds_solo_and_nothing_is_lost() {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let store = Store::retrying(failing.clone(), RETRY).unwrap();
    let (toy, machine) = open_on(World::with(store.clone()));
    let mut events = machine.subscribe();
    let (trigger, running) = start(&Arc::new(Solo::new()), &machine);
    toy.set(1, 10);
    assert_eq!(events.recv().await.unwrap().accepted().unwrap().height, 1);
    for round in 1..=3 {
        failing.refuse_writes(StorageError::io("database", ErrorKind::StorageFull.into()));
        toy.set(round * 2, round);
        until_refused(&store, true).await;
        toy.set(round * 2 + 1, round);
        assert_eq!(toy.get(round * 2), None);
        assert!(events.try_recv().is_err(), "no event before the commit");
        failing.refuse_writes(None);
        for height in [round * 2, round * 2 + 1] {
            assert_eq!(events.recv().await.unwrap().accepted().unwrap().height, height);
        }
        assert_eq!((toy.get(round * 2), toy.get(round * 2 + 1)), (Some(round), Some(round)));
    }
    trigger.trigger();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn solo_goes_on_when_the_store_can_be_read_again() {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let world = World::with(Store::retrying(failing.clone(), RETRY).unwrap());
    let clock = Arc::clone(&world.clock);
    let (toy, machine) = open_on(world);
    let mut events = machine.subscribe();
    failing.refuse_reads(StorageError::TooManySnapshots { max: 7 });
    toy.set(1, 10);
    let (_trigger, running) = start(&Arc::new(Solo::new()), &machine);
    // The engine has tried to write, and waits.
    tokio::task::yield_now().await;
    assert!(!running.is_finished());
    failing.refuse_reads(None);
    clock.advance(1_000);
    events.recv().await.unwrap();
    assert_eq!(toy.get(1), Some(10));
}

#[tokio::test]
async fn solo_is_released_from_a_full_disk_at_the_end() {
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let store = Store::retrying(failing.clone(), RETRY).unwrap();
    let (toy, machine) = open_on(World::with(store.clone()));
    let (trigger, running) = start(&Arc::new(Solo::new()), &machine);
    failing.refuse_writes(StorageError::io("database", ErrorKind::StorageFull.into()));
    toy.set(1, 10);
    until_refused(&store, true).await;
    trigger.trigger();
    store.writer.stop_waiting().await;
    let ended = tokio::time::timeout(PATIENCE, running).await.unwrap().unwrap();
    let error = ended.unwrap_err();
    assert!(matches!(
        error,
        EngineError::Finalize(FinalizeError::Chain(ChainError::Storage(StorageError::Refused(_))))
    ));
    assert_eq!((toy.get(1), machine.last_final().0), (None, 0));
}
