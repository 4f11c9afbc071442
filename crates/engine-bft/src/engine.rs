//! The engine of a validator on a real network.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use commonware_consensus::marshal;
use commonware_consensus::marshal::standard::Standard;
use commonware_consensus::simplex;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_cryptography::ChaCha20Poly1305;
use commonware_p2p::authenticated::lookup;
use commonware_p2p::utils::mux;
use commonware_p2p::{Address, AddressableManager as _, AddressableTrackedPeers};
use commonware_runtime::{
    Clock as _, Metrics as _, Quota, Runner as _, Spawner as _, Supervisor as _, tokio as runtime,
};
use commonware_stream::cups::{self, Cups};
use commonware_stream::sake::{self, Sake};
use commonware_utils::{NZU32, NZUsize, TryCollect as _};
use esker_chain::{ChainMachine, Engine, EngineError, EngineStatus, Role, Shutdown};
use esker_primitives::sync::Mutex;
use esker_validators::journal::{self, Journal};
use esker_validators::{
    ApprovalError, ChangeStatus, MAX_VALIDATORS, SetChange, ValidatorAddress, ValidatorConfig,
    ValidatorEngine, ValidatorPublicKey, ValidatorStats, quorum,
};
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, error, info, warn};

use crate::block::{BundleBlock, Digest, MAX_NETWORK_BUNDLE};
use crate::blocker::LoggingBlocker;
use crate::changes::{ChangeHistory, ChangeState, Track};
use crate::committee::Committee;
use crate::disk;
use crate::library::ToLibrary as _;
use crate::rejoin::Rejoin;
use crate::shared::Shared;
use crate::stack::{self, Links, Validator};

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

/// Time that a peer that broke the protocol is not connected to.
const BLOCKED_FOR: Duration = Duration::from_mins(10);

/// Heights behind the network from which a validator counts as syncing.
const SYNCING_FROM: u64 = 16;

/// Validators that a node knows at a time: those of the current and the next epoch, and of earlier ones as far as there is
/// room, which may not know yet that they have left.
const MAX_PEERS: usize = 256;

/// Time that a validator stays in an epoch that has ended, for peers that have not seen the end yet.
const LINGER: Duration = Duration::from_millis(300);

/// Interval of looking for the end of the epoch.
const EPOCH_INTERVAL: Duration = Duration::from_millis(50);

/// Time between two looks whether the disk takes writes again.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);

/// Interval of counting the connected peers.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// Messages per second of one peer, and how many of them at once: votes and certificates, requests, transactions, bundles.
/// The network has room for that many of each possible peer from the start on, a few hundred bytes for each.
const SMALL_MESSAGES: Quota = Quota::per_second(NZU32!(1024)).allow_burst(NZU32!(64));
const REQUESTS: Quota = Quota::per_second(NZU32!(256)).allow_burst(NZU32!(64));
const TRANSACTIONS: Quota = Quota::per_second(NZU32!(1024)).allow_burst(NZU32!(128));
const BUNDLES: Quota = Quota::per_second(NZU32!(64)).allow_burst(NZU32!(32));
const CHANGES: Quota = Quota::per_second(NZU32!(16));

/// One of several validators that decide together, or a follower among their peers.
#[derive(Debug)]
pub struct BftEngine {
    config: ValidatorConfig,
    shared: Mutex<Option<Arc<Shared>>>,
    changes: Mutex<Option<Arc<ChangeState>>>,
    peers: Arc<AtomicUsize>,
    followers: Arc<AtomicUsize>,
    votes: Arc<AtomicBool>,
}

impl BftEngine {
    /// An engine that has not started.
    #[must_use]
    pub fn new(config: ValidatorConfig) -> Self {
        let shared = Mutex::new_named("engine_bft.shared", None);
        let changes = Mutex::new_named("engine_bft.change_state", None);
        let (peers, followers, votes) = (Arc::default(), Arc::default(), Arc::default());
        Self { config, shared, changes, peers, followers, votes }
    }

    /// Whether it is a follower of the network file, which never votes.
    fn is_follower(&self) -> bool {
        let key = self.config.key.public_key();
        self.config.followers.contains(&key)
    }

    /// The keys of the epoch's validators, in their order, and the epoch.
    fn members(&self) -> (u64, Vec<ValidatorPublicKey>) {
        let state = self.changes.lock().clone();
        let of_epoch = state.and_then(|state| {
            let epoch = state.epoch();
            let keys = state.with_history(|history| history.set(epoch).map(|set| set.keys()))?;
            Some((epoch, keys.into_iter().collect()))
        });
        of_epoch.unwrap_or_else(|| {
            let mut keys: Vec<_> = self.config.validators.iter().map(|(key, _)| *key).collect();
            keys.sort_unstable();
            (0, keys)
        })
    }

    /// Whether the votes of the key, if it has voted, are in the folder. The journal of a new key begins here.
    fn may_vote(&self, key: &ValidatorPublicKey) -> Result<bool, EngineError> {
        let config = &self.config;
        let folder = config.folder.display();
        let failed = |error| EngineError::Protocol(format!("{folder}: {error}"));
        match journal::read(&config.folder, key).map_err(failed)? {
            Journal::Missing if self.is_follower() => Ok(false),
            Journal::Kept => Ok(true),
            Journal::Missing if config.is_new_key => {
                journal::begin(&config.folder, key).map_err(failed)?;
                Ok(true)
            }
            Journal::Missing => {
                warn!(
                    %folder,
                    "the votes of this validator are not in its folder: it follows the others, and votes when they are \
                     past the rounds in which it may have voted"
                );
                Ok(false)
            }
            Journal::Other(owner) => {
                let text = format!("{folder} has the votes of another validator, {owner}");
                Err(EngineError::Protocol(text))
            }
        }
    }

    /// The epoch, its number of validators, and whether this node is one of them.
    fn standing(&self) -> (u64, usize, bool) {
        let (epoch, keys) = self.members();
        (epoch, keys.len(), keys.contains(&self.config.key.public_key()))
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
        let genesis = machine.genesis().id();
        let history = ChangeHistory::new(config.network, genesis, config.validators.clone())?;
        let changes = ChangeState::open(
            config.key.clone(),
            Some(config.folder.clone()),
            Arc::clone(&config.changes),
            history,
            &config.given_changes,
        );
        let changes = Arc::new(changes.await?);
        *self.changes.lock() = Some(Arc::clone(&changes));
        // Before anything is started: the key must be one of the validators', of whatever epoch.
        let public_key = config.key.public_key();
        let is_follower = self.is_follower();
        let is_known = changes.with_history(|history| history.address(&public_key).is_some());
        if !is_known && !is_follower {
            let text = format!("{public_key} is not a validator of this network");
            return Err(EngineError::Protocol(text));
        }
        let folder = || config.folder.display();
        let failed = |error| EngineError::Protocol(format!("{}: {error}", folder()));
        let begin = || journal::begin(&config.folder, &public_key).map_err(failed);
        let mut may_vote = self.may_vote(&public_key)?;
        let mut is_reset = false;
        loop {
            let epoch = changes.begin(machine.last_final().0);
            let set = changes.with_history(|history| history.set(epoch).cloned());
            let set =
                set.ok_or_else(|| EngineError::Protocol("an epoch without validators".into()))?;
            let is_member = set.keys().contains(&public_key);
            let votes = is_member && may_vote;
            if epoch > 0 {
                let (first, validators) = (set.first, set.members.len());
                info!(epoch, first, validators, votes, "an epoch of validators begins");
            }
            if !is_member && !is_follower {
                warn!("this node is none of the current validators: it follows them");
            }
            changes.set_votes(votes);
            self.votes.store(votes, Ordering::Relaxed);
            let phase = self.phase(&set.committee, &changes, &machine, (votes, is_member));
            match run_phase(phase, stop.clone()).await? {
                PhaseEnd::Stopped => return Ok(()),
                PhaseEnd::Epoch => {}
                PhaseEnd::MayVote => {
                    begin()?;
                    may_vote = true;
                    info!(
                        "the others are past the rounds in which this validator may have voted: it votes"
                    );
                }
                PhaseEnd::Panicked => {
                    let Err(error) = disk::probe(&config.folder).await else {
                        let text = "the consensus engine has panicked".to_owned();
                        return Err(EngineError::Protocol(text));
                    };
                    self.votes.store(false, Ordering::Relaxed);
                    self.peers.store(0, Ordering::Relaxed);
                    self.followers.store(0, Ordering::Relaxed);
                    error!(
                        %error,
                        folder = %folder(),
                        "the votes can't be written: this node takes part again when its disk takes writes"
                    );
                    if !wait_for_disk(&config.folder, stop.clone()).await {
                        return Ok(());
                    }
                    warn!("the disk takes writes again");
                }
                PhaseEnd::StoreBehind(text) if is_reset => return Err(EngineError::Protocol(text)),
                PhaseEnd::StoreBehind(text) => {
                    warn!(
                        reason = text,
                        "the votes are kept; missing bundles are fetched from the peers"
                    );
                    journal::keep_votes_only(&config.folder).map_err(failed)?;
                    is_reset = true;
                }
            }
        }
    }

    fn status(&self) -> EngineStatus {
        let shared = self.shared.lock().clone();
        let (tip_final, tip_seen) =
            shared.map_or((0, 0), |shared| (shared.tip_final(), shared.tip_seen()));
        EngineStatus {
            role: if self.standing().2 { Role::Validator } else { Role::Follower },
            tip_final,
            tip_seen,
            peers: self.peers.load(Ordering::Relaxed),
            syncing: tip_seen.saturating_sub(tip_final) > SYNCING_FROM,
        }
    }
}

impl ValidatorEngine for BftEngine {
    fn public_key(&self) -> ValidatorPublicKey {
        self.config.key.public_key()
    }

    fn change_status(&self) -> Result<ChangeStatus, ApprovalError> {
        let state = self.changes.lock().clone();
        state.map(|state| state.status()).ok_or(ApprovalError::NotRunning)
    }

    fn changes(&self) -> Vec<Bytes> {
        let state = self.changes.lock().clone();
        let read =
            |state: Arc<ChangeState>| state.with_history(|history| history.documents().to_vec());
        state.map(read).unwrap_or_default()
    }

    fn approve_change(
        &self,
        first_height: u64,
        members: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    ) -> Result<ChangeStatus, ApprovalError> {
        let state = self.changes.lock().clone().ok_or(ApprovalError::NotRunning)?;
        let tip = self.shared.lock().as_ref().map_or(0, |shared| shared.tip_seen());
        let change = |epoch| SetChange::new(epoch, first_height, members.clone());
        // Repeated after it was agreed, or after it came into force.
        let newest = change(state.with_history(ChangeHistory::newest_epoch))?.to_bytes();
        if !state.with_history(|history| history.has_change(&newest)) {
            state.approve(change(state.epoch().saturating_add(1))?, tip)?;
        }
        Ok(state.status())
    }

    fn stats(&self) -> ValidatorStats {
        let shared = self.shared.lock().clone();
        let [round, notarized, skipped, finalized] =
            shared.as_ref().map_or([0; 4], |shared| shared.counts());
        let votes_seen = shared.map(|shared| shared.vote_counts()).unwrap_or_default();
        let (epoch, validators, is_member) = self.standing();
        let quorum = quorum(validators);
        let votes = self.votes.load(Ordering::Relaxed);
        let followers = self.followers.load(Ordering::Relaxed);
        ValidatorStats {
            epoch,
            validators,
            is_member,
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

    fn votes_by_validator(&self) -> Vec<(ValidatorPublicKey, u64)> {
        let shared = self.shared.lock().clone();
        // Their numbers in votes follow the order of the keys.
        let (_, keys) = self.members();
        let votes = |number| shared.as_ref().map_or(0, |shared| shared.votes_of(number));
        keys.into_iter().enumerate().map(|(number, key)| (key, votes(number))).collect()
    }
}

/// A part of a validator's run: an epoch with votes, or without them, or until it may vote.
struct Phase {
    config: ValidatorConfig,
    committee: Committee,
    changes: Arc<ChangeState>,
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
#[derive(Debug)]
enum PhaseEnd {
    Stopped,
    MayVote,
    /// The last bundle of the epoch is final.
    Epoch,
    /// A part of the library has panicked, as it does when it can't write.
    Panicked,
    /// The store is older than the engine's files.
    StoreBehind(String),
}

impl BftEngine {
    fn phase(
        &self,
        committee: &Committee,
        changes: &Arc<ChangeState>,
        machine: &Arc<dyn ChainMachine>,
        (votes, is_member): (bool, bool),
    ) -> Phase {
        let (shared, failure) = Shared::new(machine.last_final().0);
        let shared = Arc::new(shared);
        *self.shared.lock() = Some(Arc::clone(&shared));
        Phase {
            config: self.config.clone(),
            committee: committee.clone(),
            changes: Arc::clone(changes),
            machine: Arc::clone(machine),
            shared,
            failure,
            peers: Arc::clone(&self.peers),
            followers: Arc::clone(&self.followers),
            votes,
            rejoins: is_member && !votes,
        }
    }
}

/// Runs a phase in a thread of its own: the library's runtime can't be started within another one.
async fn run_phase(phase: Phase, stop: Shutdown) -> Result<PhaseEnd, EngineError> {
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
    ended.await.unwrap_or(Ok(PhaseEnd::Panicked))
}

/// Waits until the disk of a folder takes writes, or the node is stopped.
/// Returns whether it takes writes.
async fn wait_for_disk(folder: &Path, mut stop: Shutdown) -> bool {
    loop {
        tokio::select! {
            biased;
            () = stop.wait() => return false,
            () = tokio::time::sleep(PROBE_INTERVAL) => {}
        }
        match disk::probe(folder).await {
            Ok(()) => return true,
            Err(error) => debug!(%error, "the disk still takes no writes"),
        }
    }
}

impl Phase {
    async fn run(
        self,
        context: runtime::Context,
        mut stop: Shutdown,
    ) -> Result<PhaseEnd, EngineError> {
        let Self {
            config,
            committee,
            changes,
            machine,
            shared,
            failure,
            peers,
            followers,
            votes,
            rejoins,
        } = self;
        let epoch = changes.epoch();
        let (links, network, oracle) = connect(&context, &config, &committee, &changes);
        let own_set = changes.with_history(|history| history.set(epoch).map(|set| set.keys()));
        let validators: Vec<_> = own_set.into_iter().flatten().collect();
        let counted = [(validators, peers), (config.followers.clone(), followers)];
        let counter = context.child("peers").spawn(|context| count_peers(context, counted));
        let rejoin = Rejoin {
            machine: Arc::clone(&machine),
            shared: Arc::clone(&shared),
            committee: committee.clone(),
            epoch,
            settle: config.timings.certification.saturating_mul(2),
        };
        let waiting = context.child("rejoin");
        let end =
            end_of_epoch(context.child("epoch"), Arc::clone(&changes), Arc::clone(&machine), epoch);
        let read = Arc::clone(&shared);
        let validator = Validator {
            key: config.key.clone(),
            votes,
            committee,
            changes,
            track: track(oracle, config.followers.clone(), epoch),
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
            () = stop.wait() => Ok(PhaseEnd::Stopped),
            error = running => match read.store_behind() {
                Some(text) => Ok(PhaseEnd::StoreBehind(text)),
                None => Err(error),
            },
            _ended = network => stopped("network"),
            _ended = counter => stopped("counter of peers"),
            () = end => Ok(PhaseEnd::Epoch),
            waited = rejoin.wait(waiting), if rejoins => waited.map(|()| PhaseEnd::MayVote),
        }
    }
}

/// Waits until the last bundle of an epoch is final at this node.
pub(crate) async fn end_of_epoch(
    clock: impl commonware_runtime::Clock,
    changes: Arc<ChangeState>,
    machine: Arc<dyn ChainMachine>,
    epoch: u64,
) {
    let next = || {
        let height = machine.last_final().0.saturating_add(1);
        changes.with_history(|history| history.epoch_of(height))
    };
    while next() == epoch {
        clock.sleep(EPOCH_INTERVAL).await;
    }
    clock.sleep(LINGER).await;
}

type Oracle = lookup::Oracle<commonware_cryptography::ed25519::PublicKey>;
type Sender = lookup::Sender<commonware_cryptography::ed25519::PublicKey, runtime::Context>;
type Receiver = lookup::Receiver<commonware_cryptography::ed25519::PublicKey>;

/// The peers of an epoch: its validators and the next ones, and those of other epochs, who may not know yet that they have
/// left, and the followers of the network file.
fn peers_of(
    history: &ChangeHistory,
    followers: &[ValidatorPublicKey],
    epoch: u64,
) -> AddressableTrackedPeers<commonware_cryptography::ed25519::PublicKey> {
    let mut seen = BTreeSet::new();
    let (mut primary, mut secondary) = (Vec::new(), Vec::new());
    let current = history.set(epoch).into_iter().chain([history.newest()]);
    let sets = current.map(|set| (true, set));
    let sets = sets.chain(history.sets().rev().map(|set| (false, set)));
    for (is_primary, set) in sets {
        for (key, _) in &set.members {
            // The newest address of a key counts; one place is this node's.
            if seen.len() + 1 < MAX_PEERS
                && seen.insert(*key)
                && let Some(address) = history.address(key)
            {
                let list = if is_primary { &mut primary } else { &mut secondary };
                list.push((key.to_library(), address.to_library()));
            }
        }
    }
    // Validators never connect to a follower: it has no address.
    let nowhere = Address::Symmetric(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
    for key in followers {
        if seen.len() + 1 < MAX_PEERS && seen.insert(*key) {
            secondary.push((key.to_library(), nowhere.clone()));
        }
    }
    let map = |list: Vec<_>| -> commonware_utils::ordered::Map<_, _> {
        list.into_iter().try_collect().expect("each key is taken once")
    };
    AddressableTrackedPeers::new(map(primary), map(secondary))
}

/// Follows changes of the validators in the network.
fn track(mut oracle: Oracle, followers: Vec<ValidatorPublicKey>, epoch: u64) -> Track {
    Box::new(move |history| {
        let _sent = oracle.track(history.newest_epoch(), peers_of(history, &followers, epoch));
    })
}
/// The channels of a real network.
pub(crate) type NetworkLinks = Links<Oracle, LoggingBlocker<Oracle>, Sender, Receiver>;

/// Starts the network with its channels.
pub(crate) fn connect(
    context: &runtime::Context,
    config: &ValidatorConfig,
    committee: &Committee,
    changes: &ChangeState,
) -> (NetworkLinks, commonware_runtime::Handle<()>, Oracle) {
    let members = u32::try_from(MAX_VALIDATORS).unwrap_or(u32::MAX);
    let max_message = commonware_p2p::max_message_size(&[
        marshal::max_payload_size::<Standard<BundleBlock>, Scheme>(members, &MAX_NETWORK_BUNDLE),
        mux::prefixed(simplex::max_payload_size::<Scheme, Digest>(members)),
    ]);
    let handshake = Cups::<_, ChaCha20Poly1305>::new(
        Sake {
            signer: config.key.to_library(),
            synchrony_bound: MAX_CLOCK_DIFFERENCE,
            max_handshake_age: MAX_CLOCK_DIFFERENCE,
            version: sake::Version::V1,
        },
        cups::Version::V1,
    );
    let mut settings = lookup::Config::local(
        handshake,
        committee.namespace(),
        config.listen,
        NZUsize!(MAX_PEERS),
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
    let epoch = changes.epoch();
    let (newest, peers) = changes.with_history(|history| {
        (history.newest_epoch(), peers_of(history, &config.followers, epoch))
    });
    let _sent = oracle.track(newest, peers);
    let links = Links {
        votes: network.register(0, SMALL_MESSAGES),
        certificates: network.register(1, SMALL_MESSAGES),
        fetches: network.register(2, REQUESTS),
        bundles: network.register(3, BUNDLES),
        backfill: network.register(4, BUNDLES),
        transactions: network.register(5, TRANSACTIONS),
        changes: network.register(6, CHANGES),
        peers: oracle.clone(),
        blocker: LoggingBlocker::new(oracle.clone()),
    };
    let followers = config.followers.len();
    info!(listen = %config.listen, validators = committee.len(), followers, "validators' network started");
    (links, network.start(), oracle)
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
