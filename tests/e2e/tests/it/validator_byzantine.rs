//! A dishonest validator among three honest ones, which are real processes: one that proposes what is invalid, and one
//! that runs twice, so that it proposes and votes two ways in a round.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{
    Bundle, BundleId, ChainError, ChainMachine, Engine, EngineError, FinalizeError, Machine,
    MachineConfig, ProposeCtx, ProposeError, Shutdown, ShutdownTrigger, Verdict,
};
use esker_commands::cli::{self, Invocation};
use esker_e2e::{Node, until};
use esker_engine_bft::BftEngine;
use esker_keystore::Keystore;
use esker_node::Environment;
use esker_node::wiring::{OpenChains, open_offline};
use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, Id};
use esker_settings::config::Config;
use esker_storage::Store;

use crate::validator_net::{Net, heights, lines_with};
use crate::validator_traffic::Traffic;
use crate::validators::free_ports;

/// The dishonest one.
const DISHONEST: usize = 3;

/// Ways in which a proposal is invalid.
const WAYS: usize = 13;

/// A machine whose proposals are invalid, each in another way.
struct InvalidProposals {
    inner: Arc<Machine>,
    x: ChainId,
    /// Blocks of the last bundle of another validator that had some.
    seen: Mutex<Vec<(ChainId, Bytes)>>,
    proposed: Mutex<Vec<BundleId>>,
    count: AtomicUsize,
}

impl InvalidProposals {
    fn note(&self, bundle: &Bundle) {
        if !bundle.blocks.is_empty() {
            *self.seen.lock() = bundle.blocks.clone();
        }
    }

    fn spoil(&self, valid: Bundle) -> Bundle {
        let way = self.count.fetch_add(1, Ordering::Relaxed) % WAYS;
        let garbage = |len: usize| Bytes::from(vec![way as u8; len]);
        let seen = self.seen.lock().clone();
        let blocks = |blocks| Bundle { blocks, ..valid.clone() };
        let spoilt = match way {
            0 => Bundle { commitment: Id::sha256(b"of no state"), ..valid },
            1 => Bundle { timestamp_ms: valid.timestamp_ms + 3_600_000, ..valid },
            2 => Bundle { timestamp_ms: valid.timestamp_ms - 86_400_000, ..valid },
            3 => blocks(vec![(Id::sha256(b"of no chain"), garbage(100))]),
            4 => blocks(vec![(self.x, garbage(100))]),
            // Blocks that are final already, and such with another byte.
            5 => blocks(seen),
            6 => blocks(seen.into_iter().map(|(chain, block)| (chain, flip(&block))).collect()),
            7 => Bundle { version: 7, ..valid },
            8 => blocks(vec![(self.x, garbage(9 << 20))]),
            9 => Bundle { height: valid.height + 1, ..valid },
            10 => Bundle { parent: Id::sha256(b"no parent"), ..valid },
            11 => blocks((0..1_025).map(|_| (self.x, Bytes::new())).collect()),
            _ => blocks(vec![(self.x, garbage(10)), (self.x, garbage(11))]),
        };
        self.proposed.lock().push(spoilt.id());
        spoilt
    }
}

/// A block with another byte in its middle.
fn flip(block: &Bytes) -> Bytes {
    let mut bytes = block.to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    bytes.into()
}

#[async_trait]
impl ChainMachine for InvalidProposals {
    fn genesis(&self) -> Bundle {
        self.inner.genesis()
    }

    fn last_final(&self) -> (u64, BundleId) {
        self.inner.last_final()
    }

    async fn propose(&self, at: ProposeCtx<'_>) -> Result<Option<Bundle>, ProposeError> {
        Ok(Some(self.propose_now(at).await?))
    }

    async fn propose_now(&self, at: ProposeCtx<'_>) -> Result<Bundle, ProposeError> {
        Ok(self.spoil(self.inner.propose_now(at).await?))
    }

    async fn verify(&self, ancestry: &[Bundle], bundle: &Bundle) -> Result<Verdict, ChainError> {
        self.note(bundle);
        self.inner.verify(ancestry, bundle).await
    }

    async fn finalize_all(
        &self,
        bundles: Vec<(Bundle, Option<Bytes>)>,
    ) -> Result<(), FinalizeError> {
        self.inner.finalize_all(bundles).await
    }

    async fn finalize_blocks(
        &self,
        on: &BundleId,
        blocks: Vec<(ChainId, Bytes)>,
    ) -> Result<(), FinalizeError> {
        self.inner.finalize_blocks(on, blocks).await
    }

    async fn abandon(&self, id: &BundleId) -> Result<usize, ChainError> {
        self.inner.abandon(id).await
    }

    async fn notarized(&self, id: &BundleId) -> Result<(), ChainError> {
        self.inner.notarized(id).await
    }

    fn bundle_at(&self, height: u64) -> Result<Option<(Bundle, Option<Bytes>)>, ChainError> {
        self.inner.bundle_at(height)
    }

    fn height_of(&self, id: &BundleId) -> Result<Option<u64>, ChainError> {
        self.inner.height_of(id)
    }
}

/// The fourth validator, in this process, with invalid proposals.
struct Dishonest {
    machine: Arc<InvalidProposals>,
    stop: ShutdownTrigger,
    running: tokio::task::JoinHandle<Result<(), EngineError>>,
    runtime: tokio::runtime::Runtime,
    _chains: (Store, OpenChains),
}

impl Dishonest {
    fn start(net: &Net) -> Self {
        let folder = net.validator(DISHONEST);
        let flag = |name: &str, path: std::path::PathBuf| format!("--{name}={}", path.display());
        let args = [
            "esker".to_owned(),
            "node".to_owned(),
            flag("network", net.path().join("network.json")),
            flag("validator-key", folder.join("key")),
            flag("data-dir", folder.join("data")),
        ];
        let parsed = cli::parse(args, env!("CARGO_PKG_VERSION"));
        let Ok(Invocation::Run(mode, flags)) = parsed else { panic!("{parsed:?}") };
        let config = Config::load(mode, flags, []).unwrap();
        let validator = config.validator(&folder.join("data")).unwrap().unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let inside = runtime.enter();
        let settings = MachineConfig::default();
        let (keystore, environment) = (Keystore::disabled(), Environment::system());
        let (store, chains) = open_offline(&config, &keystore, environment, settings).unwrap();
        let machine = Arc::new(InvalidProposals {
            inner: Arc::clone(&chains.machine),
            x: chains.chains[0].0.id,
            seen: Mutex::new(Vec::new()),
            proposed: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
        });
        let (stop, stopped) = Shutdown::new();
        let engine = Arc::new(BftEngine::new(validator));
        let driven = Arc::clone(&machine) as Arc<dyn ChainMachine>;
        let running = runtime.spawn(engine.run(driven, stopped));
        drop(inside);
        Self { machine, stop, running, runtime, _chains: (store, chains) }
    }

    fn proposals(&self) -> usize {
        self.machine.count.load(Ordering::Relaxed)
    }

    /// Its engine has not ended by itself, and none of its proposals is final.
    fn stop(self) {
        self.stop.trigger();
        self.runtime.block_on(self.running).unwrap().unwrap();
        let proposed = self.machine.proposed.lock().clone();
        for id in proposed {
            assert_eq!(self.machine.height_of(&id).unwrap(), None, "{id} is final");
        }
        self.runtime.shutdown_background();
    }
}

fn start_honest(net: &Net) -> Vec<Node> {
    let starting: Vec<_> =
        (0..DISHONEST).map(|number| net.builder(number).spawn().unwrap()).collect();
    starting.into_iter().map(|node| node.wait().unwrap()).collect()
}

/// Honest validators log a dishonest one, and at most once a minute.
fn assert_named_seldom(nodes: &[&Node], text: &str, begun: Instant) {
    let minutes = usize::try_from(begun.elapsed().as_secs() / 60).unwrap();
    for node in nodes {
        let lines = lines_with(node, text);
        assert!(lines.len() <= minutes + 1, "{lines:#?}");
    }
    let total: usize = nodes.iter().map(|node| lines_with(node, text).len()).sum();
    assert!(total >= 1, "{}", nodes[0].output());
}

fn invalid_proposals(rounds: usize) {
    let net = Net::new();
    let begun = Instant::now();
    let nodes = start_honest(&net);
    let dishonest = Dishonest::start(&net);
    let traffic = Traffic::start(&nodes);
    for _ in 0..rounds {
        let before = dishonest.proposals();
        traffic.wait_for_more(4, "among invalid proposals");
        until("it has proposed in all ways", || {
            (dishonest.proposals() >= before + WAYS).then_some(())
        });
    }
    assert_named_seldom(&nodes.iter().collect::<Vec<_>>(), "a proposal is refused", begun);
    dishonest.stop();
    traffic.wait_for_more(2, "without it");
    net.finish(nodes.into_iter().enumerate().collect(), traffic);
}

#[test]
fn invalid_proposals_are_refused_and_the_others_go_on() {
    invalid_proposals(1);
}

#[test]
#[ignore = "takes minutes"]
fn slow_invalid_proposals_are_refused_and_the_others_go_on() {
    invalid_proposals(20);
}

#[test]
fn a_validator_that_runs_twice_is_found_out_and_nothing_forks() {
    let net = Net::new();
    let nowhere = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    // One of it knows the first two, the other one the third: as if it said one thing to those, another to this.
    let twin_address = nowhere(free_ports(1));
    let twin_folder = net.path().join("twin");
    // A copy of the key: as on another machine, no lock is in its way.
    std::fs::create_dir(&twin_folder).unwrap();
    std::fs::copy(net.validator(DISHONEST).join("key"), twin_folder.join("key")).unwrap();
    let real = |number| net.peer_address(number);
    net.write_network_file(2, |to| if to == DISHONEST { twin_address } else { real(to) });
    net.write_network_file(DISHONEST, |to| if to == 2 { nowhere(3) } else { real(to) });
    let first = net.builder(DISHONEST);
    let begun = Instant::now();
    let nodes = start_honest(&net);
    let first = first.start().unwrap();
    net.write_network_file(DISHONEST, |to| match to {
        0 | 1 => nowhere(1 + u16::try_from(to).unwrap()),
        DISHONEST => twin_address,
        to => real(to),
    });
    let twin = net.builder_in(DISHONEST, &twin_folder).arg("--validator-key-is-new");
    let twin = twin.start().unwrap();
    let traffic = Traffic::start(&nodes);
    traffic.use_only(nodes.iter().chain([&first, &twin]));
    until("the third has found it out", || {
        traffic.wait_for_more(1, "while it runs twice");
        (!lines_with(&nodes[2], "broke the protocol").is_empty()).then_some(())
    });
    assert_named_seldom(&nodes.iter().collect::<Vec<_>>(), "broke the protocol", begun);
    assert!(heights(&nodes[2]).0 > 0);
    traffic.use_only(&nodes);
    twin.kill().unwrap();
    first.kill().unwrap();
    traffic.wait_for_more(2, "without it");
    net.finish(nodes.into_iter().enumerate().collect(), traffic);
}
