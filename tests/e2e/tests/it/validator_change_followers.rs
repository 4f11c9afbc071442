//! Followers of validators that change.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use esker_e2e::{Node, until};
use serde_json::json;

use crate::followers::support::{assert_same_blocks, follower_health, wait_for};
use crate::support::{PROGRAM, json_lines};
use crate::validator_followers::{follower, join_says, peer, verify};
use crate::validator_net::wait_for_peers;
use crate::validator_rotation::{
    advance, agree, bundle, members, new_validator, rotate, start, wait_epoch, with_validators,
};
use crate::validators::{health, new_network, new_network_with, pay, shorten_timeouts, status};

const CHANGES: &str = "/ext/sync/validator-changes";

/// The changes that a node serves.
fn changes(node: &Node, query: &str) -> String {
    let reply = node.rpc().http().request("GET", &format!("{CHANGES}{query}"), &[], b"").unwrap();
    assert_eq!(reply.status, 200);
    String::from_utf8(reply.body.to_vec()).unwrap()
}

/// The answer of a false source to a request for changes.
#[derive(Clone, Debug)]
enum Answer {
    Body(String),
    Endless,
    Nothing,
}

/// An honest node, but for its changes of the validators.
fn false_source(honest: SocketAddr, answer: Answer) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // It ends with the process of the test.
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || serve(client, honest, &answer));
        }
    });
    url
}

fn serve(mut client: TcpStream, honest: SocketAddr, answer: &Answer) -> io::Result<()> {
    let mut head = vec![0; 4096];
    let read = client.read(&mut head)?;
    head.truncate(read);
    if !head.starts_with(format!("GET {CHANGES}").as_bytes()) {
        let mut node = TcpStream::connect(honest)?;
        node.write_all(&head)?;
        let (mut from, mut to) = (client.try_clone()?, node.try_clone()?);
        thread::spawn(move || io::copy(&mut from, &mut to));
        io::copy(&mut node, &mut client)?;
        return client.shutdown(std::net::Shutdown::Both);
    }
    match answer {
        Answer::Nothing => io::copy(&mut client, &mut io::sink()).map(|_| ()),
        Answer::Body(text) => {
            client.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
            client.write_all(text.as_bytes())
        }
        Answer::Endless => {
            client.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n0x")?;
            loop {
                client.write_all(&[b'0'; 1 << 16])?;
            }
        }
    }
}

/// The change of a line with its length, and its signatures.
fn parts(line: &str) -> (Vec<u8>, Vec<u8>) {
    let mut change: Vec<u8> = (2..line.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&line[at..at + 2], 16).unwrap())
        .collect();
    let len = u32::from_be_bytes(change[..4].try_into().unwrap()) as usize + 4;
    let signatures = change.split_off(len);
    (change, signatures)
}

/// The signed change of a line, with other signatures.
fn with_signatures(line: &str, change: impl Fn(&mut Vec<u8>)) -> String {
    let (agreed, mut signatures) = parts(line);
    change(&mut signatures);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("0x{}{}\n", hex(&agreed), hex(&signatures))
}

/// The changes that a node serves, without their signatures: nodes may know those of different quorums.
fn agreed(node: &Node) -> Vec<Vec<u8>> {
    changes(node, "").lines().map(|line| parts(line).0).collect()
}

/// A network of one validator, after two changes to another one: the first one follows them.
struct Changed {
    network: PathBuf,
    heights: [u64; 2],
    nodes: Vec<Node>,
    /// It has followed the first one all the time.
    near: Node,
}

fn changed(folder: &Path) -> Changed {
    let network = folder.join("net");
    new_network(&network, 1);
    shorten_timeouts(&network);
    let mut nodes = vec![start(&network, 1)];
    let near = follower(&network, &folder.join("near"), &nodes[0].url()).start().unwrap();
    pay(&nodes[0], &[&near]);
    assert_eq!(changes(&near, ""), "");
    let mut heights = [0; 2];
    for (number, height) in [2, 3].into_iter().zip(&mut heights) {
        let member = new_validator(&network, number);
        let file = with_validators(&network, &format!("{number}.json"), &[member]);
        *height = bundle(nodes.last().unwrap()) + 40;
        let out = network.join(format!("validator-{number}/changes"));
        let out = ["--out", out.to_str().unwrap()];
        let (code, text) = rotate(nodes.last().unwrap(), &file, *height, &out);
        assert_eq!(code, Some(0), "{text}");
        nodes.push(start(&network, number));
        let all: Vec<&Node> = nodes.iter().chain([&near]).collect();
        advance(&all, *height + 3);
    }
    Changed { network, heights, nodes, near }
}

/// A node that lies about the changes of the validators.
struct FalseSource {
    url: String,
    /// The follower's report about it.
    expected: String,
    is_fault: bool,
}

impl FalseSource {
    /// A follower of this node alone comes to the bundle `last` and says why it goes no further.
    fn is_refused(&self, network: &Path, data: &Path, last: u64) {
        let Self { url, expected, .. } = self;
        let alone = follower(network, data, url).args(&["--follow-max-lag", "1s"]);
        let node = alone.start().unwrap();
        until(&format!("the health check says {expected:?}"), || {
            follower_health(&node).1.filter(|error| error.contains(expected))
        });
        assert_eq!(status(&node)["bundle"], last, "{expected}");
        assert!(node.stop().unwrap().success());
    }

    /// A follower of this node and an honest one follows the honest one, and logs why it left this one.
    fn gives_way_to(&self, honest: &Node, network: &Path, (data, logs): (&Path, &Path)) {
        let Self { url, expected, is_fault } = self;
        let both = format!("{url},{}", honest.url());
        let node = follower(network, data, &both).args(&["--log-format", "json"]);
        let node = node.arg("--log-dir").arg(logs).start().unwrap();
        wait_for(&node, honest);
        assert_same_blocks(honest, &node);
        assert!(node.stop().unwrap().success());
        let lines = json_lines(&logs.join("main.log"));
        let of_source = lines.iter().filter(|line| line["source"] == *url);
        let named: Vec<_> = of_source.filter(|line| !line["error"].is_null()).collect();
        assert_eq!(named.len(), 1, "{named:?}");
        assert_eq!(named[0]["level"], if *is_fault { "ERROR" } else { "WARN" });
        assert!(named[0]["error"].as_str().unwrap().contains(expected), "{named:?}");
    }
}

#[test]
fn followers_check_each_change_and_refuse_false_ones() {
    let folder = tempfile::tempdir().unwrap();
    let Changed { network, heights, nodes, near } = changed(folder.path());
    let honest = &nodes[2];
    let all = changes(honest, "");
    let (first, second) = all.split_at(all.find('\n').unwrap() + 1);
    assert_eq!(second.lines().count(), 1);
    assert_eq!(changes(&near, ""), all, "what a follower has learned it serves");
    assert_eq!((changes(&near, "?from=2"), changes(&near, "?from=3")), (second.into(), "".into()));
    let reply = near.rpc().http().request("GET", &format!("{CHANGES}?from=-1"), &[], b"").unwrap();
    assert_eq!(reply.status, 400);
    let source = |answer: Answer| false_source(honest.address(), answer);
    let body = |text: &str| Answer::Body(text.to_owned());

    // The changes are in its folder: it goes on when its source has none.
    near.kill().unwrap();
    let data = folder.path().join("near");
    let near = follower(&network, &data, &source(body(""))).start().unwrap();
    pay(honest, &[&near]);
    assert_eq!(changes(&near, ""), all);

    let none = with_signatures(first.trim(), |signatures| *signatures = vec![0, 0]);
    let wrong = with_signatures(first.trim(), |signatures| *signatures.last_mut().unwrap() ^= 1);
    let stranger = with_signatures(second.trim(), Vec::clear);
    let of_second = with_signatures(second.trim(), |_| {});
    assert_eq!(of_second, second);
    let refused = "its changes of the validators are refused";
    // A source has no certificate of its own for each bundle, so it may be a later one than the first of the epoch.
    let unknown = "has a certificate of epoch 1, but the validators are known up to epoch 0 only";
    let cases = [
        (body(""), unknown.to_owned(), true),
        (body(&none), format!("{refused}: 0 of the current validators have signed"), true),
        (body(&wrong), format!("{refused}: the signature of "), true),
        (body(second), format!("{refused}: the change begins epoch 2, but epoch 1"), true),
        (body(&(second.to_owned() + first)), format!("{refused}: the change begins epoch 2"), true),
        (body(&(first.to_owned() + &none + "0x00\n")), format!("{refused}: not a change"), true),
        (body(&stranger), format!("{refused}: not a change of the validators: cut off"), true),
        (body("<html>\n"), format!("{refused}: line 1: missing 0x prefix"), true),
        (Answer::Endless, format!("{refused}: more than 8388608 bytes"), true),
        (Answer::Nothing, "did not arrive within 3 s".to_owned(), false),
    ];
    let sources = cases.map(|(answer, expected, is_fault)| FalseSource {
        url: source(answer),
        expected,
        is_fault,
    });
    thread::scope(|scope| {
        for (number, source) in sources.iter().enumerate() {
            let (network, folder) = (&network, folder.path());
            let last = if number == 0 { heights[0] - 1 } else { 0 };
            scope.spawn(move || {
                let data = folder.join(format!("false-{number}"));
                let logs = folder.join(format!("logs-{number}"));
                source.is_refused(network, &data, last);
                source.gives_way_to(honest, network, (&data, &logs));
            });
        }
    });

    // A snapshot beyond both changes, with the first network file.
    for (number, FalseSource { url, expected, .. }) in sources.iter().enumerate().take(3) {
        let data = folder.path().join(format!("join-{number}"));
        let node = follower(&network, &data, url).arg("--snapshot").spawn().unwrap();
        let text = match number {
            0 => "has a certificate of epoch 2, but the validators are known up to epoch 0 only",
            _ => expected,
        };
        join_says(&node, &[text]);
        node.kill().unwrap();
        let both = format!("{url},{}", near.url());
        let node = follower(&network, &data, &both).arg("--snapshot").start().unwrap();
        assert!(node.output().contains("joined from a snapshot"), "{}", node.output());
        assert_eq!(changes(&node, ""), all);
        pay(&node, &[honest]);
        // A follower of a follower of a follower.
        let far_data = folder.path().join(format!("far-{number}"));
        let far = follower(&network, &far_data, &node.url()).arg("--snapshot").start().unwrap();
        pay(honest, &[&far]);
        assert_eq!(changes(&far, ""), all);
        assert!(far.stop().unwrap().success());
        assert!(node.stop().unwrap().success());
        verify(&network, &data);
    }

    // Another network file than the one that the folder was made with.
    assert!(near.stop().unwrap().success());
    let output = Command::new(PROGRAM)
        .args(["node", "--http-port", "0", "--follow", &honest.url(), "--network"])
        .arg(network.join("2.json"))
        .arg("--data-dir")
        .arg(&data)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    let expected = "the folder's changes of the validators are not those of this network file: ";
    assert!(text.contains(expected), "{text}");
    verify(&network, &data);
}

#[test]
fn followers_of_both_kinds_go_on_when_the_validators_change() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network_with(&network, (4, 2));
    shorten_timeouts(&network);
    let mut nodes: Vec<Node> = (1..=4).map(|number| start(&network, number)).collect();
    let peer_of = |number: usize| {
        let data = network.join(format!("follower-{number}/data"));
        peer(&network, &data, number).arg("--api-sync-enabled").start().unwrap()
    };
    let data = |name: &str| folder.path().join(name);
    let (near, absent) = (peer_of(1), peer_of(2));
    let far = follower(&network, &data("far"), &near.url()).start().unwrap();
    let old = follower(&network, &data("old"), &nodes[1].url()).start().unwrap();
    pay(&nodes[0], &[&near, &absent, &far, &old]);
    absent.kill().unwrap();
    old.kill().unwrap();

    // From four to five, then another key for the first; the others know only the second to the fourth.
    let mut set = members(&network);
    for number in [5, 6] {
        let member = new_validator(&network, number);
        match number {
            5 => set.push(member),
            _ => set[0] = member,
        }
        let file = with_validators(&network, &format!("{number}.json"), &set);
        let height = bundle(&nodes[0]) + 45;
        agree(&nodes, &file, height, &network.join(format!("validator-{number}/changes")));
        nodes.push(start(&network, number));
        let all: Vec<&Node> = nodes.iter().chain([&near, &far]).collect();
        advance(&all, height + 3);
        wait_epoch(nodes.last().unwrap(), 5, true);
    }
    wait_epoch(&near, 5, false);
    let (error, message) = until("the follower is connected to all", || {
        let (error, message) = health(&near);
        (message["validators"] == 5 && message["connectedPeers"] == 5).then_some((error, message))
    });
    assert_eq!((error, &message["votes"]), (None, &json!(false)));
    assert_eq!(status(&near)["role"], "follower");
    let left = nodes.remove(0);
    left.kill().unwrap();

    // Those that were down for both changes.
    let absent = peer_of(2);
    let old = follower(&network, &data("old"), &nodes[1].url()).start().unwrap();
    for _ in 0..3 {
        pay(&near, &[&absent, &far, &old]);
        pay(&far, &[&absent, &nodes[4], &old]);
    }
    wait_for_peers(&absent, 5);
    // It has the last payment.
    for node in nodes.iter().chain([&near, &absent, &old]) {
        wait_for(node, &far);
    }
    let all = agreed(&nodes[0]);
    assert_eq!(all.len(), 2);
    for node in [&near, &absent, &far, &old] {
        assert_eq!(agreed(node), all);
        assert_same_blocks(&nodes[0], node);
    }
    for node in [near, absent, far, old].into_iter().chain(nodes) {
        assert!(node.stop().unwrap().success());
    }
    for data in ["far", "old", "net/follower-1/data", "net/follower-2/data"] {
        verify(&network, &folder.path().join(data));
    }
}
