//! Passes waiting transactions between the validators, so that any of them can propose what any of them was sent.
//!
//! A node announces what joins its pools to its peers, by ID, at once or after a short interval since the last time. A
//! peer requests what it does not have, once, and takes it into its own pools as if a client had sent it. All that waits
//! is announced again at longer intervals: a peer may have been down. Nothing depends on a message: a transaction that is
//! not passed on waits until its node proposes. Each peer has a bound of its own of what it may cost this node: a
//! dishonest one takes nothing from the others.

mod budget;
mod message;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::{Blocker, Receiver, Recipients, Sender};
use commonware_runtime::Clock;
use esker_chain::forward::{ExchangePools, ForwardedTx};
use tracing::debug;

use self::budget::{Budgets, MAX_NAMES_AT_ONCE};
pub(crate) use self::message::{MAX_ITEMS, Message, TxKey};
use self::message::{MAX_MESSAGE, delivered_len};

/// Least time between two looks at the pools, in which what is new is collected.
const LOOK: Duration = Duration::from_millis(5);

/// The looks take at most one part in so many of the time.
const LOOK_SHARE: u32 = 10;

/// When all that waits is announced again.
const ANNOUNCE_AGAIN: Duration = Duration::from_secs(5);

/// Transactions that a look announces.
const MAX_ANNOUNCED: usize = 4 * MAX_ITEMS;

/// Transactions that are to be announced. Those above it are announced with all that waits, later. A peer looks at
/// all of them, and has as much room for what joins meanwhile.
const MAX_UNANNOUNCED: usize = MAX_NAMES_AT_ONCE / 2;

/// Time that a peer has to deliver before another is asked.
const DELIVERY: Duration = Duration::from_secs(2);

/// Transactions that were requested of a peer and not delivered yet.
const MAX_WANTED: usize = 4 * MAX_ITEMS;

/// Further peers that announced a requested transaction, and are asked in turn if it is not delivered.
const MAX_OTHERS: usize = 3;

/// Transactions that a peer has requested and that were not sent yet.
const MAX_ASKED: usize = 4 * MAX_ITEMS;

/// Time for which a refused transaction is not requested again.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// Refused transactions that are remembered.
const MAX_REFUSED: usize = 16 * MAX_ITEMS;

/// Bytes of transactions that a look sends to all peers together.
const MAX_SENT: usize = 8 << 20;

/// A message and its receivers.
type Outgoing = (Recipients<PublicKey>, Message);

/// Runs until the network is gone. A peer whose bytes are no message is blocked.
pub(crate) async fn run<E: Clock, B, S, R>(
    clock: E,
    pools: Arc<ExchangePools>,
    mut blocker: B,
    (mut sender, mut receiver): (S, R),
) where
    B: Blocker<PublicKey = PublicKey>,
    S: Sender<PublicKey = PublicKey>,
    R: Receiver<PublicKey = PublicKey>,
{
    let mut exchange = Exchange::new(Arc::clone(&pools));
    let mut next = clock.current();
    let mut earliest = next;
    loop {
        let outgoing = tokio::select! {
            biased;
            () = clock.sleep_until(next) => {
                let begun = clock.current();
                let outgoing = exchange.look(begun);
                let ended = clock.current();
                let took = ended.duration_since(begun).unwrap_or_default();
                earliest = ended + LOOK.max(took * LOOK_SHARE);
                next = if exchange.has_work() { earliest } else { exchange.next_due() };
                outgoing
            }
            () = pools.changed() => {
                next = next.min(earliest);
                Vec::new()
            }
            received = receiver.recv() => {
                let Ok((peer, bytes)) = received else { return };
                let outgoing = match Message::decode(bytes.as_ref()) {
                    Ok(message) => exchange.receive(clock.current(), peer, message),
                    Err(reason) => {
                        commonware_p2p::block!(blocker, peer, reason, "a peer's message about transactions is refused");
                        Vec::new()
                    }
                };
                next = next.min(exchange.next_due());
                if exchange.has_work() {
                    next = next.min(earliest);
                }
                outgoing
            }
        };
        for (to, message) in outgoing {
            // Not sent beyond a peer's quota. It is announced again.
            let _sent = sender.send(to, message.encode(), false);
        }
    }
}

/// The transactions that a node knows of its peers, and they of it.
struct Exchange {
    pools: Arc<ExchangePools>,
    /// The transactions that are to be announced, in this order.
    unannounced: VecDeque<TxKey>,
    /// The transactions that peers have delivered since the last round. Those peers announce them.
    delivered: BTreeSet<TxKey>,
    announce_all_at: SystemTime,
    wanted: BTreeMap<TxKey, RequestedTx>,
    /// No time of `wanted` is over before this one.
    ask_others_at: Option<SystemTime>,
    /// The number of `wanted` transactions that were requested from a peer.
    requested: BTreeMap<PublicKey, usize>,
    /// The transactions that peers have requested since the last round.
    asked: BTreeMap<PublicKey, BTreeSet<TxKey>>,
    /// Refused transactions, and until when they are not requested.
    refused: BTreeMap<TxKey, SystemTime>,
    /// Of each peer since the start of the epoch: a network lets in at most 255.
    budgets: BTreeMap<PublicKey, Budgets>,
}

/// A requested transaction.
struct RequestedTx {
    /// Who is to deliver it.
    asked: PublicKey,
    until: SystemTime,
    /// Who else has announced it.
    others: Vec<PublicKey>,
}

impl Exchange {
    fn new(pools: Arc<ExchangePools>) -> Self {
        Self {
            pools,
            unannounced: VecDeque::new(),
            delivered: BTreeSet::new(),
            announce_all_at: SystemTime::UNIX_EPOCH,
            wanted: BTreeMap::new(),
            ask_others_at: None,
            requested: BTreeMap::new(),
            asked: BTreeMap::new(),
            refused: BTreeMap::new(),
            budgets: BTreeMap::new(),
        }
    }

    /// Whether a look has something to do already.
    fn has_work(&self) -> bool {
        !self.unannounced.is_empty() || !self.asked.is_empty()
    }

    /// When a look has something to do even if nothing happens.
    fn next_due(&self) -> SystemTime {
        self.ask_others_at.map_or(self.announce_all_at, |at| at.min(self.announce_all_at))
    }

    /// Announces what is new in the pools, sends what was requested, and asks another peer for what was not delivered.
    fn look(&mut self, now: SystemTime) -> Vec<Outgoing> {
        let mut outgoing = self.ask_others(now);
        self.refused.retain(|_, until| *until > now);
        self.collect(now);
        let count = self.unannounced.len().min(MAX_ANNOUNCED);
        let new: Vec<_> = self.unannounced.drain(..count).collect();
        let announcements = new.chunks(MAX_ITEMS);
        let announcements = announcements.map(|keys| Message::Announce(keys.to_vec()));
        outgoing.extend(announcements.map(|message| (Recipients::All, message)));
        outgoing.extend(self.deliveries(now));
        outgoing
    }

    /// Collects what is to be announced: what is new, or all that waits.
    fn collect(&mut self, now: SystemTime) {
        let news = self.pools.take_news();
        let delivered = std::mem::take(&mut self.delivered);
        if now < self.announce_all_at && !news.is_incomplete {
            let keys = news.txs.into_iter().map(|(chain, kind, id)| TxKey::new(chain, kind, id));
            let room = MAX_UNANNOUNCED.saturating_sub(self.unannounced.len());
            self.unannounced.extend(keys.filter(|key| !delivered.contains(key)).take(room));
            return;
        }
        self.announce_all_at = now + ANNOUNCE_AGAIN;
        self.unannounced.clear();
        let unannounced = &mut self.unannounced;
        self.pools.visit_waiting(&mut |chain, kind, id| {
            unannounced.push_back(TxKey::new(chain, kind, id));
            match unannounced.len() < MAX_UNANNOUNCED {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
    }

    /// Deliveries for the requests of peers. Those that exceed one round wait for the next. Those above a peer's
    /// budget are not sent.
    fn deliveries(&mut self, now: SystemTime) -> Vec<Outgoing> {
        let asked = std::mem::take(&mut self.asked);
        let share = MAX_SENT / asked.len().max(1);
        let mut outgoing = Vec::new();
        for (peer, mut keys) in asked {
            let (mut txs, mut left) = (Vec::new(), share);
            while left > 0
                && let Some(key) = keys.pop_first()
            {
                let Some(tx) = self.pools.waiting(&key.chain, key.kind, &key.id) else { continue };
                let len = delivered_len(&tx);
                // One that fits no message stays here.
                let fits = len <= MAX_MESSAGE / 2;
                if fits && budgets_of(&mut self.budgets, &peer, now).may_send(now, len) {
                    left = left.saturating_sub(len);
                    txs.push(tx);
                }
            }
            if !keys.is_empty() {
                self.asked.insert(peer.clone(), keys);
            }
            let messages = batches(txs).into_iter().map(Message::Deliver);
            outgoing.extend(messages.map(|message| (Recipients::One(peer.clone()), message)));
        }
        outgoing
    }

    /// Asks the next peer for what was not delivered in time, and forgets what no other has announced.
    fn ask_others(&mut self, now: SystemTime) -> Vec<Outgoing> {
        if self.ask_others_at.is_none_or(|at| now < at) {
            return Vec::new();
        }
        let Self { wanted, requested, pools, .. } = self;
        let mut requests: BTreeMap<PublicKey, Vec<TxKey>> = BTreeMap::new();
        requested.clear();
        wanted.retain(|key, wanted| {
            if wanted.until <= now {
                let Some(next) = wanted.others.pop() else { return false };
                if pools.is_known(&key.chain, key.kind, &key.id) {
                    return false;
                }
                wanted.asked = next.clone();
                wanted.until = now + DELIVERY;
                requests.entry(next).or_default().push(*key);
            }
            *requested.entry(wanted.asked.clone()).or_default() += 1;
            true
        });
        self.ask_others_at = wanted.values().map(|wanted| wanted.until).min();
        let messages = requests.iter().flat_map(|(peer, keys)| {
            let request = |keys: &[TxKey]| Message::Request(keys.to_vec());
            keys.chunks(MAX_ITEMS).map(move |keys| (Recipients::One(peer.clone()), request(keys)))
        });
        messages.collect()
    }

    /// Takes a peer's message.
    fn receive(&mut self, now: SystemTime, peer: PublicKey, message: Message) -> Vec<Outgoing> {
        match message {
            Message::Announce(keys) => self.request(now, peer, keys),
            Message::Request(keys) => {
                let asked = self.asked.entry(peer).or_default();
                for key in keys {
                    if asked.len() < MAX_ASKED {
                        asked.insert(key);
                    }
                }
                Vec::new()
            }
            Message::Deliver(txs) => {
                for tx in txs {
                    self.take(now, &peer, &tx);
                }
                Vec::new()
            }
        }
    }

    /// Requests what a peer has announced and this node lacks.
    fn request(&mut self, now: SystemTime, peer: PublicKey, keys: Vec<TxKey>) -> Vec<Outgoing> {
        if !budgets_of(&mut self.budgets, &peer, now).may_announce(now, keys.len()) {
            return Vec::new();
        }
        let requested = self.requested.entry(peer.clone()).or_default();
        let mut missing = Vec::new();
        for key in keys {
            if let Some(wanted) = self.wanted.get_mut(&key) {
                let is_new = wanted.asked != peer && !wanted.others.contains(&peer);
                if is_new && wanted.others.len() < MAX_OTHERS {
                    wanted.others.push(peer.clone());
                }
                continue;
            }
            let is_useless = *requested >= MAX_WANTED
                || self.refused.contains_key(&key)
                || self.pools.is_known(&key.chain, key.kind, &key.id);
            if !is_useless {
                let (asked, until) = (peer.clone(), now + DELIVERY);
                self.wanted.insert(key, RequestedTx { asked, until, others: Vec::new() });
                *requested += 1;
                missing.push(key);
            }
        }
        if missing.is_empty() {
            return Vec::new();
        }
        self.ask_others_at.get_or_insert(now + DELIVERY);
        vec![(Recipients::One(peer), Message::Request(missing))]
    }

    /// Takes a delivered transaction into its pool, if it was requested of this peer.
    fn take(&mut self, now: SystemTime, peer: &PublicKey, tx: &ForwardedTx) {
        let key = TxKey::from_tx(tx);
        if self.wanted.get(&key).is_none_or(|wanted| wanted.asked != *peer) {
            return;
        }
        self.wanted.remove(&key);
        if let Some(requested) = self.requested.get_mut(peer) {
            *requested = requested.saturating_sub(1);
        }
        match self.pools.admit(tx) {
            Ok(()) => {
                self.delivered.insert(key);
            }
            Err(reason) => {
                debug!(chain = %tx.chain, id = %tx.id, %reason, "a peer's transaction is not taken");
                budgets_of(&mut self.budgets, peer, now).count_refusal(now);
                if self.refused.len() < MAX_REFUSED {
                    self.refused.insert(key, now + REFUSED_FOR);
                }
            }
        }
    }
}

/// The budgets that a peer has left.
fn budgets_of<'a>(
    budgets: &'a mut BTreeMap<PublicKey, Budgets>,
    peer: &PublicKey,
    now: SystemTime,
) -> &'a mut Budgets {
    budgets.entry(peer.clone()).or_insert_with(|| Budgets::new(now))
}

/// Transactions in groups that fit a message.
fn batches(txs: Vec<ForwardedTx>) -> Vec<Vec<ForwardedTx>> {
    if txs.is_empty() {
        return Vec::new();
    }
    let mut batches = vec![Vec::new()];
    let mut bytes = 0;
    for tx in txs {
        let len = delivered_len(&tx);
        let batch: &mut Vec<ForwardedTx> = batches.last_mut().expect("it is never empty");
        if !batch.is_empty() && (bytes + len > MAX_MESSAGE / 2 || batch.len() >= MAX_ITEMS) {
            bytes = 0;
            batches.push(Vec::new());
        }
        bytes += len;
        batches.last_mut().expect("it is never empty").push(tx);
    }
    batches
}
