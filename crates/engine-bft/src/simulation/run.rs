//! One run: faults and transactions from a seed, and what must be true after them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use commonware_runtime::deterministic::{self, Context};
use commonware_runtime::{Clock as _, Handle, Runner as _, Spawner as _, Supervisor as _};
use esker_chain::{BundleId, ChainMachine};
use esker_primitives::Id;
use esker_primitives::sync::Mutex;
use esker_storage::{KvStore, MemoryStore};

use super::machine::VirtualMachine;
use super::network::{Quality, Wires};
use crate::ValidatorKey;
use crate::changes::{ChangeHistory, ChangeState, MemoryChangeLog};
use crate::settings::{Committee, Timings};
use crate::shared::Shared;
use crate::stack::{self, Validator};
use crate::toy::Toy;
use crate::toy_pool::pools_of;

const NODES: usize = 4;

/// Transactions of a run.
const TRANSACTIONS: u64 = 40;

/// Steps with faults; then everything heals.
const STEPS: u64 = 120;

/// Virtual time of a step.
const STEP: Duration = Duration::from_millis(250);

/// Steps until all nodes must have everything after the faults.
const PATIENCE: u64 = 1_200;

/// Steps after which a transaction that is not final is sent again.
const SEND_AGAIN: u64 = 24;

/// What a run led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) height: u64,
    pub(super) tip: BundleId,
    crashes: u64,
    cuts: u64,
    trace: String,
}

/// A running node.
struct Node {
    toy: Arc<Toy>,
    machine: Arc<VirtualMachine>,
    handle: Handle<()>,
}

/// All nodes and what is known of them.
struct World {
    keys: Vec<ValidatorKey>,
    stores: Vec<Arc<dyn KvStore>>,
    nodes: Vec<Option<Node>>,
    runs: u64,
    skews: Vec<i64>,
    failures: Arc<Mutex<Vec<String>>>,
    /// The final bundles of all nodes by height.
    bundles: BTreeMap<u64, BundleId>,
    checked: Vec<u64>,
    /// Node and step of each transaction's last submission.
    sent: BTreeMap<u64, u64>,
    is_final: BTreeMap<u64, bool>,
    crashes: u64,
    cuts: u64,
    state: u64,
}

/// Runs a seed; panics if a rule is broken. Every fifth one loses all nodes at once in the middle.
pub(super) fn run_seed(seed: u64) -> Outcome {
    let config = deterministic::Config::new()
        .with_seed(seed)
        .with_start_time(UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    let mut world = World::new(seed);
    let runner = deterministic::Runner::new(config);
    if !seed.is_multiple_of(5) {
        return runner.start(|context| async move {
            world.faults(&context, 0..STEPS).await;
            world.heal(&context).await
        });
    }
    let (mut world, checkpoint) = runner.start_and_recover(|context| async move {
        world.faults(&context, 0..STEPS / 2).await;
        // All processes end; what was not on the disk is lost.
        world.nodes.clear();
        world.crashes += 1;
        world
    });
    deterministic::Runner::from(checkpoint).start(|context| async move {
        world.faults(&context, STEPS / 2..STEPS).await;
        world.heal(&context).await
    })
}

impl World {
    fn new(seed: u64) -> Self {
        let keys = (0..NODES).map(|node| ValidatorKey::from_bytes(&[node as u8 + 1; 32])).collect();
        let store = |_| Arc::new(MemoryStore::new()) as Arc<dyn KvStore>;
        let mut world = Self {
            keys,
            stores: (0..NODES).map(store).collect(),
            nodes: Vec::new(),
            runs: 0,
            skews: Vec::new(),
            failures: Arc::new(Mutex::new_named("simulation.failures", Vec::new())),
            bundles: BTreeMap::new(),
            checked: vec![0; NODES],
            sent: BTreeMap::new(),
            is_final: BTreeMap::new(),
            crashes: 0,
            cuts: 0,
            state: seed,
        };
        world.skews = (0..NODES).map(|_| world.random(4_000) as i64 - 2_000).collect();
        world
    }

    /// A number below `limit`, from the seed (splitmix64).
    fn random(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    async fn connect(&mut self, context: &Context) -> Wires {
        let keys = self.keys.iter().map(|key| key.public_key().library()).collect();
        let wires = Wires::start(context, keys).await;
        self.nodes = (0..NODES).map(|_| None).collect();
        for node in 0..NODES {
            self.start(context, &wires, node).await;
        }
        wires
    }

    async fn start(&mut self, context: &Context, wires: &Wires, node: usize) {
        self.runs += 1;
        let context = context.child("node").with_attribute("run", self.runs);
        let (toy, machine) = VirtualMachine::open(
            Arc::clone(&self.stores[node]),
            context.child("machine"),
            self.skews[node],
        );
        let (shared, failure) = Shared::new(machine.last_final().0);
        let keys: Vec<_> = self.keys.iter().map(ValidatorKey::public_key).collect();
        let members = (0..).zip(&keys);
        let members = members.map(|(n, key)| (*key, format!("node-{n}:1").parse().unwrap()));
        let history = ChangeHistory::new(12345, Id::ZERO, members.collect()).unwrap();
        let (key, log) = (self.keys[node].clone(), Arc::new(MemoryChangeLog::default()));
        let changes = ChangeState::open(key, None, log, history, &[]).await.unwrap();
        changes.begin(machine.last_final().0).unwrap();
        changes.set_votes(true);
        let validator = Validator {
            key: self.keys[node].clone(),
            votes: true,
            committee: Committee::new(12345, Id::ZERO, &keys).unwrap(),
            changes: Arc::new(changes),
            track: Box::new(|_| {}),
            timings: Timings::default(),
            machine: Arc::clone(&machine) as Arc<dyn ChainMachine>,
            shared: Arc::new(shared),
            pools: pools_of(&toy),
            partition: format!("node{node}-"),
        };
        let links = wires.connect(node).await;
        let failures = Arc::clone(&self.failures);
        let handle = context.spawn(move |context| async move {
            let error = stack::run(context, validator, failure, links).await;
            failures.lock().push(format!("node {node} ended: {error}"));
        });
        self.nodes[node] = Some(Node { toy, machine, handle });
    }

    async fn crash(&mut self, node: usize) {
        let Some(Node { toy, machine, handle }) = self.nodes[node].take() else { return };
        handle.abort();
        let _aborted = handle.await;
        drop((toy, machine));
        self.crashes += 1;
    }

    fn live(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().filter_map(|(i, node)| Some((i, node.as_ref()?)))
    }

    /// Faults at random while transactions come in.
    async fn faults(&mut self, context: &Context, steps: std::ops::Range<u64>) {
        let wires = self.connect(context).await;
        for step in steps {
            match self.random(24) {
                0 | 1 => {
                    let node = self.random(NODES as u64) as usize;
                    self.crash(node).await;
                }
                2..=4 => {
                    if let Some(node) = self.nodes.iter().position(Option::is_none) {
                        self.start(context, &wires, node).await;
                    }
                }
                5 => {
                    self.cuts += 1;
                    let lonely = self.random(NODES as u64) as usize;
                    let cut = |a, b| {
                        if a == lonely || b == lonely { Quality::Cut } else { Quality::Good }
                    };
                    wires.set_all(cut).await;
                }
                6 => {
                    self.cuts += 1;
                    let halves = |a: usize, b: usize| match (a < 2, b < 2) {
                        (true, false) | (false, true) => Quality::Cut,
                        _ => Quality::Good,
                    };
                    wires.set_all(halves).await;
                }
                7 => wires.set_all(|_, _| Quality::Bad).await,
                8..=10 => wires.set_all(|_, _| Quality::Good).await,
                _ => {}
            }
            if step % 2 == 0 && step / 2 < TRANSACTIONS {
                self.send(step / 2, step);
            }
            context.sleep(STEP).await;
            self.check(step);
        }
        let blocked = wires.blocked().await;
        assert!(blocked.is_empty(), "honest validators refuse each other: {blocked:?}");
    }

    /// All nodes run and are connected: soon they have the same bundles and all transactions.
    async fn heal(mut self, context: &Context) -> Outcome {
        for node in 0..NODES {
            self.crash(node).await;
        }
        let wires = self.connect(context).await;
        wires.set_all(|_, _| Quality::Good).await;
        let mut step = STEPS;
        while !self.is_complete() {
            assert!(step < STEPS + PATIENCE, "still waiting: {}", self.describe());
            for transaction in 0..TRANSACTIONS {
                self.send(transaction, step);
            }
            context.sleep(STEP).await;
            self.check(step);
            step += 1;
        }
        let (&height, &tip) = self.bundles.last_key_value().unwrap();
        for (node, running) in self.live() {
            assert_eq!(running.toy.total(), TRANSACTIONS, "each transaction once on node {node}");
        }
        let (crashes, cuts) = (self.crashes, self.cuts);
        self.nodes.clear();
        let trace = context.auditor().state();
        Outcome { height, tip, crashes, cuts, trace }
    }

    /// Sends a transaction to a node, again if it is not final after a while.
    fn send(&mut self, transaction: u64, step: u64) {
        let due = self.sent.get(&transaction).is_none_or(|last| step >= last + SEND_AGAIN);
        if !due || self.is_final.contains_key(&transaction) {
            return;
        }
        let node = self.random(NODES as u64) as usize;
        if let Some(node) = &self.nodes[node] {
            node.toy.set(transaction, transaction + 1_000);
            self.sent.insert(transaction, step);
        }
    }

    /// No engine has ended, no two nodes have different bundles at a height, and nothing that was final is gone.
    fn check(&mut self, step: u64) {
        let failures = std::mem::take(&mut *self.failures.lock());
        assert!(failures.is_empty(), "step {step}: {failures:?}");
        let (bundles, checked, known) = (&mut self.bundles, &mut self.checked, &mut self.is_final);
        for (i, node) in self.nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            let (last, last_id) = node.machine.last_final();
            assert!(last >= checked[i], "step {step}: node {i} went back to {last}");
            for height in checked[i]..=last {
                let (bundle, _) = node.machine.bundle_at(height).unwrap().unwrap();
                let id = *bundles.entry(height).or_insert_with(|| bundle.id());
                assert_eq!(id, bundle.id(), "step {step}: node {i} forks at {height}");
            }
            assert_eq!(bundles.get(&last), Some(&last_id));
            checked[i] = last;
            for transaction in 0..TRANSACTIONS {
                if let Some(value) = node.toy.get(transaction) {
                    assert_eq!(value, transaction + 1_000, "step {step}: node {i}");
                    known.insert(transaction, true);
                }
            }
        }
    }

    fn is_complete(&self) -> bool {
        let heights: Vec<_> = self.live().map(|(_, node)| node.machine.last_final().0).collect();
        let has_all = |node: &Node| (0..TRANSACTIONS).all(|tx| node.toy.get(tx).is_some());
        heights.len() == NODES
            && heights.iter().all(|height| *height == heights[0])
            && self.live().all(|(_, node)| has_all(node))
    }

    fn describe(&self) -> String {
        let node = |(i, node): (usize, &Node)| {
            format!("node {i} at {} with {}", node.machine.last_final().0, node.toy.total())
        };
        let nodes: Vec<_> = self.live().map(node).collect();
        nodes.join(", ")
    }
}
