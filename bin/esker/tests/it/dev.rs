use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::harness::{Esker, command};

/// Accounts of the development network, without the chain's alias.
const FIRST: &str = "local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v";
const LAST: &str = "local14flvw0x8fstzly79tacgsulxvkpv858q9nskex";

fn balance(node: &Esker, address: &str) -> String {
    let params = json!({"address": format!("X-{address}"), "assetID": "NAT"});
    let reply = node.call("/ext/bc/X", "xvm.getBalance", params);
    reply["balance"].as_str().unwrap().to_owned()
}

#[test]
fn accounts_are_funded_once() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["dev", "--data-dir", dir.path().to_str().unwrap()];
    let node = Esker::start(&args);
    for address in [FIRST, LAST] {
        assert_eq!(balance(&node, address), "10000000000000");
    }
    assert_eq!(node.height(), "1", "by one transaction");
    assert_eq!(node.stop("TERM").0.code(), Some(0));
    let node = Esker::start(&args);
    assert_eq!(node.height(), "1", "not again");
    assert_eq!(balance(&node, FIRST), "10000000000000");
}

#[test]
fn accounts_are_funded_on_the_development_network_only() {
    let node = Esker::start(&["node", "--network", "local"]);
    assert_eq!(node.height(), "0");
    let dev = Esker::start(&["dev"]);
    assert_eq!(dev.ready["chains"]["X"], node.ready["chains"]["X"]);
    assert_eq!(dev.ready["nativeAssetID"], node.ready["nativeAssetID"]);
}

#[test]
fn the_screen_is_plain_where_there_is_no_terminal() {
    let temp = tempfile::tempdir().unwrap();
    let mut child = command(&["dev", "--http-port", "0", "--evm-port", "0"], temp.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // The last line is the one that launchers of development nodes wait for.
    let mut screen = Vec::new();
    for line in lines {
        let last = line.starts_with("Listening on 127.0.0.1:");
        screen.push(line);
        if last {
            break;
        }
    }
    let pid = child.id().to_string();
    std::process::Command::new("kill").arg(&pid).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "quiet");
    assert!(screen.iter().all(|line| line.len() <= 80 && !line.contains('\x1b')), "{screen:?}");
    assert!(screen.iter().any(|line| line.contains("These keys are public")));
}
