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
use esker_validators::{
    MemoryChangeLog, Timings, ValidatorAddress, ValidatorKey, ValidatorPublicKey,
};

use super::change::{Change, NETWORK};
use super::machine::VirtualMachine;
use super::network::{Quality, Wires};
use super::phases::Phases;
use super::scenario::{Counts, Opened, Random, Scenario};
use crate::changes::{ChangeHistory, ChangeState};
use crate::library::ToLibrary as _;

const NODES: usize = 4;

/// Age of the last bundle from which an idle leader makes another one, where the validators change: there are enough
/// bundles to come to the change.
const SHORT_HEARTBEAT: Duration = Duration::from_millis(300);

/// When a run begins, Unix seconds.
pub(super) const START_S: u64 = 1_795_265_100;

/// Steps with faults; then everything heals.
const STEPS: u64 = 120;

/// Virtual time of a step.
const STEP: Duration = Duration::from_millis(250);

/// Steps until all nodes must have everything after the faults.
const PATIENCE: u64 = 1_200;

/// The outcome of a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) height: u64,
    pub(super) tip: BundleId,
    pub(super) counts: Counts,
    trace: String,
}

/// A running node.
struct Node<C> {
    chains: C,
    machine: Arc<VirtualMachine>,
    changes: Arc<ChangeState>,
    handle: Handle<()>,
    run: u64,
    /// Its next write fails; then it is killed.
    is_dying: bool,
}

/// An engine that has ended: its node, the number of its run, and the reason.
type Failure = (usize, u64, String);

/// All nodes and what is known of them.
struct World<S: Scenario> {
    keys: Vec<ValidatorKey>,
    scenario: S,
    nodes: Vec<Option<Node<S::Chains>>>,
    runs: u64,
    skews: Vec<i64>,
    failures: Arc<Mutex<Vec<Failure>>>,
    /// The final bundles of all nodes by height.
    bundles: BTreeMap<u64, BundleId>,
    checked: Vec<u64>,
    counts: Counts,
    random: Random,
    /// A change of the validators.
    change: Option<Change>,
    /// The changes that each node knows.
    logs: Vec<Arc<MemoryChangeLog>>,
    /// Its promises, on a disk.
    folder: tempfile::TempDir,
}

/// Makes a node's store.
pub(super) type MakeStore<'a> = &'a dyn Fn() -> Arc<dyn KvStore>;

/// A store in memory.
pub(super) fn in_memory() -> Arc<dyn KvStore> {
    Arc::new(MemoryStore::new())
}

/// Runs a seed; panics if a rule is broken. Every fifth one loses all nodes at once in the middle.
pub(super) fn run_seed<S: Scenario + Send + 'static>(seed: u64, store: MakeStore<'_>) -> Outcome {
    run_world(seed, World::<S>::new(seed, NODES, store))
}

/// Like [`run_seed`], with a fifth node and a change of the validators.
pub(super) fn run_change<S: Scenario + Send + 'static>(seed: u64, store: MakeStore<'_>) -> Outcome {
    let mut world = World::<S>::new(seed, NODES + 1, store);
    world.change = Some(Change::new(&world.keys, &mut world.random));
    run_world(seed, world)
}

fn run_world<S: Scenario + Send + 'static>(seed: u64, mut world: World<S>) -> Outcome {
    let config = deterministic::Config::new()
        .with_seed(seed)
        .with_start_time(UNIX_EPOCH + Duration::from_secs(START_S));
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
        world.crash_all().await;
        world
    });
    deterministic::Runner::from(checkpoint).start(|context| async move {
        world.faults(&context, STEPS / 2..STEPS).await;
        world.heal(&context).await
    })
}

impl<S: Scenario> World<S> {
    fn new(seed: u64, nodes: usize, store: MakeStore<'_>) -> Self {
        let keys = (0..nodes).map(|node| ValidatorKey::from_bytes(&[node as u8 + 1; 32])).collect();
        let mut world = Self {
            keys,
            scenario: S::new((0..nodes).map(|_| store()).collect()),
            nodes: Vec::new(),
            runs: 0,
            skews: Vec::new(),
            failures: Arc::new(Mutex::new_named("simulation.failures", Vec::new())),
            bundles: BTreeMap::new(),
            checked: vec![0; nodes],
            counts: Counts::new(),
            random: Random::new(seed),
            change: None,
            logs: (0..nodes).map(|_| Arc::default()).collect(),
            folder: tempfile::tempdir().unwrap(),
        };
        world.skews = (0..nodes).map(|_| world.random.below(4_000) as i64 - 2_000).collect();
        world
    }

    async fn connect(&mut self, context: &Context) -> Wires {
        let keys = self.keys.iter().map(|key| key.public_key().to_library()).collect();
        let wires = Wires::start(context, keys).await;
        self.nodes = self.keys.iter().map(|_| None).collect();
        for node in 0..self.nodes.len() {
            self.start(context, &wires, node).await;
        }
        wires
    }

    async fn start(&mut self, context: &Context, wires: &Wires, node: usize) {
        self.runs += 1;
        let run = self.runs;
        let context = context.child("node").with_attribute("run", self.runs);
        let Opened { chains, machine, clock, pools } = self.scenario.open(node);
        let time = context.child("machine");
        let machine = Arc::new(VirtualMachine::new(machine, clock, time, self.skews[node]));
        let members = self.change.as_ref().map_or_else(|| self.all(), Change::first);
        let history = ChangeHistory::new(NETWORK, Id::ZERO, members).unwrap();
        let folder = self.change.as_ref().map(|_| self.folder.path().join(node.to_string()));
        let (key, log) = (self.keys[node].clone(), self.logs[node].clone());
        let changes = ChangeState::open(key.clone(), folder, log, history, &[]).await.unwrap();
        let changes = Arc::new(changes);
        let default = Timings::default();
        let timings = match &self.change {
            None => default,
            Some(_) => Timings { heartbeat: SHORT_HEARTBEAT, ..default },
        };
        let phases = Phases {
            node,
            key,
            changes: Arc::clone(&changes),
            timings,
            machine: Arc::clone(&machine) as Arc<dyn ChainMachine>,
            pools,
            wires: wires.clone(),
        };
        let failures = Arc::clone(&self.failures);
        let handle = context.spawn(move |context| async move {
            let error = phases.run(context).await;
            failures.lock().push((node, run, error.to_string()));
        });
        self.nodes[node] = Some(Node { chains, machine, changes, handle, run, is_dying: false });
    }

    fn all(&self) -> Vec<(ValidatorPublicKey, ValidatorAddress)> {
        let member = |(n, key): (u32, &ValidatorKey)| {
            (key.public_key(), format!("node-{n}:1").parse().unwrap())
        };
        (0..).zip(&self.keys).map(member).collect()
    }

    /// A node, at random.
    fn any(&mut self) -> usize {
        self.random.below(self.keys.len() as u64) as usize
    }

    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Kills a node.
    async fn crash(&mut self, node: usize) {
        self.end(node, false).await;
    }

    async fn crash_all(&mut self) {
        for node in 0..self.nodes.len() {
            self.crash(node).await;
        }
    }

    /// Ends a node: it is killed, or stops in order.
    async fn end(&mut self, node: usize, in_order: bool) {
        let Some(Node { chains, machine, handle, .. }) = self.nodes[node].take() else { return };
        handle.abort();
        let _aborted = handle.await;
        if in_order {
            machine.wait_idle();
        }
        drop(machine);
        self.scenario.ended(node, chains, in_order);
        self.count(if in_order { "stops" } else { "crashes" });
    }

    fn live(&self) -> impl Iterator<Item = (usize, &Node<S::Chains>)> {
        self.nodes.iter().enumerate().filter_map(|(i, node)| Some((i, node.as_ref()?)))
    }

    /// Cuts one node off from all others.
    async fn cut_one(&mut self, wires: &Wires) {
        let lonely = self.any();
        let cut = |a, b| match a == lonely || b == lonely {
            true => Quality::Cut,
            false => Quality::Good,
        };
        wires.set_all(cut).await;
    }

    /// Faults at random while transactions come in.
    async fn faults(&mut self, context: &Context, steps: std::ops::Range<u64>) {
        let wires = self.connect(context).await;
        for step in steps {
            match self.random.below(24) {
                0 | 1 => {
                    let node = self.any();
                    self.crash(node).await;
                }
                2..=4 => {
                    if let Some(node) = self.nodes.iter().position(Option::is_none) {
                        self.start(context, &wires, node).await;
                    }
                }
                5 => {
                    self.count("cuts");
                    self.cut_one(&wires).await;
                }
                6 => {
                    self.count("cuts");
                    let halves = |a: usize, b: usize| match (a < 2, b < 2) {
                        (true, false) | (false, true) => Quality::Cut,
                        _ => Quality::Good,
                    };
                    wires.set_all(halves).await;
                }
                7 => wires.set_all(|_, _| Quality::Bad).await,
                8..=10 => wires.set_all(|_, _| Quality::Good).await,
                11 => {
                    let node = self.any();
                    self.end(node, true).await;
                }
                12 => {
                    let node = self.any();
                    let is_written = self.random.below(2) == 0;
                    if let Some(running) = &mut self.nodes[node] {
                        running.is_dying = self.scenario.fail_next_write(node, is_written);
                    }
                }
                _ => {}
            }
            self.change(step, &wires).await;
            self.users(|scenario, nodes, random| scenario.act(step, nodes, random));
            context.sleep(STEP).await;
            self.check(step).await;
        }
        let blocked = wires.blocked().await;
        assert!(blocked.is_empty(), "honest validators refuse each other: {blocked:?}");
    }

    /// Operators approve the change, and when it comes there are more faults.
    async fn change(&mut self, step: u64, wires: &Wires) {
        let Some(change) = &mut self.change else { return };
        for (number, node) in self.nodes.iter().enumerate() {
            if let Some(node) = node {
                change.approve(step, number, &node.changes, node.machine.last_final().0);
            }
        }
        let lasts = self.nodes.iter().flatten().map(|node| node.machine.last_final().0);
        if !lasts.into_iter().any(|last| change.is_near(last)) {
            return;
        }
        match self.random.below(8) {
            0 | 1 => {
                self.count("crashes at the change");
                let node = self.any();
                self.crash(node).await;
            }
            2 => {
                self.count("cuts at the change");
                self.cut_one(wires).await;
            }
            _ => {}
        }
    }

    /// All nodes run and are connected: soon they have the same bundles and all transactions.
    async fn heal(mut self, context: &Context) -> Outcome {
        self.crash_all().await;
        let wires = self.connect(context).await;
        wires.set_all(|_, _| Quality::Good).await;
        let mut step = STEPS;
        while !self.is_complete() {
            assert!(step < STEPS + PATIENCE, "still waiting: {}", self.describe());
            self.users(|scenario, nodes, random| scenario.send_again(step, nodes, random));
            context.sleep(STEP).await;
            self.check(step).await;
            step += 1;
        }
        let (&height, &tip) = self.bundles.last_key_value().unwrap();
        let nodes: Vec<_> = self.live().map(|(_, node)| &node.chains).collect();
        let counts = self.scenario.finish(&nodes);
        self.counts.extend(counts);
        if let Some(change) = &self.change {
            let check = |(_, node): (usize, &Node<S::Chains>)| {
                change.check(&node.changes, node.machine.as_ref())
            };
            let changed: Vec<_> = self.live().map(check).collect();
            assert!(changed.iter().all(|has| *has == changed[0]), "{changed:?}");
            self.count(if changed[0] { "changed" } else { "not changed" });
        }
        self.nodes.clear();
        let trace = context.auditor().state();
        Outcome { height, tip, counts: self.counts, trace }
    }

    /// Lets users act on the running nodes.
    fn users(&mut self, act: impl FnOnce(&mut S, &[Option<&S::Chains>], &mut Random)) {
        self.live().for_each(|(_, node)| node.machine.set_clock());
        let nodes: Vec<_> =
            self.nodes.iter().map(|node| node.as_ref().map(|node| &node.chains)).collect();
        act(&mut self.scenario, &nodes, &mut self.random);
    }

    /// No engine has ended but those that were killed, no two nodes have different bundles at a height, and nothing
    /// that was final is gone.
    async fn check(&mut self, step: u64) {
        let failures = std::mem::take(&mut *self.failures.lock());
        for (node, run, error) in failures {
            let Some(running) = self.nodes[node].as_ref().filter(|node| node.run == run) else {
                continue;
            };
            let is_dying = running.is_dying;
            assert!(is_dying, "step {step}: the engine of node {node} has ended: {error}");
            self.count("crashes in a write");
            self.crash(node).await;
        }
        for (i, node) in self.nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            let (last, last_id) = node.machine.last_final();
            assert!(last >= self.checked[i], "step {step}: node {i} went back to {last}");
            for height in self.checked[i]..=last {
                let (bundle, _) = node.machine.bundle_at(height).unwrap().unwrap();
                let known = self.bundles.get(&height).copied();
                assert_eq!(
                    known.unwrap_or(bundle.id()),
                    bundle.id(),
                    "step {step}: node {i} forks at {height}"
                );
                if known.is_none() {
                    self.bundles.insert(height, bundle.id());
                    if height > 0 {
                        self.scenario.on_final(&bundle, &node.chains);
                    }
                }
            }
            assert_eq!(self.bundles.get(&last), Some(&last_id));
            self.checked[i] = last;
            self.scenario.check(step, i, &node.chains);
        }
    }

    fn is_complete(&self) -> bool {
        let heights: Vec<_> = self.live().map(|(_, node)| node.machine.last_final().0).collect();
        let states: Vec<_> = self.live().map(|(_, node)| &*node.changes).collect();
        let is_changed = |node: &Node<S::Chains>| match &self.change {
            None => true,
            Some(change) => change.is_complete(&states, node.machine.as_ref()),
        };
        heights.len() == self.keys.len()
            && self.live().all(|(_, node)| is_changed(node))
            && heights.iter().all(|height| *height == heights[0])
            && self.live().all(|(_, node)| self.scenario.is_complete(&node.chains))
    }

    fn describe(&self) -> String {
        let node = |(i, node): (usize, &Node<S::Chains>)| {
            let has = self.scenario.describe(&node.chains);
            let (last, epoch) = (node.machine.last_final().0, node.changes.epoch());
            format!("node {i} at {last} in epoch {epoch} with {has}")
        };
        let nodes: Vec<_> = self.live().map(node).collect();
        nodes.join(", ")
    }
}
