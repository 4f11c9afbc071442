//! Accounts of the C-Chain that send one transaction after the other.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread;

use esker_client::RpcClient;
use esker_e2e::{Node, until};
use serde_json::{Value, json};

use crate::support::{
    C, CLIENTS, call, check_distinct, check_pool_is_empty, number, start_temporary,
};

/// Where a client gets its nonces from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nonces {
    /// The node chooses: `eth_sendTransaction` without one.
    Node,
    /// The client asks for the account's `pending` count before each transaction.
    Pending,
    /// The client counts, and sends signed transactions.
    Own,
}

/// A transaction whose hash was returned.
#[derive(Clone, Debug)]
struct Promise {
    hash: String,
    from: String,
    to: String,
    value: u128,
}

/// One client of one account.
struct Sender {
    rpc: RpcClient,
    nonces: Nonces,
    from: String,
    to: String,
    /// The next one, where the client counts, and what is added for each transaction.
    next: u64,
    step: u64,
    sent: Vec<Promise>,
}

impl Sender {
    fn new(node: SocketAddr, nonces: Nonces, from: &str, number: usize) -> Self {
        let mut rpc = RpcClient::new(node);
        let next = count(&mut rpc, from, "latest");
        // An address that nobody else sends to.
        let to = format!("0x{:040x}", 0xc0ffee00 + number);
        Self { rpc, nonces, from: from.to_owned(), to, next, step: 1, sent: Vec::new() }
    }

    /// Sends so many, each with a value of its own, beginning with `first`.
    fn send(mut self, first: u128, many: usize) -> Vec<Promise> {
        for value in (first..).take(many) {
            let hash = match self.nonces {
                Nonces::Node => self.by_node(value),
                Nonces::Pending => self.by_pending(value),
                Nonces::Own => self.by_own(value),
            };
            let (from, to) = (self.from.clone(), self.to.clone());
            self.sent.push(Promise { hash, from, to, value });
        }
        self.sent
    }

    fn tx(&self, value: u128) -> Value {
        json!({ "from": self.from, "to": self.to, "value": format!("{value:#x}"), "gas": "0x5208" })
    }

    fn by_node(&mut self, value: u128) -> String {
        let tx = self.tx(value);
        text(call(&mut self.rpc, C, "eth_sendTransaction", json!([tx])))
    }

    /// Others may send from the account, too: who comes second asks again.
    fn by_pending(&mut self, value: u128) -> String {
        until("a nonce that nobody else has taken", || {
            let mut tx = self.tx(value);
            let nonce = count(&mut self.rpc, &self.from, "pending");
            tx["nonce"] = json!(format!("{nonce:#x}"));
            match call(&mut self.rpc, C, "eth_sendTransaction", json!([tx])) {
                Err(taken)
                    if taken.starts_with("nonce too low")
                        || taken == "replacement transaction underpriced" =>
                {
                    None
                }
                sent => Some(text(sent)),
            }
        })
    }

    fn by_own(&mut self, value: u128) -> String {
        let mut tx = self.tx(value);
        tx["nonce"] = json!(format!("{:#x}", self.next));
        tx["gasPrice"] = json!("0x77359400");
        self.next += self.step;
        let signed = call(&mut self.rpc, C, "eth_signTransaction", json!([tx])).unwrap();
        text(call(&mut self.rpc, C, "eth_sendRawTransaction", json!([signed["raw"]])))
    }
}

fn text(hash: Result<Value, String>) -> String {
    hash.unwrap().as_str().unwrap().to_owned()
}

fn count(rpc: &mut RpcClient, account: &str, at: &str) -> u64 {
    let count = call(rpc, C, "eth_getTransactionCount", json!([account, at])).unwrap();
    u64::try_from(number(&count)).unwrap()
}

fn balance(rpc: &mut RpcClient, account: &str) -> u128 {
    number(&call(rpc, C, "eth_getBalance", json!([account, "latest"])).unwrap())
}

fn accounts(rpc: &mut RpcClient) -> Vec<String> {
    serde_json::from_value(call(rpc, C, "eth_accounts", json!([])).unwrap()).unwrap()
}

/// The state of the accounts before a journey.
struct Before {
    rpc: RpcClient,
    accounts: BTreeMap<String, (u64, u128)>,
}

impl Before {
    fn of(node: &Node) -> Self {
        let mut rpc = node.rpc();
        let accounts = accounts(&mut rpc)
            .into_iter()
            .map(|account| {
                let now = (count(&mut rpc, &account, "latest"), balance(&mut rpc, &account));
                (account, now)
            })
            .collect();
        Self { rpc, accounts }
    }

    /// All is mined; nonces, balances and the pool are what the promises say.
    fn check(mut self, promises: &[Promise]) {
        check_distinct(promises.iter().map(|promise| &promise.hash));
        let rpc = &mut self.rpc;
        let mut received = BTreeMap::<&str, u128>::new();
        for Promise { hash, from, to, value } in promises {
            let receipt = until(&format!("{hash} of {from} is mined"), || {
                let receipt = call(rpc, C, "eth_getTransactionReceipt", json!([hash])).unwrap();
                receipt.is_object().then_some(receipt)
            });
            assert_eq!(receipt["status"], "0x1", "{receipt}");
            let fee = number(&receipt["gasUsed"]) * number(&receipt["effectiveGasPrice"]);
            let (nonce, balance) = self.accounts.get_mut(from).unwrap();
            *nonce += 1;
            *balance -= value + fee;
            *received.entry(to).or_default() += value;
        }
        check_pool_is_empty(rpc);
        for (account, (nonce, expected)) in &self.accounts {
            assert_eq!(count(rpc, account, "latest"), *nonce, "{account}");
            assert_eq!(count(rpc, account, "pending"), *nonce, "{account}");
            assert_eq!(balance(rpc, account), *expected, "{account}");
        }
        for (account, expected) in received {
            assert_eq!(balance(rpc, account), expected, "{account}");
        }
    }
}

/// One client of one account.
fn alone(nonces: Nonces, many: usize) {
    let node = start_temporary();
    let before = Before::of(&node);
    let account = before.accounts.keys().next().unwrap().clone();
    before.check(&Sender::new(node.address(), nonces, &account, 0).send(1, many));
    assert!(node.stop().unwrap().success());
}

/// Four clients at once, each of an account of its own, then all of one account.
fn at_once(nonces: Nonces, many: usize) {
    let node = start_temporary();
    for of_one in [false, true] {
        let before = Before::of(&node);
        let accounts: Vec<&String> = before.accounts.keys().collect();
        let senders = (0..CLIENTS).map(|n| {
            let account = accounts[if of_one { CLIENTS } else { n }];
            let number = usize::from(of_one) * CLIENTS + n;
            let mut sender = Sender::new(node.address(), nonces, account, number);
            if of_one && nonces == Nonces::Own {
                // They take turns: whoever is ahead waits for the nonces of the others.
                sender.next += u64::try_from(n).unwrap();
                sender.step = u64::try_from(CLIENTS).unwrap();
            }
            sender
        });
        let senders: Vec<Sender> = senders.collect();
        let promises = thread::scope(|scope| {
            let clients: Vec<_> = (0..)
                .step_by(1_000_000)
                .zip(senders)
                .map(|(first, sender)| scope.spawn(move || sender.send(first + 1, many)))
                .collect();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(promises.len(), CLIENTS * many);
        before.check(&promises);
    }
    assert!(node.stop().unwrap().success());
}

#[test]
fn the_node_chooses_the_nonces() {
    alone(Nonces::Node, 600);
}

#[test]
fn the_node_chooses_the_nonces_of_four_clients() {
    at_once(Nonces::Node, 100);
}

#[test]
fn nonces_by_the_pending_count() {
    alone(Nonces::Pending, 300);
}

#[test]
fn nonces_by_the_pending_count_of_four_clients() {
    at_once(Nonces::Pending, 75);
}

#[test]
fn signed_transactions() {
    alone(Nonces::Own, 300);
}

#[test]
fn signed_transactions_of_four_clients() {
    // Not more than an account may have in queue, however far one of the clients is ahead.
    at_once(Nonces::Own, 60);
}

#[test]
#[ignore = "takes minutes"]
fn slow_six_nodes_choose_three_thousand_nonces() {
    for _ in 0..6 {
        alone(Nonces::Node, 3_000);
    }
}

#[test]
#[ignore = "takes minutes"]
fn slow_thousands_of_every_kind() {
    for nonces in [Nonces::Node, Nonces::Pending] {
        alone(nonces, 5_000);
        at_once(nonces, 2_000);
    }
    alone(Nonces::Own, 5_000);
}
