//! The engine of a validator on a real network.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use commonware_consensus::marshal;
use commonware_consensus::marshal::standard::Standard;
use commonware_consensus::simplex;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_cryptography::ChaCha20Poly1305;
use commonware_p2p::AddressableManager as _;
use commonware_p2p::authenticated::lookup;
use commonware_runtime::{
    Clock as _, Metrics as _, Quota, Runner as _, Spawner as _, Supervisor as _, tokio as runtime,
};
use commonware_stream::cups::{self, Cups};
use commonware_stream::sake::{self, Sake};
use commonware_utils::{NZU32, NZUsize, TryCollect as _};
use esker_chain::{ChainMachine, Engine, EngineError, EngineStatus, Role, Shutdown};
use esker_primitives::sync::Mutex;
use tokio::sync::oneshot;
use tracing::info;

use crate::block::{BundleBlock, Digest};
use crate::settings::{Committee, Timings, quorum};
use crate::shared::Shared;
use crate::stack::{self, Links, MAX_NETWORK_BUNDLE, Validator};
use crate::{ValidatorAddress, ValidatorKey, ValidatorPublicKey};

/// Threads of the engine's runtime.
const THREADS: usize = 2;

/// Messages that wait inside a part of the network.
const MAILBOX: std::num::NonZeroUsize = NZUsize!(1024);

/// Difference of two validators' clocks up to which they connect, and age of a handshake.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(60);

/// Connections that are authenticated at a time.
const MAX_HANDSHAKES: NonZeroU32 = NZU32!(64);

/// Attempts to connect of one IP address or subnet, per second.
const MAX_ATTEMPTS: NonZeroU32 = NZU32!(32);

/// How long a peer that broke the protocol is not connected to.
const BLOCKED_FOR: Duration = Duration::from_mins(10);

/// Heights behind the network from which a validator counts as syncing.
const SYNCING_FROM: u64 = 16;

/// Interval of counting the connected peers.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// Messages per second of one peer: votes and certificates, requests, bundles.
const SMALL_MESSAGES: Quota = Quota::per_second(NZU32!(1024));
const REQUESTS: Quota = Quota::per_second(NZU32!(256));
const BUNDLES: Quota = Quota::per_second(NZU32!(64));

/// The settings of a validator.
#[derive(Clone, Debug)]
pub struct BftConfig {
    /// Its key.
    pub key: ValidatorKey,
    /// ID of the network. Votes count in this network only.
    pub network: u32,
    /// All validators with their addresses, also this one.
    pub validators: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    /// Where it listens for its peers.
    pub listen: SocketAddr,
    /// A folder of the engine's own for votes and recent bundles. A validator whose votes are lost must not vote
    /// again: it could contradict itself.
    pub folder: PathBuf,
    /// Timeouts.
    pub timings: Timings,
}

/// Counts since the start of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BftStats {
    /// The network's validators.
    pub validators: usize,
    /// How many of them decide.
    pub quorum: usize,
    /// The last round with a result.
    pub round: u64,
    /// Rounds in which a quorum voted for a bundle.
    pub notarized: u64,
    /// Rounds that a quorum voted to skip.
    pub skipped: u64,
    /// Rounds whose bundle is final by votes of its own.
    pub finalized: u64,
}

/// One of several validators that decide together.
#[derive(Debug)]
pub struct BftEngine {
    config: BftConfig,
    shared: Mutex<Option<Arc<Shared>>>,
    peers: Arc<AtomicUsize>,
}

impl BftEngine {
    /// An engine that has not started.
    #[must_use]
    pub fn new(config: BftConfig) -> Self {
        let shared = Mutex::new_named("engine_bft.shared", None);
        Self { config, shared, peers: Arc::default() }
    }

    /// Counts of rounds.
    pub fn stats(&self) -> BftStats {
        let shared = self.shared.lock().clone();
        let [round, notarized, skipped, finalized] =
            shared.map_or([0; 4], |shared| shared.counts());
        let validators = self.config.validators.len();
        let quorum = quorum(validators);
        BftStats { validators, quorum, round, notarized, skipped, finalized }
    }
}

#[async_trait]
impl Engine for BftEngine {
    async fn run(
        self: Arc<Self>,
        machine: Arc<dyn ChainMachine>,
        mut stop: Shutdown,
    ) -> Result<(), EngineError> {
        let config = self.config.clone();
        let keys: Vec<_> = config.validators.iter().map(|(key, _)| *key).collect();
        let committee = Committee::new(config.network, machine.genesis().id(), &keys)?;
        // Before anything is started: the key must be one of the validators'.
        let _signer = committee.signer(&config.key)?;
        let (last, _) = machine.last_final();
        let (shared, failure) = Shared::new(last);
        let shared = Arc::new(shared);
        *self.shared.lock() = Some(Arc::clone(&shared));
        let validator = Validator {
            key: config.key.clone(),
            committee,
            timings: config.timings,
            machine,
            shared,
            partition: String::new(),
        };
        let peers = Arc::clone(&self.peers);
        let settings = runtime::Config::new()
            .with_worker_threads(THREADS)
            .with_storage_directory(config.folder.clone())
            .with_catch_panics(false);
        let (done, ended) = oneshot::channel();
        // The library's runtime can't be started within another one.
        let body = move || {
            let outcome = runtime::Runner::new(settings).start(|context| async move {
                let (links, network) = connect(&context, &config, &validator.committee);
                let counter = context.child("peers").spawn(|context| count_peers(context, peers));
                let running = stack::run(context, validator, failure, links);
                tokio::select! {
                    biased;
                    () = stop.wait() => Ok(()),
                    error = running => Err(error),
                    _ended = network => Err(EngineError::Protocol(
                        "the network of the validators has stopped".to_owned(),
                    )),
                    _ended = counter => Err(EngineError::Protocol(
                        "the counter of peers has stopped".to_owned(),
                    )),
                }
            });
            let _gone = done.send(outcome);
        };
        let failed = |error| EngineError::Protocol(format!("no thread for the engine: {error}"));
        thread::Builder::new().name("consensus".to_owned()).spawn(body).map_err(failed)?;
        let panicked = |_| EngineError::Protocol("the consensus engine has panicked".to_owned());
        ended.await.map_err(panicked)?
    }

    fn status(&self) -> EngineStatus {
        let shared = self.shared.lock().clone();
        let (tip_final, tip_seen) =
            shared.map_or((0, 0), |shared| (shared.tip_final(), shared.tip_seen()));
        EngineStatus {
            role: Role::Validator,
            tip_final,
            tip_seen,
            peers: self.peers.load(Ordering::Relaxed),
            syncing: tip_seen.saturating_sub(tip_final) > SYNCING_FROM,
        }
    }
}

type Oracle = lookup::Oracle<commonware_cryptography::ed25519::PublicKey>;
type Sender = lookup::Sender<commonware_cryptography::ed25519::PublicKey, runtime::Context>;
type Receiver = lookup::Receiver<commonware_cryptography::ed25519::PublicKey>;

/// Starts the network with its channels.
fn connect(
    context: &runtime::Context,
    config: &BftConfig,
    committee: &Committee,
) -> (Links<Oracle, Oracle, Sender, Receiver>, commonware_runtime::Handle<()>) {
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
    let max_peers = std::num::NonZeroUsize::new(committee.len()).unwrap_or(NZUsize!(1));
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
    settings.allowed_handshake_rate_per_subnet = Quota::per_second(MAX_ATTEMPTS);
    settings.tracked_peer_sets = NZUsize!(1);
    settings.block_duration = BLOCKED_FOR;
    let (mut network, mut oracle) = lookup::Network::new(context.child("network"), settings);
    let addresses = config.validators.iter().map(|(key, at)| (key.library(), at.library()));
    let addresses: commonware_utils::ordered::Map<_, _> =
        addresses.try_collect().expect("the committee has each key once");
    let _sent = oracle.track(0, addresses);
    let links = Links {
        votes: network.register(0, SMALL_MESSAGES),
        certificates: network.register(1, SMALL_MESSAGES),
        fetches: network.register(2, REQUESTS),
        bundles: network.register(3, BUNDLES),
        backfill: network.register(4, BUNDLES),
        peers: oracle.clone(),
        blocker: oracle,
    };
    info!(listen = %config.listen, validators = committee.len(), "validator's network started");
    (links, network.start())
}

/// Counts the connected peers from the network's metrics, which are the only place that has them.
async fn count_peers(context: runtime::Context, peers: Arc<AtomicUsize>) {
    loop {
        context.sleep(COUNT_INTERVAL).await;
        peers.store(connected(&context.encode()), Ordering::Relaxed);
    }
}

fn connected(metrics: &str) -> usize {
    metrics.lines().filter(|line| line.starts_with("network_tracker_directory_connected{")).count()
}
