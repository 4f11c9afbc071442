//! Validators of a network with the chain.

use std::path::Path;

use esker_e2e::{Node, until};
use serde_json::Value;

use super::{
    VALUE, assert_follows, assert_times, height, network_content, nonce, pay_on_x, receipt, send,
    send_each_kind, txs,
};
use crate::validator_net::verify;
use crate::validators::{health, new_network, shorten_timeouts, start};

/// Adds the chain to a network of validators.
fn add_chain(network: &Path) {
    let file = network.join("network.json");
    let mut content: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    content["esker"]["chains"] = network_content()["esker"]["chains"].clone();
    std::fs::write(file, content.to_string()).unwrap();
}

#[test]
fn validators_agree_on_its_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network(&network, 4);
    shorten_timeouts(&network);
    add_chain(&network);
    let mut nodes: Vec<Node> = (1..=4).map(|number| start(&network, number)).collect();
    until("enough validators are connected", || health(&nodes[0]).0.is_none().then_some(()));
    // To one after the other, also those that do not propose the block.
    for to in 0..nodes.len() {
        send_each_kind(&nodes[to]);
        nodes.iter().for_each(|node| assert_follows(node, &nodes[to]));
    }
    pay_on_x(&nodes[2]);
    let first = nonce(&nodes[0]);
    let sent: Vec<_> =
        (first..first + 20).map(|nonce| send(&nodes[0], &txs::transfer(nonce, VALUE))).collect();
    receipt(&nodes[3], sent.last().unwrap());

    // Three go on without the fourth, which then has what it missed.
    nodes.pop().unwrap().kill().unwrap();
    let before = height(&nodes[1]);
    send_each_kind(&nodes[1]);
    assert!(height(&nodes[1]) > before);
    nodes.push(start(&network, 4));
    assert_follows(&nodes[3], &nodes[1]);
    send_each_kind(&nodes[3]);
    for node in &nodes {
        assert_follows(node, &nodes[3]);
        assert_times(node);
    }
    for node in nodes {
        assert!(node.stop().unwrap().success());
    }
    (1..=4).for_each(|number| drop(verify(&network, number)));
}
