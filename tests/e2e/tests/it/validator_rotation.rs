//! Changes of the validators of a running network, over real processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use esker_e2e::{Node, NodeBuilder, until};
use serde_json::{Value, json};

use crate::support::{PROGRAM, esker};
use crate::validators::{
    free_ports, health, metrics, new_network, pay, run, shorten_timeouts, status, value,
};

/// Starts a validator of a network with its admin API, and serving followers.
pub(crate) fn start(network: &Path, number: usize) -> Node {
    let folder = network.join(format!("validator-{number}"));
    let builder = NodeBuilder::new(PROGRAM)
        .network(network.join("network.json"))
        .data_dir(folder.join("data"))
        .args(&["--api-admin-enabled", "--api-sync-enabled"])
        .arg("--validator-key")
        .arg(folder.join("key"));
    let changes = folder.join("changes");
    let builder = match changes.exists() {
        true => builder.arg("--validator-changes").arg(changes),
        false => builder,
    };
    builder.start().unwrap()
}

pub(crate) fn bundle(node: &Node) -> u64 {
    status(node)["bundle"].as_u64().unwrap()
}

/// Pays from node to node until all of them have a bundle of this height. Each payment has a deadline of its own.
pub(crate) fn advance(nodes: &[&Node], height: u64) {
    let most = usize::try_from(height).unwrap() + 2;
    for to in nodes.iter().cycle().take(most) {
        pay(to, nodes);
        if nodes.iter().all(|node| bundle(node) >= height) {
            return;
        }
    }
    panic!("after {most} payments the validators are not at bundle {height}");
}

/// The operators of all validators approve a change, those before the last at once, since each waits for the others while
/// the network goes on. The last one waits until it is agreed, and writes it to `out`; its output.
pub(crate) fn agree(nodes: &[Node], file: &Path, height: u64, out: &Path) -> String {
    let (last, others) = nodes.split_last().unwrap();
    std::thread::scope(|scope| {
        for node in others {
            scope.spawn(move || {
                let (code, text) = rotate(node, file, height, &[]);
                assert_eq!(code, Some(0), "{text}");
            });
        }
    });
    let (code, text) = rotate(last, file, height, &["--out", out.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{text}");
    text
}

/// Runs the command for an operator; exit code and all output.
pub(crate) fn rotate(
    node: &Node,
    network: &Path,
    height: u64,
    more: &[&str],
) -> (Option<i32>, String) {
    let output = Command::new(PROGRAM)
        .args(["network", "rotate", "--at-height", &height.to_string()])
        .args(["--url", &format!("http://{}", node.address()), "--network"])
        .arg(network)
        .args(more)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// Makes the folder of another validator; its entry for a network file.
pub(crate) fn new_validator(network: &Path, number: usize) -> Value {
    let output = Command::new(PROGRAM)
        .args(["network", "new-validator", "--network"])
        .arg(network.join("network.json"))
        .args(["--address", &format!("127.0.0.1:{}", free_ports(1)), "--out"])
        .arg(network.join(format!("validator-{number}")))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

/// A network file with these validators.
pub(crate) fn with_validators(network: &Path, name: &str, members: &[Value]) -> PathBuf {
    let text = std::fs::read(network.join("network.json")).unwrap();
    let mut content: Value = serde_json::from_slice(&text).unwrap();
    content["esker"]["validators"] = json!(members);
    let path = network.join(name);
    std::fs::write(&path, content.to_string()).unwrap();
    path
}

pub(crate) fn members(network: &Path) -> Vec<Value> {
    let text = std::fs::read(network.join("network.json")).unwrap();
    let content: Value = serde_json::from_slice(&text).unwrap();
    content["esker"]["validators"].as_array().unwrap().clone()
}

fn assert_same_blocks(nodes: &[&Node]) {
    let last = nodes.iter().map(|node| node.x().get_height().unwrap()).min().unwrap();
    for height in 0..=last {
        let id = |node: &Node| node.x().get_block_by_height(height).unwrap().id();
        let first = id(nodes[0]);
        assert!(nodes.iter().all(|node| id(node) == first), "X {height}");
    }
}

pub(crate) fn wait_epoch(node: &Node, validators: u64, votes: bool) {
    until("the node is in the new epoch", || {
        let message = health(node).1;
        (message["validators"] == validators && message["votes"] == votes).then_some(())
    });
}

#[test]
fn validators_go_from_four_to_five_to_four_and_a_key_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network(&network, 4);
    shorten_timeouts(&network);
    let mut nodes: Vec<Node> = (1..=4).map(|number| start(&network, number)).collect();
    pay(&nodes[0], &[&nodes[1], &nodes[2], &nodes[3]]);
    let fifth = new_validator(&network, 5);
    let first = members(&network);
    let five = with_validators(&network, "five.json", &[&first[..], &[fifth]].concat());

    // One is down while the others agree.
    nodes.pop().unwrap().kill().unwrap();
    let height = bundle(&nodes[0]) + 45;
    for (file, at, expected) in [
        (&five, 1, "height 1 is not from "),
        (&network.join("network.json"), height, "these are the current validators already"),
        (&PathBuf::from("local"), height, "--network local: it has no validators"),
        (&network.join("none.json"), height, "none.json"),
    ] {
        let (code, text) = rotate(&nodes[0], file, at, &[]);
        assert!(matches!(code, Some(1 | 2)) && text.contains(expected), "{code:?}: {text}");
    }
    let out = network.join("validator-5/changes");
    let out_arg = out.to_str().unwrap();
    let (code, text) = rotate(&nodes[0], &five, height, &["--out", out_arg]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("approved by 1 of 4 validators, 2 more are needed"), "{text}");
    assert!(text.contains("the change is not agreed yet") && !out.exists(), "{text}");
    until("the second knows of it", || {
        (!status(&nodes[1])["validatorChange"].is_null()).then_some(())
    });
    let (code, text) = rotate(&nodes[1], &five, height, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("4 validators now, 5 after the change\n+ "), "{text}");
    assert!(text.contains("approved by 2 of 4 validators, 1 more are needed"), "{text}");
    let url = format!("http://{}", nodes[1].address());
    let (_, text) = esker(&["status", "--url", &url], &[]);
    let line =
        format!("change     5 validators from bundle {height} on, approved by 2, 3 are needed\n");
    assert!(text.contains(&line), "{text}");
    let (code, text) = rotate(&nodes[2], &five, height, &["--out", out_arg]);
    assert_eq!(code, Some(0), "{text}");
    let agreed = format!("agreed: the new validators decide from bundle {height} on\n");
    assert!(text.contains(&agreed), "{text}");
    until("the first knows that it is agreed", || {
        status(&nodes[0])["validatorChange"]["approvals"].is_null().then_some(())
    });
    let (code, text) = rotate(&nodes[0], &five, height, &["--out", out_arg]);
    assert!(code == Some(0) && text.contains(&agreed), "again: {text}");

    // The fifth follows until the bundle; a killed one and the one that was down are back only near it.
    let fifth_node = start(&network, 5);
    advance(&[&nodes[0], &nodes[1], &nodes[2]], height - 3);
    assert_eq!(health(&fifth_node).1["votes"], false);
    nodes.pop().unwrap().kill().unwrap();
    let third = start(&network, 3);
    advance(&[&nodes[0], &nodes[1], &third, &fifth_node], height + 3);
    let fourth = start(&network, 4);
    advance(&[&fourth, &nodes[0], &nodes[1], &third, &fifth_node], height + 6);
    nodes.push(third);
    nodes.push(fourth);
    nodes.push(fifth_node);
    for node in &nodes {
        wait_epoch(node, 5, true);
    }

    // Anybody gets the changes, which are signed.
    let reply =
        nodes[3].rpc().http().request("GET", "/ext/sync/validator-changes", &[], b"").unwrap();
    assert_eq!(reply.body.to_vec(), std::fs::read(&out).unwrap());

    // Without the first, and with another key for the fifth.
    let sixth = new_validator(&network, 6);
    let four = with_validators(&network, "four.json", &[&first[1..], &[sixth]].concat());
    let second = bundle(&nodes[0]) + 45;
    let out = network.join("validator-6/changes");
    let text = agree(&nodes[..4], &four, second, &out);
    assert!(text.starts_with("5 validators now, 4 after the change\n+ "), "{text}");
    let sixth_node = start(&network, 6);
    let all: Vec<&Node> = nodes.iter().chain([&sixth_node]).collect();
    advance(&all, second + 3);
    for node in &all[1..4] {
        wait_epoch(node, 4, true);
    }
    wait_epoch(&sixth_node, 4, true);
    for left in [&nodes[0], &nodes[4]] {
        wait_epoch(left, 4, false);
        assert_eq!(status(left)["role"], "follower");
        assert_eq!(value(&metrics(left), "esker_validator_quorum"), 0);
        until("it is healthy as a follower", || health(left).0.is_none().then_some(()));
    }
    // The counters are those of the new validators.
    let shown = metrics(&sixth_node);
    let series = shown.matches("\nesker_validator_votes_by_validator_total{").count();
    assert_eq!((value(&shown, "esker_validator_quorum"), series), (3, 4));
    // Three of the new four decide; those that left follow.
    let left = nodes.remove(0);
    nodes.remove(1).kill().unwrap();
    pay(&sixth_node, &[&nodes[0], &nodes[1], &left]);
    let all: Vec<&Node> = nodes.iter().chain([&sixth_node, &left]).collect();
    assert_same_blocks(&all);
    // The one that left is refused nothing, and it decides nothing.
    let (code, text) = rotate(&left, &five, second + 100, &[]);
    assert!(
        code == Some(1) && text.contains("this node is not one of the current validators"),
        "{text}"
    );
    nodes.push(sixth_node);
    nodes.push(left);
    for node in nodes {
        assert!(node.stop().unwrap().success());
    }
    for number in [1, 2, 4, 5, 6] {
        let data = network.join(format!("validator-{number}/data"));
        let (code, text) = esker(
            &[
                "db",
                "verify",
                "--network",
                network.join("network.json").to_str().unwrap(),
                "--data-dir",
            ],
            &[&data],
        );
        assert_eq!(code, Some(0), "validator {number}: {text}");
    }
}

/// A backup that is restored beside the journal of the votes since.
#[test]
fn a_restored_backup_keeps_the_votes_that_were_given_since() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network(&network, 4);
    shorten_timeouts(&network);
    let nodes: Vec<Node> = (1..=3).map(|number| start(&network, number)).collect();
    let fourth = start(&network, 4);
    let all = [&nodes[0], &nodes[1], &nodes[2], &fourth];
    pay(&nodes[0], &all[1..]);
    fourth.stop().unwrap();
    let backup = folder.path().join("backup");
    let (code, text) = run(&network, 4, &["backup", backup.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{text}");
    let fourth = start(&network, 4);
    let before = bundle(&fourth);
    advance(&[&fourth, &nodes[0], &nodes[1], &nodes[2]], before + 4);
    fourth.stop().unwrap();

    let data = network.join("validator-4/data");
    std::fs::rename(data.join("consensus"), backup.join("consensus")).unwrap();
    std::fs::remove_dir_all(&data).unwrap();
    std::fs::rename(&backup, &data).unwrap();
    let fourth = start(&network, 4);
    advance(&[&nodes[0], &fourth], before + 6);
    assert_eq!(health(&fourth).1["votes"], true, "its votes were kept");
    let output = fourth.output();
    assert!(
        output.contains("the votes are kept; missing bundles are fetched from the peers"),
        "{output}"
    );
    pay(&fourth, &[&nodes[0], &nodes[1], &nodes[2]]);
    assert_same_blocks(&[&nodes[0], &fourth]);
    for node in nodes.into_iter().chain([fourth]) {
        assert!(node.stop().unwrap().success());
    }
}
