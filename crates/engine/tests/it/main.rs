//! Engines over the toy chain of the machine's tests.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

#[path = "../../../chain/tests/it/toy.rs"]
#[expect(dead_code, reason = "the machine's tests use more of it")]
mod toy;

use std::sync::Arc;

use esker_chain::{
    ChainMachine, ChainVm, Engine, EngineError, Machine, MachineConfig, Shutdown, Stage,
};
use esker_engine::{Holding, Solo};
use esker_storage::MemoryStore;

use toy::{Told, Toy, World};

fn open() -> (Arc<Toy>, Arc<Machine>) {
    let world = World::on(Arc::new(MemoryStore::new()));
    let toy = world.toy(1);
    let chains = vec![Arc::clone(&toy) as Arc<dyn ChainVm>];
    let config = MachineConfig { check_proposals: true, ..MachineConfig::default() };
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
async fn solo_accepts_what_is_submitted_and_stops_when_told() {
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
async fn solo_gathers_what_comes_while_it_is_not_looking() {
    let (toy, machine) = open();
    let mut events = machine.subscribe();
    for register in 0..100 {
        toy.set(register, 1);
    }
    let (_trigger, _running) = start(&Arc::new(Solo::new()), &machine);
    let event = events.recv().await.unwrap();
    assert_eq!(event.height, 1);
    assert_eq!(toy.get(99), Some(1), "one block holds them all");
}

#[tokio::test]
async fn a_held_bundle_is_undecided_until_the_gate_opens() {
    let (toy, machine) = open();
    let mut events = machine.subscribe();
    let (engine, mut gate) = Holding::new();
    let engine = Arc::new(engine);
    let (trigger, running) = start(&engine, &machine);
    toy.set(1, 10);
    gate.wait_for_held(1).await;
    assert_eq!((toy.get(1), machine.undecided()), (None, 1));
    let seen = [Told::Seen(1, Stage::Verified), Told::Seen(1, Stage::Notarized)];
    assert_eq!(toy.told(), seen);
    gate.open_once();
    events.recv().await.unwrap();
    assert_eq!((toy.get(1), machine.undecided()), (Some(10), 0));
    trigger.trigger();
    running.await.unwrap().unwrap();
}
