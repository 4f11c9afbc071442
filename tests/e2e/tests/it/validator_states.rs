//! A validator with a wiped disk, and with a clock that is wrong, under traffic.

use std::time::Duration;

use esker_e2e::disk::SmallDisk;
use esker_e2e::{Node, ShiftedClock, until};
use serde_json::{Value, json};

use crate::load::EVM;
use crate::support::now_s;
use crate::validator_net::{Net, heights, lines_with, wait_for_heights, wait_for_peers};
use crate::validator_traffic::Traffic;
use crate::validators::health;

/// How far the clock of one is ahead or behind.
const SHIFT_S: i32 = 30;

/// How far a bundle may be ahead of a validator's clock, and some more for the test's own.
const MAX_AHEAD_S: u64 = 12;

/// The disk of one is wiped while the others decide. It follows them, and votes when it may.
fn wipe(net: &Net, nodes: &mut Vec<(usize, Node)>, traffic: &Traffic) {
    let (number, node) = nodes.remove(0);
    traffic.use_only(nodes.iter().map(|(_, node)| node));
    node.kill().unwrap();
    std::fs::remove_dir_all(net.validator(number).join("data")).unwrap();
    let node = net.start(number);
    wait_for_heights(&node, heights(&nodes[0].1));
    let text = "the votes of this validator are not in its folder";
    assert_eq!(lines_with(&node, text).len(), 1, "{}", node.output());
    until("it votes again", || (health(&node).1["votes"] == true).then_some(()));
    nodes.push((number, node));
    traffic.use_only(nodes.iter().map(|(_, node)| node));
    traffic.wait_for_more(3, "with the one whose disk was wiped");
}

/// The time of a node's last block on C, Unix seconds.
fn last_block_s(node: &Node) -> u64 {
    let block: Value =
        node.rpc().call(EVM, "eth_getBlockByNumber", json!(["latest", false])).unwrap();
    let time = block["timestamp"].as_str().unwrap().trim_start_matches("0x");
    u64::from_str_radix(time, 16).unwrap()
}

/// The clock of one is wrong: it has the blocks of the others, whose times are those of their clocks.
fn shift_clock(
    net: &Net,
    nodes: &mut Vec<(usize, Node)>,
    traffic: &Traffic,
    clock: &ShiftedClock,
    seconds: i32,
) {
    let (number, node) = nodes.remove(0);
    traffic.use_only(nodes.iter().map(|(_, node)| node));
    assert!(node.stop().unwrap().success());
    let odd = clock.under(net.builder(number), seconds).start().unwrap();
    wait_for_peers(&odd, 3);
    let (median, _) =
        traffic.wait_for_more(6, &format!("the clock of {number} is {seconds} s off"));
    // Its rounds are skipped at once, and not waited for.
    assert!(median < Duration::from_secs(3), "{median:?}");
    wait_for_heights(&odd, heights(&nodes[0].1));
    for (_, node) in nodes.iter() {
        let time = last_block_s(node);
        assert!(time <= now_s() + MAX_AHEAD_S, "{time}");
        let refused = || lines_with(node, "a proposal is refused");
        if seconds > 0 {
            // Its turn may come after those transactions: a leader that was away is passed over at first.
            until("its proposals are refused", || (!refused().is_empty()).then_some(()));
        }
        assert!(refused().len() <= 2, "{:?}", refused());
    }
    assert_eq!(health(&odd).1["votes"], true);
    assert!(odd.stop().unwrap().success());
    nodes.push((number, net.start(number)));
    traffic.use_only(nodes.iter().map(|(_, node)| node));
    traffic.wait_for_more(3, "all clocks are right");
}

#[test]
fn timed_a_wiped_validator_and_one_with_a_wrong_clock_agree_with_the_others() {
    let net = Net::new();
    let mut nodes: Vec<(usize, Node)> = net.start_all().into_iter().enumerate().collect();
    let of_all: Vec<Node> = nodes.drain(..).map(|(_, node)| node).collect();
    let traffic = Traffic::start(&of_all);
    nodes.extend(of_all.into_iter().enumerate());
    traffic.wait_for_more(3, "all are well");
    if let Some(clock) = ShiftedClock::build().unwrap() {
        for seconds in [SHIFT_S, -SHIFT_S] {
            shift_clock(&net, &mut nodes, &traffic, &clock, seconds);
        }
    }
    wipe(&net, &mut nodes, &traffic);
    net.finish(nodes, traffic);
}

/// Bytes of the small disk: the store's first pages and the protocol's files fit.
const SMALL_DISK: u64 = 96 << 20;

/// The disk of one is full: it takes no part and answers reads, and goes on when there is room.
#[test]
fn a_validator_with_a_full_disk_goes_on_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(SMALL_DISK).unwrap() else { return };
    let net = Net::new();
    // The folder with the votes and the store.
    let data = net.validator(3).join("data");
    let moved = std::process::Command::new("mv").arg(&data).arg(disk.path().join("data")).status();
    assert!(moved.unwrap().success());
    std::os::unix::fs::symlink(disk.path().join("data"), &data).unwrap();
    let mut nodes = net.start_all();
    let full = nodes.remove(3);
    let traffic = Traffic::start(&nodes);
    traffic.wait_for_more(3, "all are well");
    disk.fill().unwrap();
    let text = "the votes can't be written";
    until("it notices", || (!lines_with(&full, text).is_empty()).then_some(()));
    traffic.wait_for_more(3, "the disk of one is full");
    let (error, message) = health(&full);
    assert!(error.is_some() && message["votes"] == false, "{message}");
    let known = heights(&full);
    disk.free().unwrap();
    until("it votes again", || (health(&full).1["votes"] == true).then_some(()));
    wait_for_heights(&full, heights(&nodes[0]));
    assert!(heights(&full) > known, "it goes on");
    assert_eq!(lines_with(&full, "the disk takes writes again").len(), 1, "{}", full.output());
    assert_eq!(lines_with(&full, "panic"), [] as [&str; 0]);
    nodes.push(full);
    net.finish(nodes.into_iter().enumerate().collect(), traffic);
}
