//! Followers of validators: they check certificates, and trust no source.

use std::path::Path;
use std::process::Command;
use std::thread;

use bytes::Bytes;
use esker_client::RpcClient;
use esker_e2e::{Node, NodeBuilder, StartingNode, until};
use esker_follow::Record;
use serde_json::{Value, json};

use crate::followers::lies::{Liar, honest_records, record};
use crate::followers::support::{assert_same_blocks, follower_health, heights, wait_for};
use crate::support::{PROGRAM, json_lines, local};
use crate::validator_net::wait_for_peers;
use crate::validators::{
    builder, free_ports, health, metrics, new_network, new_network_with, pay, start, status, value,
};

/// A follower of a network of validators.
pub(crate) fn follower(network: &Path, folder: &Path, sources: &str) -> NodeBuilder {
    NodeBuilder::new(PROGRAM).network(network.join("network.json")).data_dir(folder).args(&[
        "--follow",
        sources,
        "--api-sync-enabled",
        "--follow-idle-timeout",
        "3s",
    ])
}

/// The content of a network's file.
fn network_file(network: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(network.join("network.json")).unwrap()).unwrap()
}

/// `esker db verify` finds nothing in the folder of a follower.
pub(crate) fn verify(network: &Path, folder: &Path) {
    let mut command = Command::new(PROGRAM);
    command.args(["db", "verify", "--network"]).arg(network.join("network.json"));
    let output = command.arg("--data-dir").arg(folder).output().unwrap();
    let reported = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && reported.ends_with("\nnothing is wrong\n"), "{reported}");
}

#[test]
fn followers_of_validators_go_on_when_one_is_killed_and_pass_certificates_on() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network(&network, 4);
    let serving = |number| builder(&network, number).arg("--api-sync-enabled").start().unwrap();
    let (first, second) = (serving(1), serving(2));
    let others = [start(&network, 3), start(&network, 4)];
    let sources = format!("{},{}", first.url(), second.url());
    let folders = ["f1", "f2", "f3"].map(|name| folder.path().join(name));
    let near = follower(&network, &folders[0], &sources).start().unwrap();
    let far = follower(&network, &folders[1], &near.url()).start().unwrap();
    // Sent to the last, decided by the first.
    for _ in 0..4 {
        pay(&far, &[&near, &second, &others[0]]);
    }
    let (_, bundles) = honest_records(&near);
    assert!(bundles.iter().any(|(_, proof)| proof.is_some()), "certificates are passed on");

    // A new one begins with the state.
    let joined = follower(&network, &folders[2], &near.url()).arg("--snapshot").start().unwrap();
    assert!(joined.output().contains("joined from a snapshot"), "{}", joined.output());
    wait_for(&joined, &near);

    // Without its first source a follower goes on with the second; restarted, where it was.
    first.kill().unwrap();
    pay(&second, &[&near, &far, &joined]);
    assert!(near.stop().unwrap().success());
    pay(&second, &[&others[1]]);
    let near = follower(&network, &folders[0], &sources).start().unwrap();
    wait_for(&near, &second);
    let report = status(&near);
    assert_eq!(report["role"], "follower");
    assert_same_blocks(&second, &near);
    for node in [near, far, joined] {
        assert!(node.stop().unwrap().success());
    }
    folders.iter().for_each(|folder| verify(&network, folder));
}

/// The only validator of a new network, which has the chains of the local network.
fn alone(network: &Path) -> Node {
    new_network(network, 1);
    builder(network, 1).arg("--api-sync-enabled").start().unwrap()
}

/// Waits until the health of a node that joins from a snapshot says all of this.
pub(crate) fn join_says(node: &StartingNode, texts: &[&str]) {
    let address = until("the node answers while it joins", || {
        let output = node.output();
        let (_, rest) = output.split_once("answering while joining")?;
        rest.split_once("http=")?.1.split_whitespace().next()?.parse().ok()
    });
    until(&format!("the health report says {texts:?}"), || {
        let report: Value =
            RpcClient::new(address).call("/ext/health", "health.health", json!({})).unwrap();
        let report = report.to_string();
        texts.iter().all(|text| report.contains(text)).then_some(())
    });
}

#[test]
fn nothing_without_a_quorum_of_the_network_becomes_final() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    let honest = alone(&network);
    // The same chains, decided by another validator, and by a node alone.
    let other = alone(&folder.path().join("other"));
    let mut file = network_file(&network);
    file["esker"].as_object_mut().unwrap().remove("validators");
    let without_validators = folder.path().join("solo.json");
    std::fs::write(&without_validators, file.to_string()).unwrap();
    let solo = local().network(without_validators).arg("--api-sync-enabled").start().unwrap();
    for node in [&honest, &other, &solo] {
        (0..4).for_each(|_| pay(node, &[]));
    }
    let (hello, bundles) = honest_records(&honest);
    let greeting = Record::Hello(hello);
    let with_proof = |number: usize, proof: Option<Bytes>| Record::Bundle {
        bundle: bundles[number].0.clone(),
        proof,
    };
    let proof = |number: usize| bundles[number].1.clone().unwrap();
    let mut false_vote = proof(0).to_vec();
    *false_vote.last_mut().unwrap() ^= 1;
    // The next millisecond: a bundle that nobody has voted for.
    let altered = |number: usize, proof: Option<Bytes>| {
        let mut bundle = bundles[number].0.clone();
        bundle.timestamp_ms += 1;
        Record::Bundle { bundle, proof }
    };
    let garbage = Some(Bytes::from_static(b"garbage"));
    let liar =
        |records: Vec<Record>| Liar::with_records(&[vec![greeting.clone()], records].concat());
    let not_of_this = "a certificate whose votes are not those of this network's validators";
    let (first, second) = (bundles[0].0.id(), bundles[1].0.id());
    let liars = [
        (liar(vec![with_proof(0, Some(false_vote.into()))]), format!("bundle 1 has {not_of_this}")),
        (
            liar(vec![with_proof(0, Some(proof(1)))]),
            format!("bundle 1 has a certificate of bundle {second}, which is another one"),
        ),
        (liar(vec![with_proof(0, garbage)]), "bundle 1 has bytes that are no certificate".into()),
        (
            liar(vec![altered(0, Some(proof(0)))]),
            format!("bundle 1 has a certificate of bundle {first}, which is another one"),
        ),
        (
            liar(vec![with_proof(0, None), altered(1, None), record(&bundles[2])]),
            "bundle 3 does not follow bundle 2".to_owned(),
        ),
    ];
    let sources =
        liars.iter().map(|(liar, text)| (format!("http://{}", liar.address), text.clone()));
    let sources: Vec<_> =
        sources.chain([(other.url(), format!("bundle 1 has {not_of_this}"))]).collect();
    thread::scope(|scope| {
        for (number, (url, text)) in sources.iter().enumerate() {
            let (network, folder, honest) = (&network, folder.path(), &honest);
            scope.spawn(move || {
                let data = folder.join(format!("alone-{number}"));
                let node = follower(network, &data, url).start().unwrap();
                until(&format!("the health check says {text:?}"), || {
                    follower_health(&node).1.filter(|error| error.contains(text))
                });
                assert_eq!(heights(&node), (0, 0), "{text}");
                assert_eq!(status(&node)["bundle"], 0, "{text}");
                assert!(node.stop().unwrap().success());
                // With an honest one beside it, the log names the liar.
                let logs = folder.join(format!("logs-{number}"));
                let both = format!("{url},{}", honest.url());
                let node = follower(network, &data, &both).args(&["--log-format", "json"]);
                let node = node.arg("--log-dir").arg(&logs).start().unwrap();
                wait_for(&node, honest);
                assert_same_blocks(honest, &node);
                until("the follower is healthy", || {
                    follower_health(&node).1.is_none().then_some(())
                });
                assert!(node.stop().unwrap().success());
                let lines = json_lines(&logs.join("main.log"));
                let of_liar = lines.iter().filter(|line| line["source"] == *url);
                let refused: Vec<_> = of_liar.filter(|line| line["level"] == "ERROR").collect();
                assert_eq!(refused.len(), 1, "{refused:?}");
                assert_eq!(refused[0]["message"], "the source can't be followed");
                let error = refused[0]["error"].as_str().unwrap();
                assert!(error.contains(text), "{error}");
            });
        }
    });

    // A source without certificates gives nothing to execute.
    let data = folder.path().join("uncertified");
    let node = follower(&network, &data, &solo.url()).start().unwrap();
    until("what waits is known", || {
        (status(&node)["following"]["lagBundles"].as_u64()? >= 4).then_some(())
    });
    assert_eq!((heights(&node), &status(&node)["bundle"]), ((0, 0), &json!(0)));
    assert!(node.stop().unwrap().success());

    // The state of a bundle that the network has not decided is refused, whatever it commits to.
    for (number, (source, text)) in
        [(&other, not_of_this), (&solo, "no certificate")].iter().enumerate()
    {
        let data = folder.path().join(format!("join-{number}"));
        let node = follower(&network, &data, &source.url()).arg("--snapshot").spawn().unwrap();
        join_says(&node, &["its snapshot is wrong: its bundle ", &format!(" has {text}")]);
        node.kill().unwrap();
        let both = format!("{},{}", source.url(), honest.url());
        let node = follower(&network, &data, &both).arg("--snapshot").start().unwrap();
        assert!(node.output().contains("joined from a snapshot"), "{}", node.output());
        wait_for(&node, &honest);
        // Its own transactions go to the source that it follows.
        pay(&node, &[&honest]);
        assert!(node.stop().unwrap().success());
        verify(&network, &data);
    }
}

/// A follower among the peers of the network's validators.
pub(crate) fn peer(network: &Path, data: &Path, number: usize) -> NodeBuilder {
    NodeBuilder::new(PROGRAM)
        .network(network.join("network.json"))
        .data_dir(data)
        .arg("--peer-key")
        .arg(network.join(format!("follower-{number}/key")))
}

#[test]
fn a_follower_among_the_peers_passes_transactions_on_and_serves_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network_with(&network, (4, 1));
    let mut nodes: Vec<Node> = (1..=4).map(|number| start(&network, number)).collect();
    nodes.iter().for_each(|node| wait_for_peers(node, 3));
    let data = network.join("follower-1/data");
    let near = peer(&network, &data, 1).arg("--api-sync-enabled").start().unwrap();
    wait_for_peers(&near, 4);
    assert_eq!(status(&near)["role"], "follower");
    assert_eq!(value(&metrics(&near), "esker_validator_quorum"), 0);
    until("a validator counts it", || (status(&nodes[0])["followers"] == 1).then_some(()));
    assert_eq!(status(&nodes[0])["peers"], 3, "it is none of those that decide");
    let far_data = folder.path().join("far");
    let far = follower(&network, &far_data, &near.url()).start().unwrap();
    for _ in 0..4 {
        pay(&near, &[&nodes[0], &nodes[1], &nodes[3], &far]);
    }
    pay(&nodes[1], &[&near, &far]);
    pay(&far, &[&near, &nodes[0], &nodes[2]]);
    let (_, bundles) = honest_records(&near);
    assert!(bundles.iter().any(|(_, proof)| proof.is_some()), "it has certificates");

    // Killed, and without a validator.
    near.kill().unwrap();
    nodes.pop().unwrap().kill().unwrap();
    pay(&nodes[0], &[&nodes[1], &nodes[2]]);
    let near = peer(&network, &data, 1).arg("--api-sync-enabled").start().unwrap();
    wait_for(&near, &nodes[0]);
    pay(&near, &[&nodes[0], &nodes[2]]);
    assert_same_blocks(&nodes[0], &near);
    let (error, message) = until("it is connected again", || {
        let (error, message) = health(&near);
        (message["connectedPeers"] == 3).then_some((error, message))
    });
    assert_eq!((error, &message["votes"]), (None, &json!(false)));
    for node in nodes {
        assert!(node.stop().unwrap().success());
    }
    let error = until("it misses the validators", || health(&near).0);
    assert_eq!(error, "no validator is connected");
    assert!(near.stop().unwrap().success());
    assert!(far.stop().unwrap().success());
    verify(&network, &data);
    verify(&network, &far_data);
}

#[test]
fn a_peer_that_the_network_does_not_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network_with(&network, (1, 1));
    let validator = start(&network, 1);
    // A network file of its own, that names another key.
    let strange = folder.path().join("strange");
    new_network_with(&strange, (1, 1));
    let mut file = network_file(&network);
    file["esker"]["followers"] = network_file(&strange)["esker"]["followers"].clone();
    std::fs::write(strange.join("network.json"), file.to_string()).unwrap();
    let stranger = peer(&strange, &folder.path().join("stranger"), 1).start().unwrap();
    let named = peer(&network, &folder.path().join("named"), 1).start().unwrap();
    pay(&named, &[&validator]);
    until("it is connected", || (status(&named)["peers"] == 1).then_some(()));
    assert_eq!(status(&stranger)["peers"], 0);
    assert_eq!(heights(&stranger), (0, 0));
    assert_eq!(health(&stranger).0.as_deref(), Some("no validator is connected"));

    let run = |key: &Path, args: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["node", "--http-port", "0", "--network"]).arg(network.join("network.json"));
        command.arg("--data-dir").arg(folder.path().join("refused"));
        let output = command.arg("--peer-key").arg(key).args(args).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (key, other) = (network.join("follower-1/key"), strange.join("validator-1/key"));
    let of_validator = network.join("validator-1/key");
    let in_use = "another process uses this key";
    for (key, args, code, expected) in [
        (&other, &[][..], 2, "is not the key of a follower of this network"),
        (&of_validator, &[], 1, in_use),
        (&key, &[], 1, in_use),
        (&key, &["--follow", "http://127.0.0.1:1"], 2, "peer-key: not with follow: "),
        (
            &key,
            &["--validator-key", of_validator.to_str().unwrap()],
            2,
            "peer-key: not with validator-key: a node is a validator or a follower",
        ),
    ] {
        let (ended, text) = run(key, args);
        assert_eq!(ended, Some(code), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
    }
}

#[test]
fn validators_reach_each_other_by_the_given_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    let base = free_ports(5);
    let mut command = Command::new(PROGRAM);
    command.args(["network", "new", "--validators", "4", "--followers", "1"]);
    command.args(["--base-port", &base.to_string()]);
    for port in base + 1..base + 5 {
        command.arg("--address").arg(format!("localhost:{port}"));
    }
    let output = command.arg("--out").arg(&network).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let nodes: Vec<Node> = (1..=4).map(|number| start(&network, number)).collect();
    let follower = peer(&network, &network.join("follower-1/data"), 1).start().unwrap();
    wait_for_peers(&follower, 4);
    pay(&follower, &nodes.iter().collect::<Vec<_>>());
    for node in nodes.into_iter().chain([follower]) {
        assert!(node.stop().unwrap().success());
    }
}
