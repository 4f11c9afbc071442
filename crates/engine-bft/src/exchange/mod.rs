//! Passes waiting transactions between the validators, so that any of them can propose what any of them was sent.
//!
//! A node announces what waits in its pools to its peers, by ID. A peer requests what it does not have, once, and takes it
//! into its own pools as if a client had sent it. All that waits is announced again at intervals: a peer may have been
//! down. Nothing depends on a message: a transaction that is not passed on waits until its node proposes.

mod message;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::{Blocker, Receiver, Recipients, Sender};
use commonware_runtime::Clock;
use esker_chain::forward::{ExchangePools, ForwardedTx};
use tracing::debug;

use self::message::{MAX_ITEMS, MAX_MESSAGE, Message, TxKey, delivered_len};

/// Least time between two looks at the pools.
const LOOK: Duration = Duration::from_millis(10);

/// The looks take at most one part in so many of the time.
const LOOK_SHARE: u32 = 10;

/// When all that waits is announced again.
const ANNOUNCE_AGAIN: Duration = Duration::from_secs(5);

/// Transactions that a look announces.
const MAX_ANNOUNCED: usize = 4 * MAX_ITEMS;

/// How long a peer has to deliver before another is asked.
const DELIVERY: Duration = Duration::from_secs(2);

/// Transactions that were requested and not delivered yet.
const MAX_WANTED: usize = 8 * MAX_ITEMS;

/// Transactions that a peer has requested and that were not sent yet.
const MAX_ASKED: usize = 4 * MAX_ITEMS;

/// How long a refused transaction is not requested again.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// Refused transactions that are remembered.
const MAX_REFUSED: usize = 16 * MAX_ITEMS;

/// Bytes of transactions that a look sends to all peers together.
const MAX_SENT: usize = 8 << 20;

/// What goes to whom.
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
    let mut exchange = Exchange::new(pools);
    let mut next = clock.current();
    loop {
        let outgoing = tokio::select! {
            biased;
            () = clock.sleep_until(next) => {
                let begun = clock.current();
                let outgoing = exchange.look(begun);
                let ended = clock.current();
                let took = ended.duration_since(begun).unwrap_or_default();
                next = ended + LOOK.max(took * LOOK_SHARE);
                outgoing
            }
            received = receiver.recv() => {
                let Ok((peer, bytes)) = received else { return };
                let bytes = Bytes::copy_from_slice(bytes.as_ref());
                match Message::decode(bytes) {
                    Ok(message) => exchange.receive(clock.current(), peer, message),
                    Err(reason) => {
                        commonware_p2p::block!(blocker, peer, reason, "a peer's message about transactions is refused");
                        Vec::new()
                    }
                }
            }
        };
        for (to, message) in outgoing {
            // Not sent beyond a peer's quota. It is announced again.
            let _sent = sender.send(to, message.encode(), false);
        }
    }
}

/// What a node knows of its peers' transactions and they of its own.
struct Exchange {
    pools: Arc<ExchangePools>,
    /// What waited here at the last look and is announced.
    announced: BTreeSet<TxKey>,
    announce_all_at: SystemTime,
    /// Requested transactions, by whom they are to be delivered, until when.
    wanted: BTreeMap<TxKey, (PublicKey, SystemTime)>,
    /// What peers have requested since the last look.
    asked: BTreeMap<PublicKey, BTreeSet<TxKey>>,
    /// Refused transactions, and until when they are not requested.
    refused: BTreeMap<TxKey, SystemTime>,
}

impl Exchange {
    fn new(pools: Arc<ExchangePools>) -> Self {
        Self {
            pools,
            announced: BTreeSet::new(),
            announce_all_at: SystemTime::UNIX_EPOCH,
            wanted: BTreeMap::new(),
            asked: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Looks at the pools: announces what is new there, and sends what was requested.
    fn look(&mut self, now: SystemTime) -> Vec<Outgoing> {
        self.wanted.retain(|_, (_, until)| *until > now);
        self.refused.retain(|_, until| *until > now);
        let announce_all = now >= self.announce_all_at;
        if announce_all {
            self.announce_all_at = now + ANNOUNCE_AGAIN;
        }
        let mut asked = std::mem::take(&mut self.asked);
        let (mut waiting, mut new) = (BTreeSet::new(), Vec::new());
        let mut deliveries: BTreeMap<PublicKey, Vec<ForwardedTx>> = BTreeMap::new();
        let mut left = MAX_SENT;
        self.pools.visit_waiting(&mut |tx| {
            let (key, len) = (TxKey::of(&tx), delivered_len(&tx));
            let is_announced = self.announced.contains(&key);
            if (announce_all || !is_announced) && new.len() < MAX_ANNOUNCED {
                new.push(key);
                waiting.insert(key);
            } else if is_announced {
                waiting.insert(key);
            }
            for (peer, keys) in &mut asked {
                if len <= left.min(MAX_MESSAGE / 2) && keys.remove(&key) {
                    left -= len;
                    deliveries.entry(peer.clone()).or_default().push(tx.clone());
                }
            }
            ControlFlow::Continue(())
        });
        self.announced = waiting;
        let announcements = new.chunks(MAX_ITEMS);
        let announcements = announcements.map(|keys| Message::Announce(keys.to_vec()));
        let mut outgoing: Vec<Outgoing> =
            announcements.map(|message| (Recipients::All, message)).collect();
        for (peer, txs) in deliveries {
            let messages = batches(txs).into_iter().map(Message::Deliver);
            outgoing.extend(messages.map(|message| (Recipients::One(peer.clone()), message)));
        }
        outgoing
    }

    /// Takes a peer's message.
    fn receive(&mut self, now: SystemTime, peer: PublicKey, message: Message) -> Vec<Outgoing> {
        match message {
            Message::Announce(keys) => {
                let mut missing = Vec::new();
                for key in keys {
                    let is_useless = self.wanted.len() >= MAX_WANTED
                        || self.wanted.contains_key(&key)
                        || self.refused.contains_key(&key)
                        || self.pools.is_known(&key.chain, key.kind, &key.id);
                    if !is_useless {
                        self.wanted.insert(key, (peer.clone(), now + DELIVERY));
                        missing.push(key);
                    }
                }
                if missing.is_empty() {
                    return Vec::new();
                }
                vec![(Recipients::One(peer), Message::Request(missing))]
            }
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

    /// Takes a delivered transaction into its pool, if it was requested of this peer.
    fn take(&mut self, now: SystemTime, peer: &PublicKey, tx: &ForwardedTx) {
        let key = TxKey::of(tx);
        if self.wanted.get(&key).is_none_or(|(asked, _)| asked != peer) {
            return;
        }
        self.wanted.remove(&key);
        if let Err(reason) = self.pools.admit(tx) {
            debug!(chain = %tx.chain, id = %tx.id, reason, "a peer's transaction is not taken");
            if self.refused.len() < MAX_REFUSED {
                self.refused.insert(key, now + REFUSED_FOR);
            }
        }
    }
}

/// Transactions in groups that fit a message.
fn batches(txs: Vec<ForwardedTx>) -> Vec<Vec<ForwardedTx>> {
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
