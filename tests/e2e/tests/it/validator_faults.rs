//! Faults of validators under traffic, over real processes: what was accepted stays, and all have the same blocks.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpStream};

use esker_client::Wallet;
use esker_e2e::funds::{funded, key};
use esker_e2e::{Node, until};
use esker_primitives::TxId;
use serde_json::{Value, json};

use crate::load::EVM;
use crate::support::{accept, wallet};
use crate::validator_net::{assert_same_blocks, heights, signal, verify};
use crate::validator_txs::transfer;
use crate::validators::{health, new_network, shorten_timeouts, start};

/// Connections of strangers to the ports of the validators' network.
const STRANGERS: usize = 300;

/// The transactions that were sent, and are accepted or will be.
struct Traffic {
    nonce: u64,
    sent: Vec<(TxId, String)>,
}

impl Traffic {
    /// Sends a payment on X and a transfer on C to a node that has all earlier ones.
    fn send(&mut self, to: &Node) {
        let own = wallet(to, "X", funded());
        let output = Wallet::output(own.params().fee_asset_id, 5, own.owner());
        let payment = own.base_tx(vec![output], b"among faults").unwrap();
        let id = to.x().issue_tx(&payment).unwrap();
        let raw = json!([transfer(self.nonce)]);
        let hash = to.rpc().call(EVM, "eth_sendRawTransaction", raw).unwrap();
        self.nonce += 1;
        self.sent.push((id, hash));
    }

    /// Whether a node has accepted the last ones.
    fn is_accepted(&self, node: &Node) -> bool {
        let (x, c) = self.sent.last().unwrap();
        is_accepted(node, x, c)
    }

    /// Sends to the first node and waits until all of them have it.
    fn exchange(&mut self, nodes: &[&Node]) {
        self.send(nodes[0]);
        for node in nodes {
            until("accepted on all validators that run", || self.is_accepted(node).then_some(()));
        }
    }
}

fn is_accepted(node: &Node, x: &TxId, c: &str) -> bool {
    let status = node.x().get_tx_status(x).unwrap();
    assert_ne!(status.status, "Rejected", "{x}: {:?}", status.reason);
    let receipt: Value = node.rpc().call(EVM, "eth_getTransactionReceipt", json!([c])).unwrap();
    status.is_accepted() && !receipt.is_null()
}

#[test]
fn validators_agree_through_kills_pauses_and_a_lost_quorum() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network(&network, 4);
    shorten_timeouts(&network);
    let mut nodes: Vec<Node> = (1..=4).map(|number| start(&network, number)).collect();
    let rich = wallet(&nodes[0], "X", funded());
    let output = Wallet::output(rich.params().fee_asset_id, 1_000_000_000, key(2).address());
    accept(&mut nodes[0].x(), &rich.base_tx(vec![output], b"for the last payment").unwrap());
    let mut traffic = Traffic { nonce: 0, sent: Vec::new() };
    traffic.exchange(&nodes.iter().collect::<Vec<_>>());

    // Each is killed in turn while transactions are under way, so that some are killed as leaders.
    for number in 1..=4 {
        traffic.send(&nodes[1]);
        nodes.remove(0).kill().unwrap();
        for node in &nodes {
            until("three go on", || traffic.is_accepted(node).then_some(()));
        }
        traffic.exchange(&nodes.iter().collect::<Vec<_>>());
        let back = start(&network, number);
        until("it catches up", || traffic.is_accepted(&back).then_some(()));
        traffic.exchange(&[&back, &nodes[0], &nodes[1], &nodes[2]]);
        nodes.push(back);
    }

    // One does not answer for a while.
    signal(&nodes[3], "STOP");
    traffic.exchange(&[&nodes[0], &nodes[1], &nodes[2]]);
    signal(&nodes[3], "CONT");
    until("it catches up", || traffic.is_accepted(&nodes[3]).then_some(()));

    // Two of four decide nothing, and go on by themselves when the others are back.
    for node in nodes.drain(2..) {
        node.kill().unwrap();
    }
    until("both miss the others", || {
        nodes.iter().all(|node| health(node).0.is_some()).then_some(())
    });
    let before = heights(&nodes[0]);
    traffic.send(&nodes[0]);
    until("the other knows it", || {
        let (id, _) = traffic.sent.last().unwrap();
        (nodes[1].x().get_tx_status(id).unwrap().status == "Processing").then_some(())
    });
    assert_eq!(heights(&nodes[0]), before);
    nodes.extend([3, 4].map(|number| start(&network, number)));
    for node in &nodes {
        until("all go on", || traffic.is_accepted(node).then_some(()));
    }

    // All at once, while a transaction is under way.
    traffic.exchange(&nodes.iter().collect::<Vec<_>>());
    let reported = traffic.sent.clone();
    traffic.send(&nodes[0]);
    for node in nodes.drain(..) {
        node.kill().unwrap();
    }
    traffic.sent.pop();
    let nodes: Vec<Node> = (1..=4).map(|number| start(&network, number)).collect();
    for (x, c) in &reported {
        assert!(nodes.iter().all(|node| is_accepted(node, x, c)), "{x} and {c} were accepted");
    }
    // Of another key: what was under way may have spent the outputs of the first.
    let own = wallet(&nodes[2], "X", key(2));
    let output = Wallet::output(own.params().fee_asset_id, 7, own.owner());
    let tx = own.base_tx(vec![output], b"after all").unwrap();
    let id = nodes[2].x().issue_tx(&tx).unwrap();
    for node in &nodes {
        until("all go on", || node.x().get_tx_status(&id).unwrap().is_accepted().then_some(()));
    }

    assert_same_blocks(&nodes.iter().collect::<Vec<_>>());
    for node in nodes {
        assert!(node.stop().unwrap().success());
    }
    for number in 1..=4 {
        verify(&network, number);
    }
}

#[test]
fn strangers_at_the_port_of_the_validators_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    let base = new_network(&network, 4);
    let mut nodes: Vec<Node> = (1..=4).map(|number| start(&network, number)).collect();
    let mut traffic = Traffic { nonce: 0, sent: Vec::new() };
    traffic.exchange(&nodes.iter().collect::<Vec<_>>());

    // Some say nothing, some say nonsense. The connections stay open, as far as the node leaves them so.
    let mut connections = Vec::new();
    for number in 0..STRANGERS {
        let port = base + 1 + 2 * u16::try_from(number % 4).unwrap();
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        if number % 2 == 0 {
            // It may be closed already.
            let _refused = connection.write_all(&[0xff; 4_096]);
        }
        connections.push(connection);
    }
    traffic.exchange(&nodes.iter().collect::<Vec<_>>());
    nodes.pop().unwrap().kill().unwrap();
    let back = start(&network, 4);
    until("it catches up", || traffic.is_accepted(&back).then_some(()));
    traffic.exchange(&[&back, &nodes[0], &nodes[1], &nodes[2]]);
    drop(connections);
    for node in nodes.into_iter().chain([back]) {
        assert!(node.stop().unwrap().success());
    }
}
