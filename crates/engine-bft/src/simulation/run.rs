//! One run: faults and transactions from a seed, and what must be true after them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use commonware_runtime::deterministic::{self, Context};
use commonware_runtime::{Clock as _, Handle, Runner as _, Spawner as _, Supervisor as _};
use esker_chain::{BundleId, ChainMachine};
use esker_primitives::Id;
use esker_primitives::sync::Mutex;

use super::machine::VirtualMachine;
use super::network::{Quality, Wires};
use super::scenario::{Counts, Opened, Random, Scenario};
use crate::ValidatorKey;
use crate::changes::{ChangeHistory, ChangeState, MemoryChangeLog};
use crate::settings::{Committee, Timings};
use crate::shared::Shared;
use crate::stack::{self, Validator};

const NODES: usize = 4;

/// When a run begins, Unix seconds.
pub(super) const START_S: u64 = 1_795_265_100;

/// Steps with faults; then everything heals.
const STEPS: u64 = 120;

/// Virtual time of a step.
const STEP: Duration = Duration::from_millis(250);

/// Steps until all nodes must have everything after the faults.
const PATIENCE: u64 = 1_200;

/// What a run led to.
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
}

/// Runs a seed; panics if a rule is broken. Every fifth one loses all nodes at once in the middle.
pub(super) fn run_seed<S: Scenario + Send + 'static>(seed: u64) -> Outcome {
    let config = deterministic::Config::new()
        .with_seed(seed)
        .with_start_time(UNIX_EPOCH + Duration::from_secs(START_S));
    let mut world = World::<S>::new(seed);
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
        for node in 0..NODES {
            world.crash(node).await;
        }
        world
    });
    deterministic::Runner::from(checkpoint).start(|context| async move {
        world.faults(&context, STEPS / 2..STEPS).await;
        world.heal(&context).await
    })
}

impl<S: Scenario> World<S> {
    fn new(seed: u64) -> Self {
        let keys = (0..NODES).map(|node| ValidatorKey::from_bytes(&[node as u8 + 1; 32])).collect();
        let mut world = Self {
            keys,
            scenario: S::new(NODES),
            nodes: Vec::new(),
            runs: 0,
            skews: Vec::new(),
            failures: Arc::new(Mutex::new_named("simulation.failures", Vec::new())),
            bundles: BTreeMap::new(),
            checked: vec![0; NODES],
            counts: Counts::new(),
            random: Random::new(seed),
        };
        world.skews = (0..NODES).map(|_| world.random.below(4_000) as i64 - 2_000).collect();
        world
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
        let run = self.runs;
        let context = context.child("node").with_attribute("run", self.runs);
        let Opened { chains, machine, clock, pools } = self.scenario.open(node);
        let time = context.child("machine");
        let machine = Arc::new(VirtualMachine::new(machine, clock, time, self.skews[node]));
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
            pools,
            partition: format!("node{node}-"),
        };
        let links = wires.connect(node).await;
        let failures = Arc::clone(&self.failures);
        let handle = context.spawn(move |context| async move {
            let error = stack::run(context, validator, failure, links).await;
            failures.lock().push((node, run, error.to_string()));
        });
        self.nodes[node] = Some(Node { chains, machine, handle, run, is_dying: false });
    }

    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Kills a node.
    async fn crash(&mut self, node: usize) {
        self.end(node, false).await;
    }

    /// Ends a node: it is killed, or stops in order.
    async fn end(&mut self, node: usize, in_order: bool) {
        let Some(Node { chains, machine, handle, .. }) = self.nodes[node].take() else { return };
        handle.abort();
        let _aborted = handle.await;
        drop(machine);
        self.scenario.ended(node, chains, in_order);
        self.count(if in_order { "stops" } else { "crashes" });
    }

    fn live(&self) -> impl Iterator<Item = (usize, &Node<S::Chains>)> {
        self.nodes.iter().enumerate().filter_map(|(i, node)| Some((i, node.as_ref()?)))
    }

    /// Faults at random while transactions come in.
    async fn faults(&mut self, context: &Context, steps: std::ops::Range<u64>) {
        let wires = self.connect(context).await;
        for step in steps {
            match self.random.below(24) {
                0 | 1 => {
                    let node = self.random.below(NODES as u64) as usize;
                    self.crash(node).await;
                }
                2..=4 => {
                    if let Some(node) = self.nodes.iter().position(Option::is_none) {
                        self.start(context, &wires, node).await;
                    }
                }
                5 => {
                    self.count("cuts");
                    let lonely = self.random.below(NODES as u64) as usize;
                    let cut = |a, b| {
                        if a == lonely || b == lonely { Quality::Cut } else { Quality::Good }
                    };
                    wires.set_all(cut).await;
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
                    let node = self.random.below(NODES as u64) as usize;
                    self.end(node, true).await;
                }
                12 => {
                    let node = self.random.below(NODES as u64) as usize;
                    let is_written = self.random.below(2) == 0;
                    if let Some(running) = &mut self.nodes[node] {
                        running.is_dying = self.scenario.fail_next_write(node, is_written);
                    }
                }
                _ => {}
            }
            self.users(|scenario, nodes, random| scenario.act(step, nodes, random));
            context.sleep(STEP).await;
            self.check(step).await;
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
            self.users(|scenario, nodes, random| scenario.send_again(step, nodes, random));
            context.sleep(STEP).await;
            self.check(step).await;
            step += 1;
        }
        let (&height, &tip) = self.bundles.last_key_value().unwrap();
        let nodes: Vec<_> = self.live().map(|(_, node)| &node.chains).collect();
        let counts = self.scenario.finish(&nodes);
        self.counts.extend(counts);
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
        heights.len() == NODES
            && heights.iter().all(|height| *height == heights[0])
            && self.live().all(|(_, node)| self.scenario.is_complete(&node.chains))
    }

    fn describe(&self) -> String {
        let node = |(i, node): (usize, &Node<S::Chains>)| {
            let has = self.scenario.describe(&node.chains);
            format!("node {i} at {} with {has}", node.machine.last_final().0)
        };
        let nodes: Vec<_> = self.live().map(node).collect();
        nodes.join(", ")
    }
}
