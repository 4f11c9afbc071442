//! Two or more nodes' pools, and the messages between them by hand.

use std::collections::BTreeMap;

use bytes::Bytes;
use commonware_codec::{Copying, DecodeExt as _};
use commonware_cryptography::Signer as _;
use commonware_cryptography::ed25519::PrivateKey;
use commonware_runtime::{Runner as _, Spawner as _, Supervisor as _, deterministic};
use esker_chain::forward::{AdmitError, ExchangePool, ForwardError, ForwardPool, TxKind};
use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, Id};

use super::*;
use crate::tests::simulation::network::Wires;

/// A pool without rules: it refuses what begins with `!`, and counts what it was given.
#[derive(Debug)]
struct Pool {
    txs: Mutex<BTreeMap<Id, ForwardedTx>>,
    admitted: Mutex<usize>,
}

impl ForwardPool for Pool {
    fn is_in_block(&self, id: &Id) -> bool {
        *id == Id::sha256(b"in a block")
    }

    fn withdraw(&self, _: &Id, _: &ForwardError) {}

    fn visit_waiting(&self, visit: &mut dyn FnMut(ForwardedTx) -> ControlFlow<()>) {
        for tx in self.txs.lock().values() {
            if visit(tx.clone()).is_break() {
                return;
            }
        }
    }
}

impl ExchangePool for Pool {
    fn is_waiting(&self, id: &Id) -> bool {
        self.txs.lock().contains_key(id)
    }

    fn waiting(&self, id: &Id) -> Option<ForwardedTx> {
        self.txs.lock().get(id).cloned()
    }

    fn visit_waiting_ids(&self, visit: &mut dyn FnMut(Id) -> ControlFlow<()>) {
        let _stopped = self.txs.lock().keys().copied().try_for_each(visit);
    }

    fn admit(&self, tx: &ForwardedTx) -> Result<(), AdmitError> {
        *self.admitted.lock() += 1;
        if tx.bytes.starts_with(b"!") {
            return Err(AdmitError::malformed("it begins with an exclamation mark"));
        }
        self.txs.lock().insert(tx.id, tx.clone());
        Ok(())
    }
}

fn chain() -> ChainId {
    Id::sha256(b"chain")
}

fn tx(bytes: &'static [u8]) -> ForwardedTx {
    ForwardedTx {
        chain: chain(),
        kind: TxKind::Evm,
        id: Id::sha256(bytes),
        bytes: Bytes::from_static(bytes),
    }
}

struct Node {
    key: PublicKey,
    pool: Arc<Pool>,
    exchange: Exchange,
}

impl Node {
    fn new(number: u8) -> Self {
        let key = PrivateKey::decode(Copying([number; 32].as_slice())).unwrap().public_key();
        let pool = Arc::new(Pool {
            txs: Mutex::new_named("test.txs", BTreeMap::new()),
            admitted: Mutex::new_named("test.admitted", 0),
        });
        let pools = Arc::new(ExchangePools::default());
        pools.register(chain(), TxKind::Evm, Arc::clone(&pool) as Arc<dyn ExchangePool>);
        Self { key, pool, exchange: Exchange::new(pools) }
    }

    fn add(&self, bytes: &'static [u8]) {
        let tx = tx(bytes);
        self.exchange.pools.announce(tx.chain, tx.kind, tx.id);
        self.pool.txs.lock().insert(tx.id, tx);
    }

    fn has(&self, bytes: &'static [u8]) -> bool {
        self.pool.is_waiting(&tx(bytes).id)
    }
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

/// One round: `from` announces to `to`, which requests, and receives on the next look. Returns the messages by kind.
fn round(seconds: u64, from: &mut Node, to: &mut Node) -> [usize; 3] {
    let mut counts = [0; 3];
    let mut deliver = |from: &mut Node, to: &mut Node, outgoing: Vec<Outgoing>| {
        let mut answers = Vec::new();
        for (_, message) in outgoing {
            let kind = match &message {
                Message::Announce(_) => 0,
                Message::Request(_) => 1,
                Message::Deliver(_) => 2,
            };
            counts[kind] += 1;
            let message = Message::decode(&message.encode()).unwrap();
            answers.extend(to.exchange.receive(at(seconds), from.key.clone(), message));
        }
        answers
    };
    let announced = from.exchange.look(at(seconds));
    let requests = deliver(from, to, announced);
    let none = deliver(to, from, requests);
    assert!(none.is_empty());
    let delivered = from.exchange.look(at(seconds));
    deliver(from, to, delivered);
    counts
}

#[test]
fn a_transaction_is_announced_and_fetched_once_and_announced_again_later() {
    let (mut a, mut b) = (Node::new(1), Node::new(2));
    a.add(b"first");
    a.add(b"in a block");
    assert_eq!(round(0, &mut a, &mut b), [1, 1, 1]);
    assert!(b.has(b"first") && !b.has(b"in a block"));
    assert_eq!(round(1, &mut a, &mut b), [0, 0, 0], "nothing is new");
    a.add(b"second");
    assert_eq!(round(2, &mut a, &mut b), [1, 1, 1]);
    assert_eq!(*b.pool.admitted.lock(), 2);

    // A node that was down hears of all that waits.
    let mut c = Node::new(3);
    assert_eq!(round(3, &mut a, &mut c), [0, 0, 0]);
    assert_eq!(round(6, &mut a, &mut c), [1, 1, 1]);
    assert!(c.has(b"first") && c.has(b"second"));
}

#[test]
fn what_is_refused_is_not_fetched_again_at_once() {
    let (mut a, mut b) = (Node::new(1), Node::new(2));
    a.add(b"!");
    assert_eq!(round(0, &mut a, &mut b), [1, 1, 1]);
    assert_eq!(round(6, &mut a, &mut b), [1, 0, 0]);
    assert_eq!(*b.pool.admitted.lock(), 1);
    b.exchange.look(at(11));
    assert_eq!(round(12, &mut a, &mut b), [1, 1, 1], "it may have become valid");
    assert_eq!(*b.pool.admitted.lock(), 2);
}

#[test]
fn what_was_not_requested_is_not_taken_and_a_silent_peer_is_replaced() {
    let (mut a, b) = (Node::new(1), Node::new(2));
    let announce = || Message::Announce(vec![TxKey::from_tx(&tx(b"one"))]);
    let deliver = || Message::Deliver(vec![tx(b"one")]);
    let none = a.exchange.receive(at(0), b.key.clone(), deliver());
    assert!(none.is_empty() && *a.pool.admitted.lock() == 0);
    assert_eq!(a.exchange.receive(at(0), b.key.clone(), announce()).len(), 1);

    let c = Node::new(3);
    assert!(a.exchange.receive(at(1), c.key.clone(), announce()).is_empty(), "it is on its way");
    a.exchange.receive(at(1), c.key.clone(), deliver());
    assert_eq!(*a.pool.admitted.lock(), 0, "another was asked");
    assert!(a.exchange.look(at(1)).is_empty());
    let [(Recipients::One(asked), Message::Request(keys))] = &a.exchange.look(at(3))[..] else {
        panic!("the second is asked");
    };
    assert_eq!((asked, &keys[..]), (&c.key, &[TxKey::from_tx(&tx(b"one"))][..]));
    assert!(a.exchange.receive(at(3), c.key.clone(), announce()).is_empty(), "it is on its way");
    a.exchange.receive(at(3), b.key, deliver());
    assert!(!a.has(b"one"), "too late: another was asked");
    a.exchange.receive(at(3), c.key, deliver());
    assert!(a.has(b"one"));
}

#[test]
fn one_peer_takes_nothing_from_the_others() {
    let (mut a, flooder, honest) = (Node::new(1), Node::new(2), Node::new(3));
    let invented =
        |n: usize| TxKey { chain: chain(), kind: TxKind::Evm, id: Id::sha256(&n.to_be_bytes()) };
    let requested = |outgoing: &[Outgoing]| -> usize {
        let keys = |message: &Message| match message {
            Message::Request(keys) => keys.len(),
            Message::Announce(_) | Message::Deliver(_) => 0,
        };
        outgoing.iter().map(|(_, message)| keys(message)).sum()
    };
    // It invents transactions and never delivers.
    let mut number = 0;
    for second in 0..4 {
        a.exchange.look(at(second));
        for _ in 0..48 {
            let keys: Vec<_> = (number..number + MAX_ITEMS).map(invented).collect();
            number += MAX_ITEMS;
            a.exchange.receive(at(second), flooder.key.clone(), Message::Announce(keys));
        }
        assert_eq!(a.exchange.requested[&flooder.key], MAX_WANTED);
        let name = Id::sha256(format!("of the other, {second}").as_bytes());
        let keys = vec![TxKey { chain: chain(), kind: TxKind::Evm, id: name }];
        let answer = a.exchange.receive(at(second), honest.key.clone(), Message::Announce(keys));
        assert_eq!(requested(&answer), 1, "second {second}: the other's is requested");
    }

    // It delivers what is refused: after some thousands its announcements are not looked at for a while.
    a.exchange.look(at(20));
    let mut refused = 0;
    for number in 0..4_000_u64 {
        let bytes = Bytes::from([b"!".as_slice(), &number.to_be_bytes()].concat());
        let tx = ForwardedTx { id: Id::sha256(&bytes), bytes, ..tx(b"") };
        let announce = Message::Announce(vec![TxKey::from_tx(&tx)]);
        if requested(&a.exchange.receive(at(20), flooder.key.clone(), announce)) == 1 {
            refused += 1;
            a.exchange.receive(at(20), flooder.key.clone(), Message::Deliver(vec![tx]));
        }
    }
    assert_eq!((refused, *a.pool.admitted.lock()), (2_048, 2_048));
    let announce = || Message::Announce(vec![TxKey::from_tx(&tx(b"good"))]);
    assert!(a.exchange.receive(at(20), flooder.key.clone(), announce()).is_empty());
    assert_eq!(requested(&a.exchange.receive(at(21), flooder.key, announce())), 1);
}

#[test]
fn a_peer_that_asks_for_everything_again_and_again_gets_its_share() {
    const LEN: usize = 64 << 10;
    let (mut a, greedy, honest) = (Node::new(1), Node::new(2), Node::new(3));
    let keys: Vec<TxKey> = (0..64_u8)
        .map(|number| {
            let bytes = Bytes::from(vec![number; LEN]);
            let tx = ForwardedTx { id: Id::sha256(&bytes), bytes, ..tx(b"") };
            a.pool.txs.lock().insert(tx.id, tx.clone());
            TxKey::from_tx(&tx)
        })
        .collect();
    let sent = |outgoing: &[Outgoing], peer: &PublicKey| -> usize {
        let to = |to: &Recipients<PublicKey>| matches!(to, Recipients::One(to) if to == peer);
        let bytes = outgoing.iter().filter(|(recipients, _)| to(recipients)).map(|(_, message)| {
            let Message::Deliver(txs) = message else { panic!("{message:?}") };
            txs.iter().map(|tx| tx.bytes.len()).sum::<usize>()
        });
        bytes.sum()
    };
    let mut total = 0;
    for _ in 0..100 {
        a.exchange.receive(at(0), greedy.key.clone(), Message::Request(keys.clone()));
        total += sent(&a.exchange.look(at(0)), &greedy.key);
    }
    assert!((12 << 20..=16 << 20).contains(&total), "{total}");
    a.exchange.receive(at(0), greedy.key.clone(), Message::Request(keys.clone()));
    a.exchange.receive(at(0), honest.key.clone(), Message::Request(keys));
    let outgoing = a.exchange.look(at(0));
    assert_eq!(sent(&outgoing, &honest.key), 64 * LEN);
    assert!(sent(&outgoing, &greedy.key) < LEN);
}

#[test]
fn requests_and_memory_are_bounded() {
    let (mut a, b) = (Node::new(1), Node::new(2));
    let key =
        |n: usize| TxKey { chain: chain(), kind: TxKind::Evm, id: Id::sha256(&n.to_be_bytes()) };
    let mut requested = 0;
    for first in (0..20 * MAX_ITEMS).step_by(MAX_ITEMS) {
        let keys: Vec<_> = (first..first + MAX_ITEMS).map(key).collect();
        for (_, message) in
            a.exchange.receive(at(0), b.key.clone(), Message::Announce(keys.clone()))
        {
            let Message::Request(keys) = message else { panic!("{message:?}") };
            requested += keys.len();
        }
        a.exchange.receive(at(0), b.key.clone(), Message::Request(keys));
    }
    assert_eq!(requested, MAX_WANTED);
    assert_eq!(a.exchange.asked[&b.key].len(), MAX_ASKED);
    assert!(a.exchange.look(at(0)).is_empty(), "it has none of them");
    assert!(a.exchange.asked.is_empty());
    let groups = batches((0..3 * MAX_ITEMS).map(|_| tx(b"small")).collect());
    assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [MAX_ITEMS; 3]);
}

#[test]
fn what_a_peer_delivered_is_not_announced_to_others_at_once() {
    let (mut a, mut b, mut c) = (Node::new(1), Node::new(2), Node::new(3));
    assert_eq!(round(0, &mut b, &mut c), [0, 0, 0]);
    a.add(b"first");
    assert_eq!(round(0, &mut a, &mut b), [1, 1, 1]);
    assert_eq!(round(1, &mut b, &mut c), [0, 0, 0]);
    assert_eq!(round(6, &mut b, &mut c), [1, 1, 1], "with all that waits");
}

#[test]
fn more_news_than_can_be_remembered_is_announced_with_all_that_waits() {
    let (mut a, mut b) = (Node::new(1), Node::new(2));
    assert_eq!(round(0, &mut a, &mut b), [0, 0, 0]);
    a.pool.txs.lock().insert(tx(b"forgotten").id, tx(b"forgotten"));
    for n in 0..100_000_u32 {
        a.exchange.pools.announce(chain(), TxKind::Evm, Id::sha256(&n.to_be_bytes()));
    }
    assert_eq!(round(1, &mut a, &mut b), [1, 1, 1]);
    assert!(b.has(b"forgotten"));
}

#[test]
fn a_peer_looks_at_all_that_is_announced_at_once() {
    let (mut a, mut b) = (Node::new(1), Node::new(2));
    for n in 0..40_000_u32 {
        let tx = ForwardedTx { id: Id::sha256(&n.to_be_bytes()), ..tx(b"") };
        a.pool.txs.lock().insert(tx.id, tx);
    }
    let mut announce = |a: &mut Node, seconds| {
        let mut names = 0;
        loop {
            let outgoing = a.exchange.look(at(seconds));
            if outgoing.is_empty() {
                return names;
            }
            for (_, message) in outgoing {
                let Message::Announce(keys) = message else { panic!("{message:?}") };
                names += keys.len();
                let budgets = budgets_of(&mut b.exchange.budgets, &a.key, at(seconds));
                assert!(budgets.may_announce(at(seconds), keys.len()), "{names} names");
            }
        }
    };
    assert_eq!(announce(&mut a, 0), MAX_UNANNOUNCED);
    // There is room for transactions that join meanwhile, too.
    for n in 0..10_000_u32 {
        a.exchange.pools.announce(chain(), TxKind::Evm, Id::sha256(&n.to_le_bytes()));
    }
    assert_eq!(announce(&mut a, 0), 10_000);
    assert_eq!(announce(&mut a, 5), MAX_UNANNOUNCED);
}

#[test]
fn a_new_transaction_is_announced_at_once() {
    deterministic::Runner::default().start(|context| async move {
        let nodes = [Node::new(1), Node::new(2)];
        let keys = nodes.iter().map(|node| node.key.clone()).collect();
        let wires = Wires::start(&context, keys).await;
        for (number, node) in nodes.iter().enumerate() {
            let links = wires.connect(number).await;
            let pools = Arc::clone(&node.exchange.pools);
            context
                .child("exchange")
                .with_attribute("node", number)
                .spawn(|clock| run(clock, pools, links.blocker, links.transactions));
        }
        context.sleep(Duration::from_secs(1)).await;
        nodes[0].add(b"first");
        let begun = context.current();
        while !nodes[1].has(b"first") {
            context.sleep(Duration::from_millis(1)).await;
        }
        let took = context.current().duration_since(begun).unwrap();
        // An announcement, a request and a delivery, over links of about 10 ms each. All is announced every 5 s.
        assert!(took < Duration::from_millis(100), "{took:?}");
    });
}
