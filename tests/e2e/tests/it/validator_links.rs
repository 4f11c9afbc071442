//! Links between validators that are cut, held or slow, over real processes with proxies between them, under traffic.

use std::time::{Duration, Instant};

use esker_client::Wallet;
use esker_e2e::funds::funded;
use esker_e2e::{Flow, Node, until};
use esker_primitives::TxId;
use serde_json::{Value, json};

use crate::support::{wait_accepted, wallet};
use crate::validator_net::{
    Net, VALIDATORS, heights, wait_for_heights, wait_for_lost_quorum, wait_for_peers,
};
use crate::validator_traffic::Traffic;

const CUT: Flow = Flow { is_cut: true, is_held: false, delay: Duration::ZERO, bytes_per_second: 0 };
const HELD: Flow = Flow { is_cut: false, is_held: true, ..CUT };
const OPEN: Flow = Flow { is_cut: false, ..CUT };

/// How long it is watched that nothing is decided: several rounds.
const WATCHED: Duration = Duration::from_secs(4);

/// How long validators report the same heights before what was under way counts as done.
const STILL: Duration = Duration::from_secs(1);

fn others(nodes: &[Node], lonely: usize) -> impl Iterator<Item = &Node> {
    nodes.iter().enumerate().filter(move |(number, _)| *number != lonely).map(|(_, node)| node)
}

/// One has no links: the others go on, also when it would lead. It catches up when it has them again.
fn isolate(net: &Net, nodes: &[Node], traffic: &Traffic, lonely: usize) {
    let is_its = |from, to| from == lonely || to == lonely;
    net.links().set_all(|from, to| if is_its(from, to) { CUT } else { OPEN });
    traffic.use_only(others(nodes, lonely));
    wait_for_lost_quorum(&nodes[lonely]);
    let alone = std::slice::from_ref(&nodes[lonely]);
    let decided = wait_until_still(alone);
    let before = heights(&nodes[lonely]);
    traffic.wait_for_more(3, &format!("without {lonely}"));
    assert_nothing_after(alone, decided);
    let reached = until("the others have blocks that it lacks", || {
        let reached = heights(&nodes[(lonely + 1) % VALIDATORS]);
        (reached.0 > before.0 && reached.1 > before.1).then_some(reached)
    });
    assert_nothing_after(alone, decided);
    net.links().heal();
    wait_for_heights(&nodes[lonely], reached);
    traffic.use_only(nodes);
}

/// Bytes pass to one but not from it, or the other way round.
fn hold_one_way(net: &Net, nodes: &[Node], traffic: &Traffic, deaf: bool, lonely: usize) {
    let is_held = |from, to| if deaf { to == lonely } else { from == lonely };
    net.links().set_all(|from, to| if is_held(from, to) { HELD } else { OPEN });
    traffic.use_only(others(nodes, lonely));
    traffic.wait_for_more(3, &format!("{lonely} is {}", if deaf { "deaf" } else { "mute" }));
    net.links().heal();
    wait_for_heights(&nodes[lonely], heights(&nodes[(lonely + 1) % VALIDATORS]));
    traffic.use_only(nodes);
}

/// Two can't reach the other two: nothing is decided on either side, and all go on by themselves afterwards.
fn split(net: &Net, nodes: &[Node], traffic: &Traffic, halves: [usize; 2]) {
    let side = |number| halves.contains(&number);
    net.links().set_all(|from, to| if side(from) == side(to) { OPEN } else { CUT });
    for node in nodes {
        wait_for_lost_quorum(node);
    }
    let decided = wait_until_still(nodes);
    let late = send_to_both(nodes, halves);
    let begun = Instant::now();
    while begun.elapsed() < WATCHED {
        assert_nothing_after(nodes, decided);
        for node in nodes {
            let status = node.x().get_tx_status(&late).unwrap();
            assert!(!status.is_accepted(), "a half decides what was sent after the cut");
        }
    }
    net.links().heal();
    for node in nodes {
        wait_accepted(&mut node.x(), &late);
    }
    traffic.wait_for_more(3, "after the split");
}

/// Waits until nothing that was decided before a cut is under way any more: votes may have arrived of which a
/// certificate follows, and a validator may be catching up with another one of its side. Returns the height of the
/// last bundle that any of them knows to be decided.
fn wait_until_still(nodes: &[Node]) -> u64 {
    let known = || -> Vec<(u64, u64)> { nodes.iter().map(known_heights).collect() };
    let mut last = known();
    let mut since = Instant::now();
    until("what was decided before the cut is final", || {
        let now = known();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        (since.elapsed() >= STILL).then_some(())
    });
    last.iter().map(|(last_final, seen)| *last_final.max(seen)).max().unwrap()
}

/// The heights of the last final bundle and of the last one that a validator knows to be decided.
fn known_heights(node: &Node) -> (u64, u64) {
    let report: Value = node.rpc().call("/ext/health", "health.health", json!({})).unwrap();
    let message = &report["checks"]["network"]["message"];
    let height = |name: &str| message[name].as_u64().unwrap_or_else(|| panic!("{report}"));
    (height("finalHeight"), height("greatestHeightSeen"))
}

/// No validator knows of a decision above that height.
fn assert_nothing_after(nodes: &[Node], height: u64) {
    for (number, node) in nodes.iter().enumerate() {
        let (last_final, seen) = known_heights(node);
        assert!(last_final.max(seen) <= height, "{number}: {last_final} {seen} above {height}");
    }
}

/// Sends a payment to one validator of each half.
fn send_to_both(nodes: &[Node], halves: [usize; 2]) -> TxId {
    let own = wallet(&nodes[0], "X", funded());
    let output = Wallet::output(own.params().fee_asset_id, 7, own.owner());
    let payment = own.base_tx(vec![output], b"after the cut").unwrap();
    let other = (0..VALIDATORS).find(|number| !halves.contains(number)).unwrap();
    for number in [halves[0], other] {
        nodes[number].x().issue_tx(&payment).unwrap();
    }
    payment.id()
}

fn partitions(rounds: usize, lonely: &[usize]) {
    let net = Net::with_links();
    let nodes = net.start_all();
    for node in &nodes {
        wait_for_peers(node, 3);
    }
    let traffic = Traffic::start(&nodes);
    traffic.wait_for_more(3, "with all links");
    for round in 0..rounds {
        for number in lonely {
            isolate(&net, &nodes, &traffic, *number);
        }
        split(&net, &nodes, &traffic, [0, 1 + round % 3]);
        for deaf in [false, true] {
            hold_one_way(&net, &nodes, &traffic, deaf, (round + 1) % VALIDATORS);
        }
    }
    net.finish(nodes.into_iter().enumerate().collect(), traffic);
}

#[test]
fn partitions_stop_no_majority_and_heal() {
    partitions(1, &[0, 2]);
}

#[test]
#[ignore = "takes minutes"]
fn slow_partitions_stop_no_majority_and_heal() {
    partitions(10, &[0, 1, 2, 3]);
}

fn slow_links(rounds: usize) {
    let net = Net::with_links();
    let nodes = net.start_all();
    let traffic = Traffic::start(&nodes);
    for round in 0..rounds {
        let slow = (round + 3) % VALIDATORS;
        traffic.wait_for_more(3, "with fast links");
        traffic.use_only(others(&nodes, slow));
        for ms in [200, 2_000] {
            let delayed = Flow { delay: Duration::from_millis(ms), ..OPEN };
            let is_its = |from, to| from == slow || to == slow;
            net.links().set_all(|from, to| if is_its(from, to) { delayed } else { OPEN });
            traffic.wait_for_more(3, &format!("{slow} is {ms} ms away"));
        }
        let narrow = Flow { bytes_per_second: 8 << 10, ..OPEN };
        net.links().set_all(|from, to| if from == slow || to == slow { narrow } else { OPEN });
        traffic.wait_for_more(3, &format!("{slow} has 8 KiB/s"));
        traffic.use_only(&nodes);
        let far = Flow { delay: Duration::from_millis(50), ..OPEN };
        net.links().set_all(|_, _| far);
        traffic.wait_for_more(3, "all are 50 ms away");
        net.links().heal();
    }
    net.finish(nodes.into_iter().enumerate().collect(), traffic);
}

#[test]
fn a_validator_with_slow_links_does_not_stop_the_others() {
    slow_links(1);
}

#[test]
#[ignore = "takes minutes"]
fn slow_each_validator_with_slow_links_does_not_stop_the_others() {
    slow_links(8);
}
