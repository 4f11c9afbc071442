//! Three honest validators over real sockets, and one that has the network's key and protocol but means harm.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use commonware_codec::{DecodeExt as _, Encode as _};
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::simplex::types::{Finalize, Notarize, Proposal, Vote};
use commonware_p2p::{Receiver as _, Recipients, Sender as _};
use commonware_runtime::{Clock as _, Runner as _, Supervisor as _, tokio as runtime};
use esker_chain::forward::{ForwardedTx, TxKind};
use esker_chain::{ChainMachine as _, Engine as _};
use esker_primitives::Id;
use esker_storage::MemoryStore;
use esker_validators::{MemoryChangeLog, ValidatorConfig, ValidatorEngine as _, ValidatorKey};

use crate::block::{Digest, digest_of};
use crate::changes::{ChangeHistory, ChangeState, harm, of_epoch};
use crate::committee::Committee;
use crate::engine::{NetworkLinks, connect};
use crate::exchange::{MAX_ITEMS, Message, TxKey};
use crate::tests::loopback::{Node, configs, until};

/// Between two messages of one that does not flood.
const PAUSE: Duration = Duration::from_millis(5);

/// Transactions during a measurement.
const MEASURED: u64 = 15;

/// The dishonest validator, in a thread of its own. It ends when dropped.
struct Hostile {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The parts that a hostile peer uses.
struct HostileContext {
    context: runtime::Context,
    links: NetworkLinks,
    scheme: Scheme,
    history: ChangeHistory,
    key: ValidatorKey,
}

impl Hostile {
    fn start<F>(
        config: ValidatorConfig,
        genesis: Id,
        behave: impl FnOnce(HostileContext) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()>,
    {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let settings = runtime::Config::new()
                .with_worker_threads(1)
                .with_storage_directory(config.folder.clone());
            runtime::Runner::new(settings).start(|context| async move {
                let keys: Vec<_> = config.validators.iter().map(|(key, _)| *key).collect();
                let committee = Committee::new(config.network, genesis, &keys).unwrap();
                let history =
                    ChangeHistory::new(config.network, genesis, config.validators.clone()).unwrap();
                let (key, log) = (config.key.clone(), Arc::new(MemoryChangeLog::default()));
                let known = history.clone();
                let changes = ChangeState::open(key.clone(), None, log, known, &[]).await.unwrap();
                let (links, _network, _oracle) = connect(&context, &config, &committee, &changes);
                let scheme = committee.signer(&config.key).unwrap();
                let ended = async {
                    while !stopped.load(Ordering::Relaxed) {
                        tokio::time::sleep(PAUSE).await;
                    }
                };
                tokio::select! {
                    biased;
                    () = behave(HostileContext { context, links, scheme, history, key }) => {}
                    () = ended => {}
                }
            });
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// Three honest validators that decide, and the configuration of the fourth.
struct Network {
    honest: Vec<Node>,
    fourth: ValidatorConfig,
    next: u64,
    _folder: tempfile::TempDir,
}

impl Network {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut configs = configs(folder.path(), 4);
        let fourth = configs.pop().unwrap();
        let start = |config| Node::start(config, Arc::new(MemoryStore::new()));
        let honest = configs.into_iter().map(start).collect();
        let mut network = Self { honest, fourth, next: 1, _folder: folder };
        network.decide("three decide").await;
        network
    }

    fn genesis(&self) -> Id {
        self.honest[0].machine.genesis().id()
    }

    fn peers(&self) -> Vec<usize> {
        self.honest.iter().map(|node| node.engine.status().peers).collect()
    }

    /// A transaction to one of the three is soon final on all. Returns how long it took.
    async fn decide(&mut self, what: &str) -> Duration {
        let register = self.next;
        self.next += 1;
        let begun = Instant::now();
        self.honest[(register % 3) as usize].toy.set(register, register);
        until(what, || self.honest.iter().all(|node| node.toy.get(register) == Some(register)))
            .await;
        begun.elapsed()
    }

    /// The median and the longest of some.
    async fn measure(&mut self, what: &str) -> (Duration, Duration) {
        let mut took = Vec::new();
        for _ in 0..MEASURED {
            took.push(self.decide(what).await);
        }
        took.sort();
        (took[took.len() / 2], *took.last().unwrap())
    }

    /// All have the same bundles.
    async fn stop(self) {
        let last = self.honest.iter().map(|node| node.machine.last_final().0).min().unwrap();
        for height in 0..=last {
            let id = |node: &Node| node.machine.bundle_at(height).unwrap().unwrap().0.id();
            let first = id(&self.honest[0]);
            assert!(self.honest.iter().all(|node| id(node) == first), "height {height}");
        }
        for node in self.honest {
            node.stop().await;
        }
    }
}

/// Bytes that are no message on any channel, another each time.
fn garbage(number: u64) -> Bytes {
    let block = Id::sha256(&number.to_be_bytes());
    let len = (number as usize % 200) + 1;
    Bytes::from([&[0xff; 8][..], &block.as_bytes().repeat(len)].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_are_no_messages_disconnect_a_validator_or_are_ignored() {
    // Votes, certificates, transactions, changes of the validators; and what only answers to requests: fetches, bundles,
    // backfill.
    for (channels, is_disconnected) in
        [(&[0][..], true), (&[1], true), (&[5], true), (&[6], true), (&[2, 3, 4], false)]
    {
        let mut network = Network::start().await;
        let sends = Arc::new(AtomicBool::new(false));
        let (sending, to) = (Arc::clone(&sends), channels);
        let hostile = Hostile::start(
            network.fourth.clone(),
            network.genesis(),
            async move |means: HostileContext| {
                let HostileContext { context, links, .. } = means;
                let NetworkLinks {
                    votes,
                    certificates,
                    fetches,
                    bundles,
                    backfill,
                    transactions,
                    changes,
                    ..
                } = links;
                // Its receivers stay: a connection ends with a channel of it.
                let mut channels =
                    [votes, certificates, fetches, bundles, backfill, transactions, changes];
                for number in 0.. {
                    context.sleep(PAUSE).await;
                    if sending.load(Ordering::Relaxed) {
                        for channel in to {
                            let _sent =
                                channels[*channel].0.send(Recipients::All, garbage(number), true);
                        }
                    }
                }
            },
        );
        until("the fourth is connected", || network.peers() == [3; 3]).await;
        sends.store(true, Ordering::Relaxed);
        if is_disconnected {
            let what = format!("it is disconnected for channel {channels:?}");
            until(&what, || network.peers() == [2; 3]).await;
        }
        network.measure("the others go on").await;
        let peers = if is_disconnected { 2 } else { 3 };
        assert_eq!(network.peers(), [peers; 3], "channel {channels:?}");
        drop(hostile);
        network.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validator_that_votes_twice_is_disconnected_and_nothing_forks() {
    let mut network = Network::start().await;
    // One that is connected later would not get both votes.
    let sends = Arc::new(AtomicBool::new(false));
    let sending = Arc::clone(&sends);
    let hostile = Hostile::start(
        network.fourth.clone(),
        network.genesis(),
        async move |means: HostileContext| {
            let HostileContext { context, links, scheme, .. } = means;
            // The other channels stay open in `links`: a connection ends with one of them.
            let (mut sender, mut receiver) =
                of_epoch(context.child("votes"), links.votes, 0).await.unwrap();
            let mut number = 0_u64;
            while let Ok((_, bytes)) = receiver.recv().await {
                if !sending.load(Ordering::Relaxed) {
                    continue;
                }
                let vote = Vote::<Scheme, Digest>::decode(bytes).unwrap();
                number += 1;
                let other = digest_of(&Id::sha256(&number.to_be_bytes()));
                let mut send = |vote: Vote<Scheme, Digest>| {
                    let _sent = sender.send(Recipients::All, vote.encode(), true);
                };
                match vote {
                    Vote::Notarize(notarize) => {
                        let Proposal { round, parent, .. } = notarize.proposal;
                        for proposal in [Proposal::new(round, parent, other), notarize.proposal] {
                            send(Vote::Notarize(Notarize::sign(&scheme, proposal).unwrap()));
                        }
                    }
                    Vote::Finalize(finalize) => {
                        let Proposal { round, parent, .. } = finalize.proposal;
                        for proposal in [Proposal::new(round, parent, other), finalize.proposal] {
                            send(Vote::Finalize(Finalize::sign(&scheme, proposal).unwrap()));
                        }
                    }
                    Vote::Nullify(_) => {}
                }
            }
        },
    );
    until("the fourth is connected", || network.peers() == [3; 3]).await;
    sends.store(true, Ordering::Relaxed);
    let begun = Instant::now();
    while network.peers() != [2; 3] {
        let peers = network.peers();
        assert!(begun.elapsed() < crate::tests::loopback::PATIENCE, "not disconnected: {peers:?}");
        network.decide("the others go on").await;
    }
    network.decide("the others go on without it").await;
    drop(hostile);
    network.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timed_a_validator_that_floods_with_transactions_does_not_slow_the_others_down() {
    let mut network = Network::start().await;
    let chain = network.honest[0].toy.id();
    let floods = Arc::new(AtomicBool::new(false));
    let flooding = Arc::clone(&floods);
    let hostile = Hostile::start(
        network.fourth.clone(),
        network.genesis(),
        async move |means: HostileContext| {
            let HostileContext { context, mut links, .. } = means;
            let mut number = 0_u64;
            loop {
                if !flooding.load(Ordering::Relaxed) {
                    context.sleep(PAUSE).await;
                    continue;
                }
                let mut key = || {
                    number += 1;
                    let id = Id::sha256(&number.to_be_bytes());
                    TxKey { chain, kind: TxKind::Evm, id }
                };
                let keys: Vec<_> = (0..MAX_ITEMS).map(|_| key()).collect();
                let id = key().id;
                let bytes = Bytes::from(vec![0; 200 << 10]);
                let tx = ForwardedTx { chain, kind: TxKind::Evm, id, bytes };
                let messages = [
                    Message::Announce(keys.clone()),
                    Message::Request(keys),
                    Message::Deliver(vec![tx]),
                ];
                for message in messages {
                    let to = Recipients::All;
                    let _sent = links.transactions.0.send(to, message.encode(), false);
                }
                // As many as its peers take.
                context.sleep(Duration::from_millis(1)).await;
            }
        },
    );
    until("the fourth is connected", || network.peers() == [3; 3]).await;
    let quiet = network.measure("the others decide").await;
    floods.store(true, Ordering::Relaxed);
    let flooded = network.measure("the others decide in the flood").await;
    println!("median and longest: {quiet:?} without, {flooded:?} in the flood");
    // The fourth does not propose, so that some wait for a round of its.
    assert!(flooded.0 < Duration::from_secs(2), "{quiet:?} {flooded:?}");
    assert!(flooded.1 < Duration::from_secs(10), "{quiet:?} {flooded:?}");
    assert_eq!(network.peers(), [3; 3], "floods of well-formed messages are only held up");
    drop(hostile);
    network.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timed_a_validator_that_floods_with_changes_does_not_slow_the_others_down() {
    let mut network = Network::start().await;
    let floods = Arc::new(AtomicBool::new(false));
    let flooding = Arc::clone(&floods);
    let hostile = Hostile::start(
        network.fourth.clone(),
        network.genesis(),
        async move |means: HostileContext| {
            let HostileContext { context, mut links, history, key, .. } = means;
            for number in 0.. {
                if flooding.load(Ordering::Relaxed) {
                    let message = harm::restless(&history, &key, number);
                    let _sent = links.changes.0.send(Recipients::All, message, false);
                }
                context.sleep(Duration::from_millis(1)).await;
            }
        },
    );
    until("the fourth is connected", || network.peers() == [3; 3]).await;
    let quiet = network.measure("the others decide").await;
    floods.store(true, Ordering::Relaxed);
    let proposals = |node: &Node| node.engine.change_status().unwrap().proposals.len();
    until("its changes arrive", || network.honest.iter().all(|node| proposals(node) > 0)).await;
    let flooded = network.measure("the others decide in the flood").await;
    println!("median and longest: {quiet:?} without, {flooded:?} in the flood");
    assert!(flooded.0 < Duration::from_secs(2), "{quiet:?} {flooded:?}");
    assert!(flooded.1 < Duration::from_secs(10), "{quiet:?} {flooded:?}");
    assert_eq!(network.peers(), [3; 3], "floods of well-formed messages are only held up");
    let kept: Vec<_> = network.honest.iter().map(proposals).collect();
    assert!(kept.iter().all(|kept| *kept <= 2), "one approval and one promise are kept: {kept:?}");

    // The three agree on their change all the same, which leaves it out.
    let three: Vec<_> = network.fourth.validators[..3].to_vec();
    let height = network.honest[0].machine.last_final().0 + 40;
    for node in &network.honest {
        node.engine.approve_change(height, three.clone()).unwrap();
    }
    until("the three have agreed", || {
        let agreed = |node: &Node| node.engine.change_status().unwrap().agreed.is_some();
        network.honest.iter().all(agreed)
    })
    .await;
    while network.honest.iter().any(|node| node.engine.stats().epoch == 0) {
        network.decide("the others go on to the change and after it").await;
    }
    network.decide("the three decide without the fourth").await;
    assert!(network.honest.iter().all(|node| node.engine.stats().validators == 3));
    drop(hostile);
    network.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_validator_with_forged_changes_is_disconnected() {
    for kind in 0..2 {
        let mut network = Network::start().await;
        let sends = Arc::new(AtomicBool::new(false));
        let sending = Arc::clone(&sends);
        let hostile = Hostile::start(
            network.fourth.clone(),
            network.genesis(),
            async move |means: HostileContext| {
                let HostileContext { context, mut links, history, key, .. } = means;
                let message = &harm::forged(&history, &key)[kind];
                loop {
                    context.sleep(PAUSE).await;
                    if sending.load(Ordering::Relaxed) {
                        let to = Recipients::All;
                        let _sent = links.changes.0.send(to, message.clone(), false);
                    }
                }
            },
        );
        until("the fourth is connected", || network.peers() == [3; 3]).await;
        sends.store(true, Ordering::Relaxed);
        until("it is disconnected", || network.peers() == [2; 3]).await;
        network.decide("the others go on without it").await;
        for node in &network.honest {
            let status = node.engine.change_status().unwrap();
            assert_eq!((status.agreed, status.proposals), (None, Vec::new()));
        }
        drop(hostile);
        network.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_no_validator_is_not_connected() {
    let mut network = Network::start().await;
    let mut stranger = network.fourth.clone();
    let genesis = network.genesis();
    // It knows the network and all keys, and has its own in place of the fourth's.
    stranger.key = ValidatorKey::from_bytes(&[99; 32]);
    let (_, address) = stranger.validators.pop().unwrap();
    stranger.validators.push((stranger.key.public_key(), address));
    let hostile = Hostile::start(stranger, genesis, async |means: HostileContext| {
        let HostileContext { context, mut links, .. } = means;
        for number in 0.. {
            let _sent = links.votes.0.send(Recipients::All, garbage(number), true);
            context.sleep(PAUSE).await;
        }
    });
    network.measure("the others go on").await;
    assert_eq!(network.peers(), [2; 3]);
    drop(hostile);
    network.stop().await;
}
