//! The engine of a validator on a real network.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use commonware_consensus::marshal;
use commonware_consensus::marshal::standard::Standard;
use commonware_consensus::simplex;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_cryptography::ChaCha20Poly1305;
use commonware_p2p::authenticated::lookup;
use commonware_p2p::{Address, AddressableManager as _, AddressableTrackedPeers};
use commonware_runtime::{
    Clock as _, Metrics as _, Quota, Runner as _, Spawner as _, Supervisor as _, tokio as runtime,
};
use commonware_stream::cups::{self, Cups};
use commonware_stream::sake::{self, Sake};
use commonware_utils::{NZU32, NZUsize, TryCollect as _};
use esker_chain::forward::ExchangePools;
use esker_chain::{ChainMachine, Engine, EngineError, EngineStatus, Role, Shutdown};
use esker_primitives::sync::Mutex;
use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};

use crate::block::{BundleBlock, Digest};
use crate::blocker::LoggingBlocker;
use crate::journal::{self, Journal, begin_journal};
use crate::rejoin::Rejoin;
use crate::settings::{Committee, Timings, quorum};
use crate::shared::{Shared, VoteCounts};
use crate::stack::{self, Links, MAX_NETWORK_BUNDLE, Validator};
use crate::{ValidatorAddress, ValidatorKey, ValidatorPublicKey};

/// Threads of the engine's runtime.
const THREADS: usize = 2;

/// Messages that wait inside a part of the network.
const MAILBOX: std::num::NonZeroUsize = NZUsize!(1024);

/// Difference of two validators' clocks up to which they connect, and age of a handshake.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(60);

/// Connections that are authenticated at a time.
const MAX_HANDSHAKES: NonZeroU32 = NZU32!(256);

/// Attempts to connect per second, of one IP address and of one subnet. Strangers of an address that say nothing take
/// at most 160 of the handshakes, each for five seconds.
const MAX_ATTEMPTS: NonZeroU32 = NZU32!(32);
const MAX_SUBNET_ATTEMPTS: NonZeroU32 = NZU32!(128);

/// How long a peer that broke the protocol is not connected to.
const BLOCKED_FOR: Duration = Duration::from_mins(10);

/// Heights behind the network from which a validator counts as syncing.
const SYNCING_FROM: u64 = 16;

/// Interval of counting the connected peers.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// Messages per second of one peer: votes and certificates, requests, transactions, bundles.
const SMALL_MESSAGES: Quota = Quota::per_second(NZU32!(1024));
const REQUESTS: Quota = Quota::per_second(NZU32!(256));
const TRANSACTIONS: Quota = Quota::per_second(NZU32!(1024));
const BUNDLES: Quota = Quota::per_second(NZU32!(64));

/// The settings of a validator, or of a follower among the validators' peers.
#[derive(Clone, Debug)]
pub struct BftConfig {
    /// Its key, of one of the validators or followers.
    pub key: ValidatorKey,
    /// ID of the network. Votes count in this network only.
    pub network: u32,
    /// All validators with their addresses, also this one.
    pub validators: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    /// Nodes that validators let connect: they take what is decided, and never vote.
    pub followers: Vec<ValidatorPublicKey>,
    /// Where it listens for its peers. Nobody connects to a follower.
    pub listen: SocketAddr,
    /// A folder of the engine's own for votes and recent bundles. A validator whose votes are not there waits until
    /// the others are past the rounds in which it may have voted.
    pub folder: PathBuf,
    /// Whether the key has never voted, so that a new folder has nothing to wait for.
    pub is_new_key: bool,
    /// The file of the key, locked: no second process of this machine votes with it.
    pub key_lock: Option<Arc<File>>,
    /// Timeouts.
    pub timings: Timings,
    /// The pools of its chains.
    pub pools: Arc<ExchangePools>,
}

/// Counts since the start of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BftStats {
    /// The network's validators.
    pub validators: usize,
    /// How many of them decide.
    pub quorum: usize,
    /// Whether this one votes. A follower never does, a validator not while it waits because its earlier votes are lost.
    pub votes: bool,
    /// Connected followers of the network file.
    pub followers: usize,
    /// The last round with a result.
    pub round: u64,
    /// Rounds in which a quorum voted for a bundle.
    pub notarized: u64,
    /// Rounds that a quorum voted to skip.
    pub skipped: u64,
    /// Rounds whose bundle is final by votes of its own.
    pub finalized: u64,
    /// Votes that it has seen.
    pub votes_seen: VoteCounts,
}

/// One of several validators that decide together, or a follower among their peers.
#[derive(Debug)]
pub struct BftEngine {
    config: BftConfig,
    shared: Mutex<Option<Arc<Shared>>>,
    peers: Arc<AtomicUsize>,
    followers: Arc<AtomicUsize>,
    votes: Arc<AtomicBool>,
}

impl BftEngine {
    /// An engine that has not started.
    #[must_use]
    pub fn new(config: BftConfig) -> Self {
        let shared = Mutex::new_named("engine_bft.shared", None);
        let (peers, followers, votes) = (Arc::default(), Arc::default(), Arc::default());
        Self { config, shared, peers, followers, votes }
    }

    /// Whether it is a follower, which never votes.
    #[must_use]
    pub fn is_follower(&self) -> bool {
        let key = self.config.key.public_key();
        self.config.followers.contains(&key)
    }

    /// Counts of rounds.
    pub fn stats(&self) -> BftStats {
        let shared = self.shared.lock().clone();
        let [round, notarized, skipped, finalized] =
            shared.as_ref().map_or([0; 4], |shared| shared.counts());
        let votes_seen = shared.map(|shared| shared.vote_counts()).unwrap_or_default();
        let validators = self.config.validators.len();
        let quorum = quorum(validators);
        let votes = self.votes.load(Ordering::Relaxed);
        let followers = self.followers.load(Ordering::Relaxed);
        BftStats {
            validators,
            quorum,
            votes,
            followers,
            round,
            notarized,
            skipped,
            finalized,
            votes_seen,
        }
    }

    /// The votes of each validator that this one has seen since the start, its own included. The order is constant.
    pub fn votes_by_validator(&self) -> Vec<(ValidatorPublicKey, u64)> {
        let shared = self.shared.lock().clone();
        // Their numbers in votes follow the order of the keys.
        let mut keys: Vec<_> = self.config.validators.iter().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        let votes = |number| shared.as_ref().map_or(0, |shared| shared.votes_of(number));
        keys.into_iter().enumerate().map(|(number, key)| (key, votes(number))).collect()
    }
}

#[async_trait]
impl Engine for BftEngine {
    async fn run(
        self: Arc<Self>,
        machine: Arc<dyn ChainMachine>,
        stop: Shutdown,
    ) -> Result<(), EngineError> {
        let config = &self.config;
        let keys: Vec<_> = config.validators.iter().map(|(key, _)| *key).collect();
        let committee = Committee::new(config.network, machine.genesis().id(), &keys)?;
        let public_key = config.key.public_key();
        let is_follower = self.is_follower();
        if !is_follower {
            // Before anything is started: the key must be one of the validators'.
            let _signer = committee.signer(&config.key)?;
        }
        let folder = || config.folder.display();
        let failed = |error| EngineError::Protocol(format!("{}: {error}", folder()));
        let begin = || begin_journal(&config.folder, &public_key).map_err(failed);
        match journal::read(&config.folder, &public_key).map_err(failed)? {
            Journal::Missing if is_follower => {
                let phase = self.phase(&committee, &machine, false);
                return run_phase(phase, stop).await.map(|_stopped| ());
            }
            Journal::Kept => {}
            Journal::Missing if config.is_new_key => begin()?,
            Journal::Missing => {
                warn!(
                    folder = %folder(),
                    "the votes of this validator are not in its folder: it follows the others, and votes when they are \
                     past the rounds in which it may have voted"
                );
                let phase = self.phase(&committee, &machine, false);
                if run_phase(phase, stop.clone()).await? == Ended::Stopped {
                    return Ok(());
                }
                begin()?;
                info!(
                    "the others are past the rounds in which this validator may have voted: it votes"
                );
            }
            Journal::Other(owner) => {
                let text = format!("{} has the votes of another validator, {owner}", folder());
                return Err(EngineError::Protocol(text));
            }
        }
        self.votes.store(true, Ordering::Relaxed);
        let phase = self.phase(&committee, &machine, true);
        run_phase(phase, stop).await.map(|_stopped| ())
    }

    fn status(&self) -> EngineStatus {
        let shared = self.shared.lock().clone();
        let (tip_final, tip_seen) =
            shared.map_or((0, 0), |shared| (shared.tip_final(), shared.tip_seen()));
        EngineStatus {
            role: if self.is_follower() { Role::Follower } else { Role::Validator },
            tip_final,
            tip_seen,
            peers: self.peers.load(Ordering::Relaxed),
            syncing: tip_seen.saturating_sub(tip_final) > SYNCING_FROM,
        }
    }
}

/// A part of a validator's run: without votes, until it may vote, or with votes, until it is stopped.
struct Phase {
    config: BftConfig,
    committee: Committee,
    machine: Arc<dyn ChainMachine>,
    shared: Arc<Shared>,
    failure: mpsc::Receiver<EngineError>,
    peers: Arc<AtomicUsize>,
    followers: Arc<AtomicUsize>,
    votes: bool,
    /// Whether it ends when the validator may vote.
    rejoins: bool,
}

/// How a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Stopped,
    MayVote,
}

impl BftEngine {
    fn phase(&self, committee: &Committee, machine: &Arc<dyn ChainMachine>, votes: bool) -> Phase {
        let (shared, failure) = Shared::new(machine.last_final().0);
        let shared = Arc::new(shared);
        *self.shared.lock() = Some(Arc::clone(&shared));
        Phase {
            config: self.config.clone(),
            committee: committee.clone(),
            machine: Arc::clone(machine),
            shared,
            failure,
            peers: Arc::clone(&self.peers),
            followers: Arc::clone(&self.followers),
            votes,
            rejoins: !votes && !self.is_follower(),
        }
    }
}

/// Runs a phase in a thread of its own: the library's runtime can't be started within another one.
async fn run_phase(phase: Phase, stop: Shutdown) -> Result<Ended, EngineError> {
    let settings = runtime::Config::new()
        .with_worker_threads(THREADS)
        .with_storage_directory(phase.config.folder.clone())
        .with_catch_panics(false);
    let (done, ended) = oneshot::channel();
    let body = move || {
        let run = |context| phase.run(context, stop);
        let _gone = done.send(runtime::Runner::new(settings).start(run));
    };
    let failed = |error| EngineError::Protocol(format!("no thread for the engine: {error}"));
    thread::Builder::new().name("consensus".to_owned()).spawn(body).map_err(failed)?;
    let panicked = |_| EngineError::Protocol("the consensus engine has panicked".to_owned());
    ended.await.map_err(panicked)?
}

impl Phase {
    async fn run(
        self,
        context: runtime::Context,
        mut stop: Shutdown,
    ) -> Result<Ended, EngineError> {
        let Self { config, committee, machine, shared, failure, peers, followers, votes, rejoins } =
            self;
        let (links, network) = connect(&context, &config, &committee);
        let validators = config.validators.iter().map(|(key, _)| *key).collect();
        let counted = [(validators, Arc::clone(&peers)), (config.followers.clone(), followers)];
        let counter = context.child("peers").spawn(|context| count_peers(context, counted));
        let rejoin = Rejoin {
            machine: Arc::clone(&machine),
            shared: Arc::clone(&shared),
            peers,
            committee: committee.clone(),
            settle: config.timings.certification.saturating_mul(2),
        };
        let waiting = context.child("rejoin");
        let validator = Validator {
            key: config.key.clone(),
            votes,
            committee,
            timings: config.timings,
            machine,
            shared,
            pools: Arc::clone(&config.pools),
            partition: String::new(),
        };
        let running = stack::run(context, validator, failure, links);
        let stopped =
            |part| Err(EngineError::Protocol(format!("the validators' {part} has stopped")));
        tokio::select! {
            biased;
            () = stop.wait() => Ok(Ended::Stopped),
            error = running => Err(error),
            _ended = network => stopped("network"),
            _ended = counter => stopped("counter of peers"),
            waited = rejoin.wait(waiting), if rejoins => waited.map(|()| Ended::MayVote),
        }
    }
}

type Oracle = lookup::Oracle<commonware_cryptography::ed25519::PublicKey>;
type Sender = lookup::Sender<commonware_cryptography::ed25519::PublicKey, runtime::Context>;
type Receiver = lookup::Receiver<commonware_cryptography::ed25519::PublicKey>;

/// The channels of a real network.
pub(crate) type NetworkLinks = Links<Oracle, LoggingBlocker<Oracle>, Sender, Receiver>;

/// Starts the network with its channels.
pub(crate) fn connect(
    context: &runtime::Context,
    config: &BftConfig,
    committee: &Committee,
) -> (NetworkLinks, commonware_runtime::Handle<()>) {
    let members = u32::try_from(committee.len()).unwrap_or(u32::MAX);
    let max_message = commonware_p2p::max_message_size(&[
        marshal::max_payload_size::<Standard<BundleBlock>, Scheme>(members, &MAX_NETWORK_BUNDLE),
        simplex::max_payload_size::<Scheme, Digest>(members),
    ]);
    let handshake = Cups::<_, ChaCha20Poly1305>::new(
        Sake {
            signer: config.key.library(),
            synchrony_bound: MAX_CLOCK_DIFFERENCE,
            max_handshake_age: MAX_CLOCK_DIFFERENCE,
            version: sake::Version::V1,
        },
        cups::Version::V1,
    );
    let nodes = committee.len().saturating_add(config.followers.len());
    let max_peers = std::num::NonZeroUsize::new(nodes).unwrap_or(NZUsize!(1));
    let mut settings = lookup::Config::local(
        handshake,
        committee.namespace(),
        config.listen,
        max_peers,
        max_message,
        MAILBOX,
    );
    // A peer proves its key, from whatever address.
    settings.bypass_ip_check = true;
    settings.max_concurrent_handshakes = MAX_HANDSHAKES;
    settings.allowed_handshake_rate_per_ip = Quota::per_second(MAX_ATTEMPTS);
    settings.allowed_handshake_rate_per_subnet = Quota::per_second(MAX_SUBNET_ATTEMPTS);
    settings.tracked_peer_sets = NZUsize!(1);
    settings.block_duration = BLOCKED_FOR;
    let (mut network, mut oracle) = lookup::Network::new(context.child("network"), settings);
    let addresses = config.validators.iter().map(|(key, at)| (key.library(), at.library()));
    let addresses: commonware_utils::ordered::Map<_, _> =
        addresses.try_collect().expect("the committee has each key once");
    // Validators never connect to a follower: it has no address.
    let nowhere = Address::Symmetric(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
    let followers = config.followers.iter().map(|key| (key.library(), nowhere.clone()));
    let followers: commonware_utils::ordered::Map<_, _> =
        followers.try_collect().expect("the network has each follower once");
    let _sent = oracle.track(0, AddressableTrackedPeers::new(addresses, followers));
    let links = Links {
        votes: network.register(0, SMALL_MESSAGES),
        certificates: network.register(1, SMALL_MESSAGES),
        fetches: network.register(2, REQUESTS),
        bundles: network.register(3, BUNDLES),
        backfill: network.register(4, BUNDLES),
        transactions: network.register(5, TRANSACTIONS),
        peers: oracle.clone(),
        blocker: LoggingBlocker::new(oracle),
    };
    let followers = config.followers.len();
    info!(listen = %config.listen, validators = committee.len(), followers, "validators' network started");
    (links, network.start())
}

/// Keys, and how many of them are connected.
type Counted = (Vec<ValidatorPublicKey>, Arc<AtomicUsize>);

/// Counts the connected peers from the network's metrics, which are the only place that has them.
async fn count_peers(context: runtime::Context, counted: [Counted; 2]) {
    loop {
        context.sleep(COUNT_INTERVAL).await;
        let metrics = context.encode();
        for (keys, peers) in &counted {
            peers.store(connected(&metrics, keys), Ordering::Relaxed);
        }
    }
}

fn connected(metrics: &str, of: &[ValidatorPublicKey]) -> usize {
    const NAME: &str = "network_tracker_directory_connected{";
    let names: Vec<String> = of.iter().map(ToString::to_string).collect();
    let lines = metrics.lines().filter(|line| line.starts_with(NAME));
    lines.filter(|line| names.iter().any(|name| line.contains(name))).count()
}
