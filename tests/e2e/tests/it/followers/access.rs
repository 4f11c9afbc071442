//! Who gets a stream, and settings that followers can't have.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use esker_e2e::until::PATIENCE;
use esker_e2e::{Node, until};
use serde_json::{Value, json};

use super::support::{follower, wait_for, writer};
use crate::support::{PROGRAM, local};

const PATH: &str = "/ext/sync/bundles";
/// Most bytes of a refusal.
const MAX_REFUSAL: u64 = 4096;

/// A connection whose reads have a deadline.
fn connect(node: &Node) -> TcpStream {
    let stream = TcpStream::connect(node.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A connection that has got the status of its answer.
fn ask(node: &Node, path: &str) -> (TcpStream, String) {
    let mut stream = connect(node);
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    (stream, String::from_utf8_lossy(&head[9..]).into_owned())
}

/// Status and body of a request that is refused.
fn refused(node: &Node, method: &str, path: &str) -> String {
    let mut stream = connect(node);
    let request = format!("{method} {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    // A stream that is not refused does not end.
    (&mut stream).take(MAX_REFUSAL).read_to_string(&mut reply).unwrap();
    let status = reply.split_whitespace().nth(1).unwrap();
    let body = reply.split_once("\r\n\r\n").unwrap().1;
    format!("{status} {}", body.trim_end())
}

#[test]
fn a_stream_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let node = writer(folder.path()).args(&["--sync-max-followers", "1"]).start().unwrap();
    for (path, expected) in [
        ("", "400 expected the height of the first bundle: ?from=1"),
        ("?from=", "400 expected the height of the first bundle: ?from=1"),
        ("?from=-1", "400 expected the height of the first bundle: ?from=1"),
        ("?from=1x", "400 expected the height of the first bundle: ?from=1"),
        ("?from=0", "400 a stream begins at height 1 or later: height 0 follows from the network"),
        ("?from=99999999999999999999", "400 expected the height of the first bundle: ?from=1"),
    ] {
        assert_eq!(refused(&node, "GET", &format!("{PATH}{path}")), expected, "{path}");
    }
    let ahead = refused(&node, "GET", &format!("{PATH}?from=18446744073709551615"));
    assert!(ahead.starts_with("409 the last final bundle is "), "{ahead}");
    assert!(refused(&node, "POST", &format!("{PATH}?from=1")).starts_with("405"));

    // One place, which is free again when its follower is gone.
    let (first, status) = ask(&node, &format!("{PATH}?from=1"));
    assert_eq!(status, "200");
    let full = "503 too many followers: 1 connected (sync-max-followers)";
    assert_eq!(refused(&node, "GET", &format!("{PATH}?from=1")), full);
    drop(first);
    until("the place is free", || {
        let (_stream, status) = ask(&node, &format!("{PATH}?from=1"));
        (status == "200").then_some(())
    });
}

#[test]
fn addresses_that_are_not_allowed_and_a_node_without_the_stream() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let closed = writer(folders[0].path()).args(&["--sync-allowed-clients", "10.0.0.0/8"]);
    let closed = closed.start().unwrap();
    let reply = refused(&closed, "GET", &format!("{PATH}?from=1"));
    assert_eq!(reply, "403 this address is not in sync-allowed-clients");
    let off = local().dev().data_dir(folders[1].path()).start().unwrap();
    assert!(refused(&off, "GET", &format!("{PATH}?from=1")).starts_with("404"));
    until("the log says why", || off.output().contains("api-sync-enabled is false").then_some(()));
}

#[test]
fn settings_that_followers_do_not_have() {
    let folder = tempfile::tempdir().unwrap();
    for (args, text) in [
        (&["dev", "--follow", "http://localhost:1"][..], "esker dev makes its own blocks"),
        (&["node", "--follow", "localhost:1"], "expected http://HOST:PORT"),
        (&["node", "--follow", "ftp://localhost"], "expected http://HOST:PORT"),
        (
            &["node", "--follow", "http://localhost:1", "--rewind-depth", "5"],
            "rewind-depth: not with follow",
        ),
        (&["node", "--api-sync-enabled", "--rewind-depth", "5"], "not with api-sync-enabled"),
        (
            &["node", "--follow", "http://localhost:1", "--follow-idle-timeout", "0s"],
            "follow-idle-timeout: expected more than 0s",
        ),
        (
            &["node", "--follow", "https://localhost:1", "--follow-ca-file", "/no/such/file"],
            "follow-ca-file: can't read /no/such/file",
        ),
        (
            &["node", "--follow", "http://localhost:1", "--follow-ca-file", "/no/such/file"],
            "follow-ca-file: only together with a source that begins with https://",
        ),
        (&["node", "--sync-allowed-clients", "everyone"], "expected IP addresses"),
    ] {
        let (code, message) = start(args, folder.path());
        assert_eq!(code, Some(2), "{args:?}: {message}");
        assert!(message.contains(text), "{args:?}: {message}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The exit code and the messages of a start that fails.
pub(super) fn start(args: &[&str], folder: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(PROGRAM);
    command.args(args).args(["--http-port", "0", "--data-dir"]).arg(folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_status_names_role_source_and_heights() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let source = writer(folders[0].path()).start().unwrap();
    let node = follower(folders[1].path(), &source.url()).start().unwrap();
    wait_for(&node, &source);
    let of_follower = until("the follower is at the tip", || {
        let status = status(&node);
        (status["following"]["lagMs"] == 0 && status["bundle"] != 0).then_some(status)
    });
    assert_eq!(of_follower["role"], "follower");
    assert_eq!(of_follower["following"]["source"], source.url().as_str());
    assert_eq!(of_follower["following"]["lagBundles"], 0);
    assert_eq!(of_follower["following"]["error"], Value::Null);
    let of_source = status(&source);
    assert_eq!((&of_source["role"], &of_source["followers"]), (&json!("solo"), &json!(1)));
    assert_eq!(of_source["following"], Value::Null);
    let heights = |status: &Value| status["chains"].clone();
    assert_eq!(heights(&of_source), heights(&of_follower));
    assert_eq!(of_source["chains"][0]["alias"], "X");
    assert!(refused(&node, "POST", "/ext/status").starts_with("405"));

    let metrics = |node: &Node| node.rpc().http().request("GET", "/ext/metrics", &[], b"").unwrap();
    let (of_source, of_follower) = (metrics(&source).text(), metrics(&node).text());
    assert!(of_source.contains("\nesker_followers 1\n"), "{of_source}");
    for line in
        ["esker_follow_connected 1", "esker_follow_lag_bundles 0", "esker_follow_lag_seconds 0"]
    {
        assert!(of_follower.contains(&format!("\n{line}\n")), "{line}");
    }

    let (code, shown) = command_output(&["status", "--url", &node.url()]);
    assert_eq!(code, Some(0), "{shown}");
    for line in ["role       follower", "behind     0 bundles, 0 ms", "health     ok"] {
        assert!(shown.contains(line), "{line} in\n{shown}");
    }
    let (code, shown) = command_output(&["status", "--json", "--url", &node.url()]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((code, &shown["status"]["role"]), (Some(0), &json!("follower")));
    let url = node.url();
    assert!(node.stop().unwrap().success());
    let (code, shown) = command_output(&["status", "--url", &url]);
    assert_eq!(code, Some(1));
    assert!(shown.contains("is the node running?"), "{shown}");
    let (code, shown) = command_output(&["status", "--url", "localhost:1"]);
    assert_eq!(code, Some(2));
    assert!(shown.contains("expected http://HOST:PORT"), "{shown}");
}

/// The exit code and the output of a command, or its error.
fn command_output(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(PROGRAM).args(args).stdin(Stdio::null()).output().unwrap();
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn status(node: &Node) -> Value {
    let reply = node.rpc().http().request("GET", "/ext/status", &[], b"").unwrap();
    assert_eq!(reply.status, 200);
    serde_json::from_slice(&reply.body).unwrap()
}
