//! Puts the parts together, over any runtime and network.

use std::sync::Arc;
use std::time::Duration;

use commonware_broadcast::buffered;
use commonware_consensus::Epochable as _;
use commonware_consensus::Reporters;
use commonware_consensus::marshal::core::Actor;
use commonware_consensus::marshal::resolver::p2p as resolver;
use commonware_consensus::marshal::standard::Inline;
use commonware_consensus::marshal::{self, Start};
use commonware_consensus::simplex::elector::RoundRobin;
use commonware_consensus::simplex::{self, Floor, ForwardPolicy, SkipBudget, SkipPolicy};
use commonware_consensus::types::{Epoch, ViewDelta};
use commonware_cryptography::certificate::Provider as _;
use commonware_cryptography::ed25519::PublicKey;
use commonware_cryptography::{Digested, Sha256};
use commonware_p2p::{Blocker, Provider, Receiver, Sender};
use commonware_parallel::Sequential;
use commonware_runtime::{Clock, Handle, Metrics, Spawner, Storage};
use commonware_utils::{NZU64, NZUsize, NonZeroDuration};
use esker_chain::forward::ExchangePools;
use esker_chain::{ChainMachine, EngineError};
use esker_validators::journal::VOTES;
use esker_validators::{Timings, ValidatorKey};
use rand_core::CryptoRng;
use tokio::sync::mpsc;

use crate::application::Application;
use crate::block::{BundleBlock, MAX_NETWORK_BUNDLE, digest_of};
use crate::changes::{self, ChangeState, Epochs, Gossip, Guarded, Schemes, Track, of_epoch};
use crate::committee::Committee;
use crate::exchange;
use crate::finalizer::{Finalizer, MAX_PENDING};
use crate::library::ToLibrary as _;
use crate::log_limit::LogLimit;
use crate::observer::Observer;
use crate::shared::Shared;
use crate::store::{
    BUFFER, BundleStore, Certificate, CertificateStore, FinalBundles, SECTION, StoreError,
    page_cache,
};

/// Messages that wait inside a part.
const MAILBOX: std::num::NonZeroUsize = NZUsize!(1024);

/// Bundles of one sender that are kept until they are asked for.
const BUNDLES_OF_A_PEER: usize = 16;

/// Rounds below the final one of which votes and bundles are kept.
const KEPT_ROUNDS: u64 = 64;

/// Heights that are fetched from peers at a time.
const MAX_REPAIR: std::num::NonZeroUsize = NZUsize!(32);

/// Delay before a peer is asked again.
const FETCH_RETRY: Duration = Duration::from_millis(100);

/// A network's channels and peers. Channels are pairs of a sender and a receiver.
pub(crate) struct Links<P, B, S, R> {
    pub(crate) peers: P,
    pub(crate) blocker: B,
    pub(crate) votes: (S, R),
    pub(crate) certificates: (S, R),
    pub(crate) fetches: (S, R),
    pub(crate) bundles: (S, R),
    pub(crate) backfill: (S, R),
    pub(crate) transactions: (S, R),
    pub(crate) changes: (S, R),
}

/// A validator: its key, its network, its chains.
pub(crate) struct Validator {
    pub(crate) key: ValidatorKey,
    /// Whether it votes and proposes. One that does not still takes what the others decide.
    pub(crate) votes: bool,
    pub(crate) committee: Committee,
    /// The changes of the validators; the committee is that of their epoch.
    pub(crate) changes: Arc<ChangeState>,
    /// Follows changes in the network.
    pub(crate) track: Track,
    pub(crate) timings: Timings,
    pub(crate) machine: Arc<dyn ChainMachine>,
    pub(crate) shared: Arc<Shared>,
    /// The pools of its chains.
    pub(crate) pools: Arc<ExchangePools>,
    /// Begins the names of its files.
    pub(crate) partition: String,
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Machine(error) => error.into(),
            error => Self::Protocol(error.to_string()),
        }
    }
}

/// Where a start begins when the engine's folder is new.
enum Origin {
    Genesis,
    /// Height and certificate of the newest final bundle that has one.
    Final(u64, Certificate),
}

/// Finds the origin. A store of final bundles without a certificate does not come from this network.
async fn origin(finals: &FinalBundles<impl Clock>) -> Result<Origin, EngineError> {
    let last = finals.last();
    if last == 0 {
        return Ok(Origin::Genesis);
    }
    match finals.newest_proof().await? {
        Some((height, certificate)) => Ok(Origin::Final(height, certificate)),
        None => Err(EngineError::Protocol(format!(
            "none of the last bundles up to {last} has a certificate of this network's validators"
        ))),
    }
}

/// Runs a validator. Ends only with an error: a part has failed, or the machine.
pub(crate) async fn run<E, P, B, S, R>(
    mut context: E,
    validator: Validator,
    mut failure: mpsc::Receiver<EngineError>,
    links: Links<P, B, S, R>,
) -> EngineError
where
    E: Clock + CryptoRng + Spawner + Storage + Metrics,
    P: Provider<PublicKey = PublicKey>,
    B: Blocker<PublicKey = PublicKey>,
    S: Sender<PublicKey = PublicKey>,
    R: Receiver<PublicKey = PublicKey>,
{
    let parts = match Box::pin(start(&mut context, validator, links)).await {
        Ok(parts) => parts,
        Err(error) => return error,
    };
    tokio::select! {
        biased;
        Some(error) = failure.recv() => error,
        ended = Handle::select(parts) => {
            let reason = ended.err().map_or_else(String::new, |error| format!(": {error}"));
            EngineError::Protocol(format!("a part of the consensus engine has stopped{reason}"))
        }
    }
}

async fn start<E, P, B, S, R>(
    context: &mut E,
    validator: Validator,
    links: Links<P, B, S, R>,
) -> Result<Vec<Handle<()>>, EngineError>
where
    E: Clock + CryptoRng + Spawner + Storage + Metrics,
    P: Provider<PublicKey = PublicKey>,
    B: Blocker<PublicKey = PublicKey>,
    S: Sender<PublicKey = PublicKey>,
    R: Receiver<PublicKey = PublicKey>,
{
    let Validator {
        key,
        votes,
        committee,
        changes,
        track,
        timings,
        machine,
        shared,
        pools,
        partition,
    } = validator;
    let scheme = if votes { committee.signer(&key)? } else { committee.verifier() };
    let epoch = changes.epoch();
    let schemes = Schemes::new(Arc::clone(&changes), epoch, scheme.clone());
    let me = key.public_key().to_library();
    let cache = page_cache();
    let finals = Arc::new(FinalBundles::new(Arc::clone(&machine), context.child("finals")));
    let origin = origin(&finals).await?;
    let mut newest = None;
    if let Origin::Final(height, certificate) = &origin {
        newest = Some(*height);
        let of = certificate.epoch().get();
        let known = changes.with_history(|history| history.newest_epoch());
        if of > known {
            return Err(EngineError::Protocol(format!(
                "the last bundle was decided in epoch {of}, but changes of the validators are known up to epoch {known}: \
                 give the others (--validator-changes)"
            )));
        }
        let scheme = schemes.scoped(certificate.epoch());
        if !scheme.is_some_and(|scheme| certificate.verify(context, &scheme, &Sequential)) {
            let text = "the certificate of the last bundle is not of this network's validators";
            return Err(EngineError::Protocol(text.to_owned()));
        }
    }
    let genesis = machine.genesis();
    let genesis_digest = digest_of(&genesis.id());

    // Dissemination of bundles.
    let (broadcast, buffer) = buffered::Engine::new(
        context.child("broadcast"),
        buffered::Config {
            public_key: me.clone(),
            mailbox_size: MAILBOX,
            deque_size: BUNDLES_OF_A_PEER,
            priority: true,
            codec_config: MAX_NETWORK_BUNDLE,
            peer_provider: links.peers.clone(),
            strategy: Sequential,
        },
    );
    let broadcast = broadcast.start(links.bundles);

    // Order and backfill.
    let fetch_timeout = NonZeroDuration::new(timings.fetch)
        .ok_or_else(|| EngineError::Protocol("the fetch timeout is 0".to_owned()))?;
    let backfill = resolver::init(
        context.child("backfill"),
        resolver::Config {
            public_key: me,
            peer_provider: links.peers,
            blocker: links.blocker.clone(),
            mailbox_size: MAILBOX,
            fetch_timeout,
            fetch_retry_delay: FETCH_RETRY,
            priority_requests: false,
            priority_responses: false,
        },
        links.backfill,
    );
    let bundles =
        BundleStore::open(context.child("bundles"), &partition, Arc::clone(&finals), cache.clone())
            .await?;
    let certificates = CertificateStore::open(
        context.child("certificates"),
        &partition,
        (Arc::clone(&finals), newest),
        cache.clone(),
    )
    .await?;
    let (marshal_start, floor) = match origin {
        Origin::Genesis => {
            let anchor = Digested::precomputed(BundleBlock::new(genesis), genesis_digest);
            (Start::Genesis(anchor), Floor::Genesis(genesis_digest))
        }
        Origin::Final(_, certificate) if certificate.epoch().get() == epoch => {
            (Start::Floor(certificate.clone()), Floor::Finalized(certificate))
        }
        // Nothing of this epoch has a certificate yet: it begins on the last bundle of the one before.
        Origin::Final(_, certificate) => {
            let first =
                changes.with_history(|history| history.set(epoch).map_or(0, |set| set.first));
            let last = first.saturating_sub(1);
            let stored = finals.bundle_at(last).await?;
            let (bundle, _) = stored.ok_or_else(|| {
                EngineError::Protocol(format!(
                    "bundle {last}, the last one of an epoch, is missing"
                ))
            })?;
            (Start::Floor(certificate), Floor::Genesis(digest_of(&bundle.id())))
        }
    };
    let (actor, marshal, position) = Actor::init(
        context.child("marshal"),
        certificates,
        bundles,
        marshal::Config {
            provider: schemes,
            epocher: Epochs::agreed(Arc::clone(&changes)),
            start: marshal_start,
            partition_prefix: format!("{partition}marshal"),
            mailbox_size: MAILBOX,
            view_retention: ViewDelta::new(KEPT_ROUNDS),
            prunable_items_per_section: NZU64!(SECTION),
            page_cache: cache.clone(),
            replay_buffer: BUFFER,
            key_write_buffer: BUFFER,
            value_write_buffer: BUFFER,
            block_codec_config: MAX_NETWORK_BUNDLE,
            max_repair: MAX_REPAIR,
            max_pending_acks: NZUsize!(MAX_PENDING),
            strategy: Sequential,
        },
    )
    .await;
    let (last, _) = machine.last_final();
    if let Some(delivered) = position.processed().map(|processed| processed.height().get())
        && delivered > last
    {
        let text = format!(
            "the votes in the engine's folder go up to bundle {delivered}, but the last stored bundle is {last}: the \
             store is older than its votes"
        );
        shared.set_store_behind(&text);
        return Err(EngineError::Protocol(text));
    }

    // The chains.
    let (deliveries, finalizer) = Finalizer::new(Arc::clone(&machine), Arc::clone(&shared));
    let mailbox = marshal.clone();
    let finalizer = context.child("finalizer").spawn(|clock| finalizer.run(clock, mailbox));
    let actor = actor.start(deliveries, buffer, backfill);
    let (observer, notifier) =
        Observer::new(Arc::clone(&machine), Arc::clone(&shared), Arc::clone(&changes));
    let notifier = context.child("notifier").spawn(|_| notifier.run());
    let application = Application::new(Arc::clone(&machine), Arc::clone(&shared), &timings);
    let application = Inline::new(
        context.child("application"),
        application,
        marshal.clone(),
        Epochs::of_votes(Arc::clone(&changes)),
    );
    let automaton = Guarded::new(
        context.child("guard"),
        application.clone(),
        marshal.clone(),
        Arc::clone(&shared),
        Arc::clone(&changes),
    );

    // Changes of the validators.
    let gossip = Gossip { state: changes, machine, shared, marshal, track, lines: LogLimit::new() };
    let (channel, blocker) = (links.changes, links.blocker.clone());
    let gossip =
        context.child("changes").spawn(|clock| changes::run(clock, gossip, blocker, channel));

    // Transactions.
    let transactions = (links.transactions, links.blocker.clone());
    let exchange = context.child("exchange");
    let exchange =
        exchange.spawn(|clock| exchange::run(clock, pools, transactions.1, transactions.0));

    // Votes. Those of other epochs are not of this engine.
    let votes = of_epoch(context.child("votes"), links.votes, epoch).await?;
    let certificates = of_epoch(context.child("proofs"), links.certificates, epoch).await?;
    let fetches = of_epoch(context.child("fetches"), links.fetches, epoch).await?;
    let partition = match epoch {
        0 => format!("{partition}{VOTES}"),
        _ => format!("{partition}{VOTES}-{epoch}"),
    };
    let engine = simplex::Engine::new(
        context.child("simplex"),
        simplex::Config {
            scheme,
            elector: RoundRobin::<Sha256>::default(),
            blocker: links.blocker,
            relay: automaton.clone(),
            automaton,
            reporter: Reporters::from((application, observer)),
            track_historical_votes: false,
            strategy: Sequential,
            partition,
            mailbox_size: MAILBOX,
            epoch: Epoch::new(epoch),
            floor,
            replay_buffer: BUFFER,
            write_buffer: BUFFER,
            page_cache: cache,
            leader_timeout: timings.leader,
            certification_timeout: timings.certification,
            timeout_retry: timings.retry,
            view_retention: ViewDelta::new(KEPT_ROUNDS),
            skip: SkipPolicy::Enabled { timeout: timings.skip, budget: SkipBudget::Participants },
            fetch_timeout,
            fetch_retry_delay: FETCH_RETRY,
            forward: ForwardPolicy::SilentVoters,
        },
    );
    let engine = engine.start(votes, certificates, fetches);
    Ok(vec![broadcast, actor, finalizer, notifier, exchange, gossip, engine])
}
