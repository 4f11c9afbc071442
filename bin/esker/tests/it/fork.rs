//! `esker evm --fork-url`: what a person sees.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::harness::{Esker, command, run};

/// Starts a fork of a URL with a long time for the source, and reads its standard error up to a line with a text. The
/// process is still running then, since the source has its time.
fn first_line_with(url: &str, text: &str) {
    let temp = tempfile::tempdir().unwrap();
    let args = ["evm", "--port", "0", "--fork-url", url];
    let mut child: Child =
        command(&args, temp.path()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut seen = Vec::new();
    // The end of the output ends the search.
    for line in lines.map_while(Result::ok) {
        seen.push(line);
        if seen.last().is_some_and(|line| line.contains(text)) {
            break;
        }
    }
    let has_ended = child.try_wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(seen.last().is_some_and(|line| line.contains(url)), "{seen:?}");
    assert!(has_ended.is_none(), "it gave up before the line: {seen:?}");
}

#[test]
fn an_unreachable_source_is_named_at_once() {
    // The port is free again, so nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    first_line_with(&format!("http://127.0.0.1:{port}"), "unreachable");
}

#[test]
fn a_source_that_does_not_answer_is_named() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    first_line_with(&url, "has not answered for a second");
}

/// The head of the first request of a fork with these headers.
fn first_head(program: &str, headers: &[&str]) -> Vec<String> {
    let source = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", source.local_addr().unwrap());
    let (sender, head) = mpsc::channel();
    thread::spawn(move || {
        let (client, _) = source.accept().unwrap();
        let lines = BufReader::new(client).lines().map_while(Result::ok);
        // The test may be over.
        let _gone = sender.send(lines.take_while(|line| !line.is_empty()).collect());
    });
    let temp = tempfile::tempdir().unwrap();
    let mut args = vec![program, "--port", "0", "--fork-url", &url];
    headers.iter().for_each(|header| args.extend(["--fork-header", header]));
    let mut child = command(&args, temp.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let head = head.recv_timeout(Duration::from_secs(60));
    let child = child.as_mut().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    head.unwrap_or_else(|_| panic!("{program} asks its source nothing"))
}

#[test]
fn headers_with_commas_reach_the_source() {
    for program in ["evm", "anvil"] {
        let head = first_head(program, &["X-Names: one, two", "X-Key: k,1;2", "X-List: ,"]);
        for wanted in ["x-names: one, two", "x-key: k,1;2", "x-list: ,"] {
            let has = head.iter().any(|line| line.eq_ignore_ascii_case(wanted));
            assert!(has, "{program}: {wanted} is not in {head:?}");
        }
    }
}

#[test]
fn the_status_has_the_source() {
    let source = Esker::start_alone(&[]);
    let url = format!("http://{}", source.ready["evm"].as_str().unwrap());
    let fork = Esker::start_alone(&["--fork-url", &url]);
    assert_eq!(fork.ready["fork"]["url"], url);
    assert_eq!(fork.ready["fork"]["blockNumber"], 0);
    assert_eq!(fork.ready["fork"]["isProven"], true);
    let ended = run(&["status", "--url", fork.ready["url"].as_str().unwrap()]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains(&format!("\nsource     {url}\n")), "{}", ended.stdout);
    assert!(ended.stdout.contains(" of chain 31337, values are proved\n"), "{}", ended.stdout);
}
