//! Four validators over real sockets of this machine, with real files.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use esker_chain::{
    ChainMachine, ChainVm, Engine, EngineError, Machine, MachineConfig, Role, Shutdown,
    ShutdownTrigger,
};
use esker_primitives::clock::ManualClock;
use esker_storage::{FailingStore, KvStore, MemoryStore, StorageError};
use esker_testkit::toy::{Toy, World};
use esker_validators::{
    MemoryChangeLog, Timings, ValidatorAddress, ValidatorConfig, ValidatorEngine as _,
    ValidatorKey, ValidatorPublicKey,
};

use crate::BftEngine;
use crate::tests::toy_pool;

pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// The moment at which the clocks of all nodes have the same time.
static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Lets a node's clock run.
struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    fn start(clock: Arc<ManualClock>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let elapsed = u64::try_from(BEGUN.elapsed().as_millis()).unwrap();
                clock.set(1_700_000_000_000 + elapsed);
                thread::park_timeout(Duration::from_millis(5));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

pub(crate) struct Node {
    pub(crate) toy: Arc<Toy>,
    pub(crate) machine: Arc<Machine>,
    pub(crate) engine: Arc<BftEngine>,
    stop: ShutdownTrigger,
    pub(crate) running: tokio::task::JoinHandle<Result<(), EngineError>>,
    _ticker: Ticker,
}

impl Node {
    pub(crate) fn start(config: ValidatorConfig, kv: Arc<dyn KvStore>) -> Self {
        let world = World::on(kv);
        let ticker = Ticker::start(Arc::clone(&world.clock));
        let toy = world.toy(1);
        let chains = vec![Arc::clone(&toy) as Arc<dyn ChainVm>];
        toy_pool::register(&toy, &world.pools);
        let machine =
            Machine::open(chains, world.store, world.clock, world.work, MachineConfig::default())
                .unwrap();
        let config = ValidatorConfig { pools: world.pools, ..config };
        let engine = Arc::new(BftEngine::new(config));
        let (stop, stopped) = Shutdown::new();
        let driven = Arc::clone(&machine) as Arc<dyn ChainMachine>;
        let running = tokio::spawn(Arc::clone(&engine).run(driven, stopped));
        Self { toy, machine, engine, stop, running, _ticker: ticker }
    }

    pub(crate) async fn stop(self) {
        self.stop.trigger();
        let ended = tokio::time::timeout(PATIENCE, self.running).await;
        ended.expect("the engine ends when it is told to").unwrap().unwrap();
    }
}

/// Waits until a condition is true.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Free ports of this machine. None that the system gives to outgoing connections: such a connection could have it
/// while a validator is down.
pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let of_process = u16::try_from(std::process::id() % 900).unwrap() * 20;
    let next = || 10_000 + (of_process + TAKEN.fetch_add(1, Ordering::Relaxed)) % 20_000;
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    std::iter::repeat_with(next).filter(is_free).take(count).collect()
}

pub(crate) fn configs(folder: &Path, count: u8) -> Vec<ValidatorConfig> {
    let keys: Vec<_> = (1..=count).map(|n| ValidatorKey::from_bytes(&[n; 32])).collect();
    let listens: Vec<SocketAddr> = free_ports(keys.len())
        .into_iter()
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .collect();
    let validators: Vec<(ValidatorPublicKey, ValidatorAddress)> = keys
        .iter()
        .zip(&listens)
        .map(|(key, listen)| (key.public_key(), listen.to_string().parse().unwrap()))
        .collect();
    let config = |(key, listen): (ValidatorKey, SocketAddr)| ValidatorConfig {
        folder: folder.join(key.public_key().to_string()),
        key,
        network: 12345,
        validators: validators.clone(),
        changes: Arc::new(MemoryChangeLog::default()),
        given_changes: Vec::new(),
        followers: Vec::new(),
        is_new_key: true,
        key_lock: None,
        listen,
        timings: Timings::default(),
        pools: Arc::default(),
    };
    keys.into_iter().zip(listens).map(config).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn validators_decide_together_and_one_that_was_down_catches_up() {
    let folder = tempfile::tempdir().unwrap();
    let configs = configs(folder.path(), 4);
    let stores: Vec<Arc<dyn KvStore>> =
        (0..4).map(|_| Arc::new(MemoryStore::new()) as Arc<dyn KvStore>).collect();
    let start = |node: usize| Node::start(configs[node].clone(), Arc::clone(&stores[node]));
    let mut nodes: Vec<Node> = (0..4).map(start).collect();

    nodes[0].toy.set(1, 10);
    until("all nodes have the transaction of the first", || {
        nodes.iter().all(|node| node.toy.get(1) == Some(10))
    })
    .await;
    until("each node counts its three peers", || {
        nodes.iter().all(|node| node.engine.status().peers == 3)
    })
    .await;
    let status = nodes[3].engine.status();
    assert_eq!(status.role, Role::Validator);
    let stats = nodes[3].engine.stats();
    assert_eq!((stats.validators, stats.quorum), (4, 3));
    assert!(stats.finalized >= 1 && stats.round >= stats.finalized, "{stats:?}");
    assert!(status.tip_final >= 1 && status.tip_seen >= status.tip_final, "{status:?}");

    // Three decide without the fourth.
    let fourth = nodes.pop().unwrap();
    let height = fourth.machine.last_final().0;
    fourth.stop().await;
    for register in 2..=6 {
        nodes[(register % 3) as usize].toy.set(register, 1);
        until("three nodes decide", || nodes.iter().all(|node| node.toy.get(register) == Some(1)))
            .await;
    }
    let fourth = start(3);
    assert!(fourth.machine.last_final().0 <= height + 1);
    until("the fourth has what it missed", || fourth.toy.get(6) == Some(1)).await;
    fourth.toy.set(7, 1);
    until("the fourth proposes again", || nodes.iter().all(|node| node.toy.get(7) == Some(1)))
        .await;

    let common = nodes[0].machine.last_final().0.min(fourth.machine.last_final().0);
    for height in 0..=common {
        let bundle = |node: &Node| node.machine.bundle_at(height).unwrap().unwrap();
        let (first, _) = bundle(&nodes[0]);
        assert_eq!(first, bundle(&fourth).0, "height {height}");
        assert_eq!(nodes[0].machine.height_of(&first.id()).unwrap(), Some(height));
    }
    let proofs = (1..=common)
        .filter(|height| nodes[0].machine.bundle_at(*height).unwrap().unwrap().1.is_some());
    assert!(proofs.count() > 0, "certificates are stored with the bundles");
    nodes.push(fourth);
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validator_whose_store_can_not_be_read_for_a_moment_runs_on() {
    let folder = tempfile::tempdir().unwrap();
    let configs = configs(folder.path(), 4);
    let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let start =
        |config: &ValidatorConfig| Node::start(config.clone(), Arc::new(MemoryStore::new()));
    let mut nodes: Vec<Node> = configs[..3].iter().map(start).collect();
    nodes.push(Node::start(configs[3].clone(), failing.clone()));
    nodes[0].toy.set(1, 1);
    until("all decide", || nodes.iter().all(|node| node.toy.get(1) == Some(1))).await;
    let height = nodes[3].machine.last_final().0;
    failing.refuse_reads(StorageError::TooManySnapshots { max: 1 });
    for register in 2..=4 {
        nodes[0].toy.set(register, 1);
        until("three decide", || nodes[..3].iter().all(|node| node.toy.get(register) == Some(1)))
            .await;
    }
    // It may wait for its store before it knows of any of them.
    assert_eq!(nodes[3].machine.last_final().0, height);
    assert!(!nodes[3].running.is_finished());
    failing.refuse_reads(None);
    until("the fourth has it", || nodes[3].toy.get(4) == Some(1)).await;
    nodes[3].toy.set(5, 1);
    until("it decides again", || nodes.iter().all(|node| node.toy.get(5) == Some(1))).await;
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_outlives_the_node_that_took_it() {
    let folder = tempfile::tempdir().unwrap();
    let configs = configs(folder.path(), 4);
    let start = |node: usize| Node::start(configs[node].clone(), Arc::new(MemoryStore::new()));
    // Two of four decide nothing. The leader of the first round, which would propose at once, is not one of them.
    let (first, second) = (start(1), start(2));
    first.toy.set(1, 1);
    until("the second has it", || second.toy.queue.lock().len() == 1).await;
    first.stop().await;
    let others = [second, start(0), start(3)];
    until("the others decide it", || others.iter().all(|node| node.toy.get(1) == Some(1))).await;
    for node in others {
        assert_eq!(node.toy.total(), 1);
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validator_whose_votes_are_lost_waits_before_it_votes() {
    let folder = tempfile::tempdir().unwrap();
    let timings = Timings {
        leader: Duration::from_millis(500),
        certification: Duration::from_secs(1),
        heartbeat: Duration::from_secs(1),
        ..Timings::default()
    };
    let mut configs = configs(folder.path(), 4);
    for config in &mut configs {
        config.timings = timings;
    }
    let store = || Arc::new(MemoryStore::new()) as Arc<dyn KvStore>;
    let mut nodes: Vec<Node> =
        configs.iter().map(|config| Node::start(config.clone(), store())).collect();
    nodes[0].toy.set(1, 1);
    until("all decide", || nodes.iter().all(|node| node.toy.get(1) == Some(1))).await;
    nodes.pop().unwrap().stop().await;

    // Its store and its votes are gone.
    let mut wiped = configs[3].clone();
    std::fs::remove_dir_all(&wiped.folder).unwrap();
    wiped.is_new_key = false;
    let fourth = Node::start(wiped.clone(), store());
    until("it has what the others decided", || fourth.toy.get(1) == Some(1)).await;
    let before = fourth.engine.stats();
    until("it votes", || fourth.engine.stats().votes).await;
    assert!(!before.votes, "it has waited: {before:?}");
    fourth.toy.set(2, 1);
    until("it proposes", || nodes.iter().all(|node| node.toy.get(2) == Some(1))).await;
    fourth.stop().await;

    // The folder has the votes of this key alone.
    let mut other = configs[2].clone();
    nodes.pop().unwrap().stop().await;
    other.folder = wiped.folder;
    let node = Node::start(other, store());
    let error = node.running.await.unwrap().unwrap_err().to_string();
    let owner = configs[3].key.public_key().to_string();
    assert!(error.ends_with(&format!("has the votes of another validator, {owner}")), "{error}");
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test]
async fn a_key_of_no_validator_and_a_store_of_another_network_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = configs(folder.path(), 4).remove(0);
    config.key = ValidatorKey::from_bytes(&[9; 32]);
    let node = Node::start(config.clone(), Arc::new(MemoryStore::new()));
    let error = node.running.await.unwrap().unwrap_err().to_string();
    assert_eq!(error, format!("{} is not a validator of this network", config.key.public_key()));

    // A store whose bundles were decided by a node alone.
    let world = World::on(Arc::new(MemoryStore::new()));
    let store = world.store.clone();
    let toy = world.toy(1);
    let chains = vec![Arc::clone(&toy) as Arc<dyn ChainVm>];
    let clock = world.clock.clone();
    let machine =
        Machine::open(chains, store, clock, world.work, MachineConfig::default()).unwrap();
    toy.set(1, 1);
    let (height, parent) = machine.last_final();
    let at = esker_chain::ProposeCtx {
        height: height + 1,
        parent,
        ancestry: &[],
        wait_until_ms: u64::MAX,
    };
    let bundle = machine.propose(at).await.unwrap().unwrap();
    machine.finalize(&bundle, None).await.unwrap();
    let config = configs(folder.path(), 4).remove(0);
    let (_stop, stopped) = Shutdown::new();
    let error = Arc::new(BftEngine::new(config)).run(machine, stopped).await.unwrap_err();
    let expected =
        "none of the last bundles up to 1 has a certificate of this network's validators";
    assert_eq!(error.to_string(), expected);
}
