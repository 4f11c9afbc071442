//! Traffic on validators while some fail: payments on X, transfers on C, and funds that move between the chains. Each
//! transaction is sent to a validator in turn, and again to another one as long as it is not accepted, as clients do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use esker_client::{CallError, RpcClient, Wallet, XvmClient};
use esker_e2e::funds::{funded, key};
use esker_e2e::{Node, until};
use esker_evm::accounts::address_of_key;
use esker_primitives::network::LOCAL_ID;
use esker_primitives::sync::Mutex;
use esker_primitives::{AssetId, ChainId, TxId, hexfmt};
use esker_transactions::nat::{AtomicTx, EvmInput, UnsignedAtomicTx, UnsignedExport};
use esker_transactions::xvm::Tx;
use esker_utxo::Utxo;
use serde_json::{Value, json};

use crate::load::{EVM, NAT};
use crate::support::{accept, wait_accepted, wallet};
use crate::validator_txs::{AMOUNT, BURNED, chain_id, import_on_c, transfer};

/// Between two looks at a transaction.
const LOOK: Duration = Duration::from_millis(20);

/// Looks at the node that took a transaction, after which the other nodes are asked too.
const LOOKS: usize = 10;

/// When a transaction that was taken, or refused, is sent to the next node.
const AGAIN: Duration = Duration::from_secs(3);
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// How long a transaction may wait, also across the faults of a test.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// A transaction that was accepted.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    X(TxId),
    Evm(String),
    Atomic(TxId),
}

impl Sent {
    /// Whether a node has accepted it. A node that does not answer has not.
    pub(crate) fn is_accepted_at(&self, address: SocketAddr) -> bool {
        let mut rpc = RpcClient::new(address);
        match self {
            Self::X(id) => {
                let status = XvmClient::new(address, "X").get_tx_status(id);
                status.is_ok_and(|status| status.is_accepted())
            }
            Self::Evm(hash) => {
                let receipt: Result<Value, _> =
                    rpc.call(EVM, "eth_getTransactionReceipt", json!([hash]));
                receipt.is_ok_and(|receipt| !receipt.is_null())
            }
            Self::Atomic(id) => {
                let params = json!({ "txID": id.to_string() });
                let reply: Result<Value, _> = rpc.call(NAT, "nat.getAtomicTxStatus", params);
                reply.is_ok_and(|reply| reply["status"] == "Accepted")
            }
        }
    }

    /// Of [`Shared::counts`].
    const fn kind(&self) -> usize {
        match self {
            Self::X(_) => 0,
            Self::Evm(_) => 1,
            Self::Atomic(_) => 2,
        }
    }
}

/// The work of a thread that sends.
type Sender = Box<dyn FnOnce(&Shared) + Send>;

/// The senders. A transaction that is not accepted in time fails the test.
pub(crate) struct Traffic {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    usable: Mutex<Vec<SocketAddr>>,
    turn: AtomicUsize,
    stop: AtomicBool,
    accepted: Mutex<Vec<Sent>>,
    /// Accepted ones: on X, on C, between them.
    counts: [AtomicUsize; 3],
    /// How long the last ones took.
    took: Mutex<Vec<Duration>>,
}

impl Traffic {
    /// Funds the senders and begins.
    pub(crate) fn start(nodes: &[Node]) -> Self {
        let first = &nodes[0];
        let rich = wallet(first, "X", funded());
        let native = rich.params().fee_asset_id;
        let funds = |owner: u8| Wallet::output(native, 100 * AMOUNT, key(owner).address());
        let funding = rich.base_tx(vec![funds(1), funds(9)], b"for traffic").unwrap();
        accept(&mut first.x(), &funding);
        for node in nodes {
            wait_accepted(&mut node.x(), &funding.id());
        }
        let shared = Arc::new(Shared {
            usable: Mutex::new(nodes.iter().map(Node::address).collect()),
            turn: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            accepted: Mutex::new(vec![Sent::X(funding.id())]),
            counts: Default::default(),
            took: Mutex::new(Vec::new()),
        });
        let on_x = wallet(first, "X", key(1));
        let mover = Mover {
            native,
            x: chain_id(first, "X"),
            c: chain_id(first, "C"),
            wallet: wallet(first, "X", key(9)),
            nonce: 0,
        };
        let senders: [Sender; 3] = [
            Box::new(move |shared| shared.send_on_x(on_x)),
            Box::new(Shared::send_on_c),
            Box::new(move |shared| mover.run(shared)),
        ];
        let spawn = |sender: Sender| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || sender(&shared))
        };
        let threads = senders.into_iter().map(spawn).collect();
        Self { shared, threads }
    }

    /// From now on clients use these nodes.
    pub(crate) fn use_only<'a>(&self, nodes: impl IntoIterator<Item = &'a Node>) {
        *self.shared.usable.lock() = nodes.into_iter().map(Node::address).collect();
    }

    /// Waits until so many more are accepted on X, and a third of it on C and between the chains. A block on C waits for
    /// two seconds after the one before, as the fees of this network want it. Returns the median and the longest time that
    /// they took.
    pub(crate) fn wait_for_more(&self, more: usize, what: &str) -> (Duration, Duration) {
        let counts = || self.shared.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        let before = counts();
        self.shared.took.lock().clear();
        until(&format!("traffic goes on: {what}"), || {
            assert!(!self.threads.iter().any(JoinHandle::is_finished), "a sender has failed");
            let now = counts();
            let wanted = [more, more.div_ceil(3), more.div_ceil(3)];
            let has_all = |kind: usize| now[kind] >= before[kind] + wanted[kind];
            (0..wanted.len()).all(has_all).then_some(())
        });
        let mut took = self.shared.took.lock().clone();
        took.sort();
        let (median, longest) = (took[took.len() / 2], *took.last().unwrap());
        eprintln!("{what}: {median:?} in the median, {longest:?} at most");
        (median, longest)
    }

    /// Ends it. Returns what was accepted: all that was sent.
    pub(crate) fn stop(mut self) -> Vec<Sent> {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
        self.shared.accepted.lock().clone()
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn next_node(&self) -> SocketAddr {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let usable = self.usable.lock();
        usable[turn % usable.len()]
    }

    /// Sends a transaction until some node has accepted it. Returns that node.
    fn settle(&self, tx: Sent, issue: impl Fn(SocketAddr) -> Result<(), CallError>) -> SocketAddr {
        let begun = Instant::now();
        loop {
            let via = self.next_node();
            let refused = issue(via).err();
            let wait = if refused.is_none() { AGAIN } else { AFTER_REFUSAL };
            let sent = Instant::now();
            for look in 1.. {
                let mut asked = vec![via];
                if look % LOOKS == 0 || refused.is_some() {
                    asked = self.usable.lock().clone();
                }
                let accepted = asked.into_iter().find(|address| tx.is_accepted_at(*address));
                if let Some(address) = accepted {
                    self.counts[tx.kind()].fetch_add(1, Ordering::Relaxed);
                    self.took.lock().push(begun.elapsed());
                    self.accepted.lock().push(tx);
                    return address;
                }
                if sent.elapsed() >= wait {
                    break;
                }
                thread::sleep(LOOK);
            }
            assert!(begun.elapsed() < LONGEST_WAIT, "{tx:?} is not accepted: {refused:?}");
        }
    }

    fn settle_on_x(&self, tx: &Tx) -> SocketAddr {
        self.settle(Sent::X(tx.id()), |node| XvmClient::new(node, "X").issue_tx(tx).map(|_| ()))
    }

    fn settle_on_c(&self, tx: &AtomicTx) -> SocketAddr {
        let params = json!({ "tx": hexfmt::encode_checked(tx.bytes()), "encoding": "hex" });
        self.settle(Sent::Atomic(tx.id()), |node| {
            let issued: Value = RpcClient::new(node).call(NAT, "nat.issueTx", &params)?;
            assert_eq!(issued["txID"], tx.id().to_string());
            Ok(())
        })
    }

    /// Payments to oneself that spend each other.
    fn send_on_x(&self, mut wallet: Wallet) {
        while !self.is_stopped() {
            let output = Wallet::output(wallet.params().fee_asset_id, 5, wallet.owner());
            let tx = wallet.base_tx(vec![output], b"traffic").unwrap();
            self.settle_on_x(&tx);
            wallet.apply(&tx);
        }
    }

    fn send_on_c(&self) {
        for nonce in 0.. {
            if self.is_stopped() {
                return;
            }
            let raw = transfer(nonce);
            let hash = alloy_primitives::keccak256(
                alloy_primitives::hex::decode(&raw).expect("it was encoded"),
            );
            self.settle(Sent::Evm(hash.to_string()), |node| {
                let params = json!([raw]);
                RpcClient::new(node)
                    .call::<Value>(EVM, "eth_sendRawTransaction", params)
                    .map(|_| ())
            });
        }
    }
}

/// Moves funds from X to C and back, each transaction through another node.
struct Mover {
    native: AssetId,
    x: ChainId,
    c: ChainId,
    wallet: Wallet,
    nonce: u64,
}

impl Mover {
    fn run(mut self, shared: &Shared) {
        while !shared.is_stopped() {
            let to = Wallet::output(self.native, AMOUNT, self.wallet.owner());
            let export = self.wallet.export(self.c, vec![to]).unwrap();
            shared.settle_on_x(&export);
            self.wallet.apply(&export);
            let utxo = export.exported_utxos().next().unwrap();
            shared.settle_on_c(&import_on_c((self.x, self.c), &utxo));

            let unsigned = self.export_from_c();
            let back = AtomicTx::sign(UnsignedAtomicTx::Export(unsigned.clone()), &[vec![&key(9)]]);
            shared.settle_on_c(&back);
            self.nonce += 1;
            let utxos: Vec<Utxo> = unsigned.exported_utxos(back.id()).collect();
            let import = self.wallet.import(self.c, &utxos, self.wallet.owner()).unwrap();
            shared.settle_on_x(&import);
            self.wallet.apply(&import);
        }
    }

    /// All that the import has brought.
    fn export_from_c(&self) -> UnsignedExport {
        let amount = AMOUNT - BURNED;
        UnsignedExport {
            network_id: LOCAL_ID,
            blockchain_id: self.c,
            destination_chain: self.x,
            inputs: vec![EvmInput {
                address: address_of_key(&key(9).public_key()),
                amount,
                asset_id: self.native,
                nonce: self.nonce,
            }],
            exported_outputs: vec![Wallet::output(
                self.native,
                amount - BURNED,
                self.wallet.owner(),
            )],
        }
    }
}
