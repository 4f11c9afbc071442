//! Puts the parts together, over any runtime and network.

mod origin;
mod setup;

use std::sync::Arc;

use commonware_broadcast::buffered;
use commonware_consensus::Reporters;
use commonware_consensus::marshal::core::{Actor, Mailbox};
use commonware_consensus::marshal::resolver::p2p as resolver;
use commonware_consensus::marshal::standard::{Inline, Standard};
use commonware_consensus::simplex;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::{Blocker, Provider, Receiver, Sender};
use commonware_parallel::Sequential;
use commonware_runtime::{Clock, Handle, Metrics, Spawner, Storage};
use commonware_utils::NonZeroDuration;
use esker_chain::forward::ExchangePools;
use esker_chain::{ChainMachine, EngineError};
use esker_validators::{Timings, ValidatorKey};
use rand_core::CryptoRng;
use tokio::sync::mpsc;

use self::origin::{Origin, Votes};
use self::setup::Setup;
use crate::application::Application;
use crate::block::BundleBlock;
use crate::changes::{self, ChangeState, Epochs, Gossip, Guarded, Schemes, Track, of_epoch};
use crate::committee::Committee;
use crate::exchange;
use crate::finalizer::Finalizer;
use crate::library::ToLibrary as _;
use crate::log_limit::LogLimit;
use crate::observer::Observer;
use crate::shared::Shared;
use crate::store::{BundleStore, CertificateStore, FinalBundles, StoreError, page_cache};

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
    let (setup, origin, track, pools) = set_up(context, validator).await?;

    // Bundles: from peer to peer, and to the machine in order.
    let config = setup.broadcast(links.peers.clone());
    let (broadcast, buffer) = buffered::Engine::new(context.child("broadcast"), config);
    let broadcast = broadcast.start(links.bundles);
    let config = setup.backfill(links.peers, links.blocker.clone());
    let backfill = resolver::init(context.child("backfill"), config, links.backfill);
    let (actor, marshal, floor) = open_marshal(context, &setup, origin).await?;
    let (deliveries, finalizer) =
        Finalizer::new(Arc::clone(&setup.machine), Arc::clone(&setup.shared));
    let mailbox = marshal.clone();
    let finalizer = context.child("finalizer").spawn(|clock| finalizer.run(clock, mailbox));
    let actor = actor.start(deliveries, buffer, backfill);

    // Proposals and verdicts.
    let (observer, notifier) = Observer::new(
        Arc::clone(&setup.machine),
        Arc::clone(&setup.shared),
        Arc::clone(&setup.changes),
    );
    let notifier = context.child("notifier").spawn(|_| notifier.run());
    let (application, automaton) = automaton(context, &setup, &marshal);

    // Changes of the validators.
    let gossip = Gossip {
        state: Arc::clone(&setup.changes),
        machine: Arc::clone(&setup.machine),
        shared: Arc::clone(&setup.shared),
        marshal,
        track,
        lines: LogLimit::new(),
    };
    let (channel, blocker) = (links.changes, links.blocker.clone());
    let gossip =
        context.child("changes").spawn(|clock| changes::run(clock, gossip, blocker, channel));

    // Transactions.
    let (channel, blocker) = (links.transactions, links.blocker.clone());
    let exchange =
        context.child("exchange").spawn(|clock| exchange::run(clock, pools, blocker, channel));

    // Votes. Those of other epochs are not of this engine.
    let votes = of_epoch(context.child("votes"), links.votes, setup.epoch).await?;
    let certificates = of_epoch(context.child("proofs"), links.certificates, setup.epoch).await?;
    let fetches = of_epoch(context.child("fetches"), links.fetches, setup.epoch).await?;
    let reporter = Reporters::from((application, observer));
    let config = setup.votes(links.blocker, automaton, reporter, floor);
    let engine = simplex::Engine::new(context.child("simplex"), config);
    let engine = engine.start(votes, certificates, fetches);
    Ok(vec![broadcast, actor, finalizer, notifier, exchange, gossip, engine])
}

/// The parts that the stages share, the beginning, the receiver of changes, and the pools.
type StartParts<E> = (Setup<E>, Origin, Track, Arc<ExchangePools>);

/// Finds where the validator begins, and checks that its machine is of this network.
async fn set_up<E>(context: &mut E, validator: Validator) -> Result<StartParts<E>, EngineError>
where
    E: Clock + CryptoRng + Spawner + Storage + Metrics,
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
    let finals = Arc::new(FinalBundles::new(Arc::clone(&machine), context.child("finals")));
    let origin = Origin::find(&finals).await?;
    origin.check(context, &changes, &schemes)?;
    let fetch_timeout = NonZeroDuration::new(timings.fetch)
        .ok_or_else(|| EngineError::Protocol("the fetch timeout is 0".to_owned()))?;
    let (me, cache) = (key.public_key().to_library(), page_cache());
    let setup = Setup {
        me,
        epoch,
        scheme,
        schemes,
        changes,
        timings,
        fetch_timeout,
        machine,
        shared,
        finals,
        cache,
        partition,
    };
    Ok((setup, origin, track, pools))
}

/// Delivers final bundles in order.
type Marshal<E> = Actor<
    E,
    Standard<BundleBlock>,
    Schemes,
    CertificateStore<E>,
    BundleStore<E>,
    Epochs,
    Sequential,
>;

/// How other parts ask marshal.
type MarshalMailbox = Mailbox<Scheme, Standard<BundleBlock>>;

/// Opens marshal over its stores, not started yet. Also gives where the votes begin.
async fn open_marshal<E>(
    context: &E,
    setup: &Setup<E>,
    origin: Origin,
) -> Result<(Marshal<E>, MarshalMailbox, Votes), EngineError>
where
    E: Clock + CryptoRng + Spawner + Storage + Metrics,
{
    let Setup { changes, machine, shared, finals, cache, partition, .. } = setup;
    let bundles =
        BundleStore::open(context.child("bundles"), partition, Arc::clone(finals), cache.clone())
            .await?;
    let certificates = CertificateStore::open(
        context.child("certificates"),
        partition,
        (Arc::clone(finals), origin.newest()),
        cache.clone(),
    )
    .await?;
    let (start, floor) = origin.begin(setup.epoch, changes, finals, machine.genesis()).await?;
    let config = setup.marshal(start);
    let (actor, marshal, position) =
        Actor::init(context.child("marshal"), certificates, bundles, config).await;
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
    Ok((actor, marshal, floor))
}

/// Proposes and verifies bundles with the machine.
type Proposals<E> = Inline<E, Scheme, Application, BundleBlock, Epochs>;

/// The parts that propose and verify bundles: one by themselves, and one under the promise of a change ([`Guarded`]),
/// which the votes use.
fn automaton<E>(
    context: &E,
    setup: &Setup<E>,
    marshal: &MarshalMailbox,
) -> (Proposals<E>, Guarded<E, Proposals<E>>)
where
    E: Clock + CryptoRng + Spawner + Storage + Metrics,
{
    let Setup { changes, machine, shared, timings, .. } = setup;
    let proposals = Inline::new(
        context.child("application"),
        Application::new(Arc::clone(machine), Arc::clone(shared), timings),
        marshal.clone(),
        Epochs::of_votes(Arc::clone(changes)),
    );
    let guarded = Guarded::new(
        context.child("guard"),
        proposals.clone(),
        marshal.clone(),
        Arc::clone(shared),
        Arc::clone(changes),
    );
    (proposals, guarded)
}
