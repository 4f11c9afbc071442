//! When a node accepts transactions.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use esker_client::XvmClient;
use esker_e2e::Socket;
use serde_json::{Value, json};

/// Pause between two looks at the X-Chain, which notifies nobody.
const PAUSE: Duration = Duration::from_millis(2);

type Accepted = (String, Instant);

/// Watches both chains of a node.
pub(super) struct Watch {
    accepted: Receiver<Accepted>,
    seen: HashMap<String, Instant>,
    stop: Arc<AtomicBool>,
    on_x: JoinHandle<()>,
}

/// Follows the blocks of the X-Chain.
fn follow_x(mut x: XvmClient, mut height: u64, stop: &AtomicBool, accepted: &Sender<Accepted>) {
    while !stop.load(Ordering::Relaxed) {
        let last = x.get_height().unwrap();
        let at = Instant::now();
        while height < last {
            height += 1;
            for tx in x.get_block_by_height(height).unwrap().txs() {
                let _gone = accepted.send((tx.id().to_string(), at));
            }
        }
        thread::sleep(PAUSE);
    }
}

/// Reads the hashes of accepted transactions of the C-Chain, until the node is gone or silent for long.
fn follow_c(mut socket: Socket, accepted: &Sender<Accepted>) {
    while let Ok(text) = socket.read() {
        let at = Instant::now();
        let event: Value = serde_json::from_str(&text).unwrap();
        let hash = event["params"]["result"].as_str().unwrap().to_owned();
        if accepted.send((hash, at)).is_err() {
            return;
        }
    }
}

impl Watch {
    pub(super) fn start(address: SocketAddr) -> Self {
        let (sender, accepted) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut x = XvmClient::new(address, "X");
        let height = x.get_height().unwrap();
        let (stopped, to) = (Arc::clone(&stop), sender.clone());
        let on_x = thread::spawn(move || follow_x(x, height, &stopped, &to));
        let mut socket = Socket::open(address, "/ext/bc/C/ws").unwrap();
        let method = "evm_subscribe";
        let params = ["newAcceptedTransactions"];
        let subscribe = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        socket.send(&subscribe.to_string()).unwrap();
        let _subscribed = socket.read().unwrap();
        thread::spawn(move || follow_c(socket, &sender));
        Self { accepted, seen: HashMap::new(), stop, on_x }
    }

    /// Transactions that were accepted so far.
    pub(super) fn count(&mut self) -> usize {
        self.seen.extend(self.accepted.try_iter());
        self.seen.len()
    }

    /// When each transaction was accepted.
    pub(super) fn end(self) -> HashMap<String, Instant> {
        self.stop.store(true, Ordering::Relaxed);
        self.on_x.join().unwrap();
        self.seen
    }
}
