//! A follower of a new development network: without a source that says when the network began it has no chains, and waits.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use esker_client::RpcClient;
use esker_e2e::{Proxy, StartingNode, until};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use super::support::{assert_same, call, follower, wait_for, writer};
use crate::support::{esker, liar};

/// Where a follower answers that has no chains yet.
fn address(node: &StartingNode) -> SocketAddr {
    until("the node answers while it waits", || {
        let output = node.output();
        let (_, rest) = output.split_once("answering while waiting")?;
        rest.split_once("http=")?.1.split_whitespace().next()?.parse().ok()
    })
}

/// Waits until the health check says all of this.
fn says(node: &StartingNode, texts: &[&str]) {
    let address = address(node);
    until(&format!("the health check says {texts:?}"), || {
        let report: Value =
            RpcClient::new(address).call("/ext/health", "health.health", json!({})).unwrap();
        let error = report["checks"]["follower"]["error"].as_str()?;
        texts.iter().all(|text| error.contains(text)).then_some(())
    });
}

/// A port of this machine where nobody listens, for as long as the socket is there.
fn nobody() -> (Socket, String) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap().as_socket().unwrap());
    (socket, url)
}

#[test]
fn a_follower_waits_for_a_source_that_says_it() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["writer", "follower"].map(|name| folder.path().join(name));
    let (_socket, down) = nobody();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = liar(br#"{"networkID":1,"start":1700000000}"#);
    let (nonsense, list) = (liar(b"<html>hello</html>"), liar(b"[]"));
    let (early, late) = (
        liar(br#"{"networkID":12345,"start":0}"#),
        liar(br#"{"networkID":12345,"start":18446744073709551615}"#),
    );
    let (_gone, target) = nobody();
    let proxy = Proxy::start(target.trim_start_matches("http://").parse().unwrap()).unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    let last = proxy.url();
    let sources =
        [&down, &other, &nonsense, &list, &early, &late, &silent_url, &last].map(String::as_str);
    let node = follower(&second, &sources.join(",")).spawn().unwrap();
    says(
        &node,
        &[
            &format!("{down}: "),
            &format!("{other}: it is of network 1, this node of 12345"),
            &format!("{nonsense}: "),
            &format!("{list}: "),
            &format!("{early}: no network begins at 0"),
            &format!("{late}: no network begins at 18446744073709551615"),
            &format!("{silent_url}: "),
            "no beginning: ",
            "Connection refused",
        ],
    );
    let (code, text) = esker(&["status", "--url", &format!("http://{}", address(&node))], &[]);
    assert_eq!(code, Some(1), "{text}");
    for part in ["waiting    for a source that says when the network began", &*down, &*silent_url] {
        assert!(text.contains(part), "{text}");
    }
    // Each reason is in the log once, however often the sources are asked.
    silent.set_nonblocking(true).unwrap();
    let mut rounds = Vec::new();
    until("the sources are asked again", || {
        rounds.extend(silent.accept());
        (rounds.len() == 2).then_some(())
    });
    // The log of failed health checks repeats it.
    let reason = "error=\"no network begins at 0\"";
    assert_eq!(node.output().matches(reason).count(), 1, "{}", node.output());
    // A source that comes later ends it.
    let source = writer(&first).start().unwrap();
    proxy.set_target(source.address());
    let node = node.wait().unwrap();
    wait_for(&node, &source);
    assert_same(&source, &node);
    let genesis = |node| call(node, "evm_getBlockByNumber", &json!(["0x0", false]));
    assert_eq!(genesis(&node), genesis(&source));
    assert!(node.stop().unwrap().success());
}

#[test]
fn timed_a_follower_that_waits_stops_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let node = follower(folder.path(), &url).spawn().unwrap();
    // It has asked, and waits for 5 s for the answer.
    let _connection = silent.accept().unwrap();
    let begun = Instant::now();
    assert!(node.stop().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    // Nothing is on record: the next start asks again.
    let source = writer(&folder.path().join("writer")).start().unwrap();
    let node = follower(folder.path(), &source.url()).start().unwrap();
    wait_for(&node, &source);
    assert!(node.stop().unwrap().success());
}
